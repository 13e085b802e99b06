//! Statements that have no place here, refused by name with what to do instead.
//!
//! Those of the warehouse are known by their first words, before they are parsed: no grammar reads all of them. Those
//! that are parsed first ([`PARSED`]) are in the log as any statement is, without their literals.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use sqlparser::ast::CopyTarget;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::ast::error::{Error, ErrorKind};

/// First words, `|` between choices, `?` before a word that may be missing; what it is called; what to do instead.
pub(crate) const STATEMENTS: &[(&str, &str, &str)] = &[
    ("undrop", "UNDROP", "what is dropped is gone; restore it from a branch or a backup"),
    ("create ?or ?replace procedure", "CREATE PROCEDURE", "send the statements one by one"),
    ("call", "CALL", "send the statements one by one"),
    ("execute immediate", "EXECUTE IMMEDIATE", "send the statement itself"),
    ("declare", "a scripting block", "send the statements one by one"),
    (
        "copy into",
        "COPY INTO of other than a table or a stage",
        "put the file into a stage, or load the rows with COPY FROM STDIN",
    ),
    ("put", "PUT", "put the file there with sluice stage put, or over REST"),
    ("get", "GET of a stage", "take the file from there with sluice stage get, or over REST"),
    (
        "list|ls|remove|rm",
        "a command of a stage without its name",
        "name the stage, as LIST @stage/path and REMOVE @stage/path do",
    ),
    (
        "create ?or ?replace temporary|temp|volatile stage|file",
        "a temporary stage or file format",
        "create one that stays, and drop it",
    ),
    (
        "create|alter|drop|show|desc|describe ?or ?replace ?temporary pipe|pipes|stream|streams|task|tasks",
        "pipes, streams and tasks",
        "load rows with INSERT",
    ),
    (
        "create|alter|drop ?or ?replace dynamic|external|hybrid|iceberg|event|materialized ?secure table|tables|view|volume|function",
        "a table or view that refreshes itself or lives elsewhere",
        "create a table, and fill it",
    ),
    (
        "create|alter|drop|show ?or ?replace tag|tags|secret|secrets|network|notification|alert|alerts|streamlit|notebook|model|service|compute",
        "this kind of object of the warehouse",
        "there is none of the kind here",
    ),
    (
        "create|alter|drop|show|desc|describe ?or ?replace masking|row|aggregation|projection access|policy|policies",
        "a policy as SQL",
        "policies are made over REST, /v1/environments/{id}/policies",
    ),
    ("grant|revoke", "GRANT and REVOKE", "rights come from roles and policies, made over REST"),
    (
        "create|alter|drop ?or ?replace role|user|warehouse|integration|share|account|database",
        "roles, users, warehouses and databases as SQL",
        "they are made over REST",
    ),
];

/// COPY that reads what lies beside the server.
const COPY_FROM: &str = "COPY from a file of the server";
/// COPY that writes there.
const COPY_TO: &str = "COPY to a file of the server";
/// COPY with the rows of a client, over a protocol that has none.
const COPY_HERE: &str = "COPY over this protocol";

/// What it is called; what to do instead. Nothing of the statement itself is in it.
pub(crate) const PARSED: &[(&str, &str)] = &[
    (COPY_FROM, "send the rows over the PostgreSQL wire with COPY … FROM STDIN, as psql's \\copy does, or over Flight"),
    (
        COPY_TO,
        "take the rows over the PostgreSQL wire with COPY … TO STDOUT, as psql's \\copy does, or query them as CSV",
    ),
    (COPY_HERE, "send it over the PostgreSQL wire; elsewhere query the rows, or INSERT them"),
];

/// What a COPY is called that is not run.
pub(crate) const fn copy(to: bool, target: &CopyTarget) -> &'static str {
    match (target, to) {
        (CopyTarget::Stdin | CopyTarget::Stdout, _) => COPY_HERE,
        (CopyTarget::File { .. } | CopyTarget::Program { .. }, true) => COPY_TO,
        (CopyTarget::File { .. } | CopyTarget::Program { .. }, false) => COPY_FROM,
    }
}

/// The refusal of a construct, with what to do instead where that is known.
pub(crate) fn unsupported(construct: &str) -> Error {
    match PARSED.iter().find(|(name, _)| *name == construct) {
        Some((name, instead)) => instead_of(name, instead),
        None => Error::unsupported(construct),
    }
}

fn instead_of(name: &str, instead: &str) -> Error {
    let kind = ErrorKind::Unsupported { construct: name.to_owned() };
    Error::new(kind, format!("{name} is not supported: {instead}"))
}

/// The words that such statements begin with: of any other the rows are not read.
static FIRST_WORDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let first = STATEMENTS.iter().filter_map(|(words, _, _)| words.split_whitespace().next());
    first.flat_map(|choices| choices.split('|')).collect()
});

/// Why the statement is refused by its first words, if it is.
pub(crate) fn of(tokens: &[TokenWithSpan]) -> Option<Error> {
    let TokenWithSpan { token: Token::Word(first), span } = tokens.first()? else { return None };
    if !FIRST_WORDS.iter().any(|known| first.value.eq_ignore_ascii_case(known)) {
        return None;
    }
    let (_, name, instead) = STATEMENTS.iter().find(|(words, _, _)| begins(tokens, words))?;
    Some(instead_of(name, instead).at(span.start))
}

fn begins(tokens: &[TokenWithSpan], words: &str) -> bool {
    let mut at = 0;
    for choice in words.split_whitespace() {
        let (choice, optional) = choice.strip_prefix('?').map_or((choice, false), |rest| (rest, true));
        let found = tokens.get(at).is_some_and(|token| is_one_of(&token.token, choice));
        if !found && !optional {
            return false;
        }
        at += usize::from(found);
    }
    // a table or column may have the name of such a command
    !matches!(tokens.get(at).map(|token| &token.token), None | Some(Token::Period | Token::Eq | Token::LParen))
        || at > 1
}

fn is_one_of(token: &Token, choice: &str) -> bool {
    let Token::Word(word) = token else {
        return false;
    };
    word.quote_style.is_none() && choice.split('|').any(|known| word.value.eq_ignore_ascii_case(known))
}
