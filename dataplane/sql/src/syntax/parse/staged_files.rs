//! `LIST @s/path` and `REMOVE @s/path`: a path below a stage is no name, and ends where a blank follows.

use sqlparser::ast::Statement;
use sqlparser::ast::helpers::stmt_data_loading::FileStagingCommand;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::staged::{StagedStatement, stage_name};
use crate::ast::error::Error;
use crate::syntax::statement::{Operation, StatementKind};

/// The statement, if its first words say that it lists or removes files of a stage.
pub(super) fn read(tokens: &[TokenWithSpan]) -> Result<Option<StagedStatement>, Error> {
    let Some((first, rest)) = tokens.split_first() else { return Ok(None) };
    let Some(done) = done(&first.token) else { return Ok(None) };
    let Some((location, rest)) = location(rest) else { return Ok(None) };
    let (name, path) = location.split_once('/').unwrap_or((location.as_str(), ""));
    let stage = stage_name(name).map_err(|error| error.at(first.span.start))?;
    let pattern = pattern(rest)?;
    let command = FileStagingCommand { stage, pattern: None };
    let tree = if done == Operation::Delete { Statement::Remove(command) } else { Statement::List(command) };
    Ok(Some(StagedStatement { tree, kind: StatementKind::Files { done, path: path.to_owned(), pattern } }))
}

fn done(token: &Token) -> Option<Operation> {
    if is_word(token, "list") || is_word(token, "ls") {
        Some(Operation::Select)
    } else if is_word(token, "remove") || is_word(token, "rm") {
        Some(Operation::Delete)
    } else {
        None
    }
}

pub(super) fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}

/// What stands behind the `@`, up to a blank or within quotes, and the tokens behind that.
pub(super) fn location(tokens: &[TokenWithSpan]) -> Option<(String, &[TokenWithSpan])> {
    let (first, rest) = tokens.split_first()?;
    if let Token::SingleQuotedString(text) = &first.token {
        return Some((text.strip_prefix('@')?.replace("''", "'"), rest));
    }
    if first.token != Token::AtSign {
        return None;
    }
    let (mut text, mut end, mut count) = (String::new(), first.span.end, 0);
    for token in rest.iter().take_while(|token| token.token != Token::EOF) {
        if token.span.start != end {
            break;
        }
        text.push_str(&token.token.to_string());
        end = token.span.end;
        count += 1;
    }
    Some((text, rest.get(count..)?))
}

fn pattern(tokens: &[TokenWithSpan]) -> Result<Option<String>, Error> {
    let told: Vec<&Token> = tokens.iter().map(|token| &token.token).collect();
    match told.as_slice() {
        [] | [Token::EOF] => Ok(None),
        [word, Token::Eq, Token::SingleQuotedString(pattern)] if is_word(word, "pattern") => {
            Ok(Some(pattern.replace("''", "'")))
        }
        _ => {
            let error = Error::syntax("behind the files of a stage PATTERN = '…' may stand, and nothing else");
            Err(match tokens.first() {
                Some(token) => error.at(token.span.start),
                None => error,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse::parse;

    fn told(text: &str) -> (String, StatementKind) {
        let statement = parse(text).expect(text);
        (statement.redacted(), statement.kind().clone())
    }

    fn kind(done: Operation, path: &str, pattern: Option<&str>) -> StatementKind {
        StatementKind::Files { done, path: path.to_owned(), pattern: pattern.map(str::to_owned) }
    }

    #[test]
    fn a_path_ends_where_a_blank_follows() {
        use Operation::{Delete, Select};
        for (text, redacted, expected) in [
            ("LIST @files", "LIST @files ?", kind(Select, "", None)),
            ("ls @main.files/2026/a-b.csv", "LIST @main.files ?", kind(Select, "2026/a-b.csv", None)),
            ("list '@files/a b' pattern = '.*[.]csv'", "LIST @files ?", kind(Select, "a b", Some(".*[.]csv"))),
            ("REMOVE @files/a PATTERN='x'", "REMOVE @files ?", kind(Delete, "a", Some("x"))),
            ("rm @files/", "REMOVE @files ?", kind(Delete, "", None)),
            ("ls @~/in/a", "LIST @~ ?", kind(Select, "in/a", None)),
            ("rm @~", "REMOVE @~ ?", kind(Delete, "", None)),
            ("list @%t", "LIST @%t ?", kind(Select, "", None)),
            ("list '@main.%t/a b'", "LIST @main.%t ?", kind(Select, "a b", None)),
        ] {
            assert_eq!(told(text), (redacted.to_owned(), expected), "{text}");
        }
        assert!(parse("rm @files").expect("parsed").is_write() && !parse("ls @files").expect("parsed").is_write());
        assert!(parse("rm @files").expect("parsed").answers());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "LIST",
            "LIST files",
            "LIST @",
            "LIST @~x",
            "LIST @main.~",
            "rm @%",
            "rm @%a.%b",
            "LIST @\"~\"",
            "LIST @\"%t\"",
            "LIST @files x",
            "LIST @files PATTERN = x",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
