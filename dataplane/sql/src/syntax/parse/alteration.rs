//! `ALTER TABLE … ADD a INT, b INT` and `… MODIFY a SET NOT NULL, b NUMBER(9)`: one verb before a list of columns.
//!
//! The parser crate wants the verb before each of them, and knows `ALTER COLUMN a SET DATA TYPE …` alone.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{is, made};
use crate::syntax::parentheses::OpenParentheses;

/// Words behind `ADD` that are no column.
const OTHERS: [Keyword; 7] = [
    Keyword::CONSTRAINT,
    Keyword::PRIMARY,
    Keyword::UNIQUE,
    Keyword::FOREIGN,
    Keyword::ROW,
    Keyword::PARTITION,
    Keyword::SEARCH,
];

/// The statement with the verb before each column.
pub(super) fn spelled(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let Some(verb) = verb(&tokens) else {
        return tokens;
    };
    let is_at = |at: usize, keyword| tokens.get(at).is_some_and(|token| is(&token.token, keyword));
    if is_at(verb, Keyword::ADD) && !OTHERS.iter().any(|word| is_at(verb + 1, *word)) {
        return conditional(repeated(tokens, verb, &["ADD"]), verb);
    }
    if is_at(verb, Keyword::MODIFY) || is_at(verb, Keyword::ALTER) {
        let mut tokens = repeated(tokens, verb, &["ALTER"]);
        if let Some(first) = tokens.get_mut(verb) {
            first.token = Token::make_keyword("ALTER");
        }
        return typed(tokens, verb);
    }
    tokens
}

/// Where the verb of `ALTER TABLE [IF EXISTS] name <verb>` stands.
fn verb(tokens: &[TokenWithSpan]) -> Option<usize> {
    let is_at = |at: usize, keyword| tokens.get(at).is_some_and(|token| is(&token.token, keyword));
    if !is_at(0, Keyword::ALTER) || !is_at(1, Keyword::TABLE) {
        return None;
    }
    let mut at = if is_at(2, Keyword::IF) && is_at(3, Keyword::EXISTS) { 4 } else { 2 };
    while tokens.get(at + 1).is_some_and(|token| token.token == Token::Period) {
        at += 2;
    }
    Some(at + 1)
}

/// The verb again behind every comma outside of brackets that does not say one itself.
fn repeated(tokens: Vec<TokenWithSpan>, verb: usize, words: &[&str]) -> Vec<TokenWithSpan> {
    const VERBS: [Keyword; 5] = [Keyword::ADD, Keyword::ALTER, Keyword::DROP, Keyword::MODIFY, Keyword::RENAME];
    let mut spelled: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 4);
    let mut open = OpenParentheses::default();
    let mut rest = tokens.into_iter().enumerate().peekable();
    while let Some((at, token)) = rest.next() {
        let is_outside = open.are_none_behind(&token.token);
        let separates = at > verb && is_outside && token.token == Token::Comma;
        spelled.push(token);
        let says = |next: &TokenWithSpan| VERBS.iter().any(|known| is(&next.token, *known));
        if separates && rest.peek().is_some_and(|(_, next)| !says(next)) {
            spelled.extend(words.iter().map(|word| made(word)));
        }
    }
    spelled
}

/// `ADD IF NOT EXISTS a INT` is `ADD COLUMN IF NOT EXISTS a INT`: without the word the parser crate loses the condition.
fn conditional(tokens: Vec<TokenWithSpan>, verb: usize) -> Vec<TokenWithSpan> {
    let mut spelled: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 1);
    for (at, token) in tokens.into_iter().enumerate() {
        let adds = spelled.last().is_some_and(|before| is(&before.token, Keyword::ADD));
        if at > verb && adds && is(&token.token, Keyword::IF) {
            spelled.push(made("COLUMN"));
        }
        spelled.push(token);
    }
    spelled
}

/// `ALTER a NUMBER(9)` is `ALTER a SET DATA TYPE NUMBER(9)`.
fn typed(tokens: Vec<TokenWithSpan>, verb: usize) -> Vec<TokenWithSpan> {
    const CHANGES: [Keyword; 5] = [Keyword::SET, Keyword::DROP, Keyword::TYPE, Keyword::UNSET, Keyword::ADD];
    let is_at = |at: usize, keyword| tokens.get(at).is_some_and(|token| is(&token.token, keyword));
    let bare = (verb..tokens.len()).filter(|at| is_at(*at, Keyword::ALTER)).filter_map(|at| {
        let column = if is_at(at + 1, Keyword::COLUMN) { at + 2 } else { at + 1 };
        let change = tokens.get(column + 1)?;
        let is_type = matches!(change.token, Token::Word(_)) && !CHANGES.iter().any(|word| is(&change.token, *word));
        is_type.then_some(column)
    });
    let columns: Vec<usize> = bare.collect();
    let mut spelled = Vec::with_capacity(tokens.len() + 3 * columns.len());
    for (at, token) in tokens.into_iter().enumerate() {
        spelled.push(token);
        if columns.contains(&at) {
            spelled.extend(["SET", "DATA", "TYPE"].map(made));
        }
    }
    spelled
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn one_verb_is_of_every_column_behind_it() {
        let cases = [
            ("ALTER TABLE t ADD a INT, b NUMBER(9,2)", "ALTER TABLE t ADD COLUMN a INTEGER, ADD COLUMN b NUMBER(9, 2)"),
            (
                "ALTER TABLE s.t ADD COLUMN a INT, COLUMN b INT",
                "ALTER TABLE s.t ADD COLUMN a INTEGER, ADD COLUMN b INTEGER",
            ),
            (
                "ALTER TABLE t ADD IF NOT EXISTS a INT, IF NOT EXISTS b INT",
                "ALTER TABLE t ADD COLUMN IF NOT EXISTS a INTEGER, ADD COLUMN IF NOT EXISTS b INTEGER",
            ),
            ("ALTER TABLE t DROP COLUMN a, b", "ALTER TABLE t DROP COLUMN a, DROP COLUMN b"),
            ("ALTER TABLE t ADD a INT, DROP b", "ALTER TABLE t ADD COLUMN a INTEGER, DROP COLUMN b"),
            (
                "ALTER TABLE t MODIFY COLUMN a SET NOT NULL, b VARCHAR(9)",
                "ALTER TABLE t ALTER COLUMN a SET NOT NULL, ALTER COLUMN b SET DATA TYPE VARCHAR(9)",
            ),
            (
                "ALTER TABLE t ALTER a DROP NOT NULL, COLUMN b TYPE INT",
                "ALTER TABLE t ALTER COLUMN a DROP NOT NULL, ALTER COLUMN b SET DATA TYPE INTEGER",
            ),
        ];
        for (written, read) in cases {
            let found = parse(written).map(|statement| statement.redacted());
            assert_eq!(found.as_deref(), Ok(read), "{written}");
        }
    }
}
