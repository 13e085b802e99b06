//! Stages where a query reads tables: behind FROM or JOIN, as `@s/path`, or as the text `'@s/a path'`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{NamedStage, is};
use crate::ast::error::Error;

/// Whether a stage may begin with this token.
pub(super) fn may_begin(token: &Token) -> bool {
    match token {
        Token::AtSign => true,
        Token::SingleQuotedString(text) => text.starts_with('@'),
        _ => false,
    }
}

/// The stage that these tokens begin with, and how many of them it is; FROM or JOIN is the last one before.
pub(super) fn named(before: &[TokenWithSpan], tokens: &[TokenWithSpan]) -> Result<Option<(NamedStage, usize)>, Error> {
    match NamedStage::unquoted(tokens)? {
        None if is_of_query(before) => {
            let quoted = tokens.first().map(NamedStage::quoted).transpose()?.flatten();
            Ok(quoted.map(|stage| (stage, 1)))
        }
        found => Ok(found),
    }
}

/// Whether the last of these tokens begins what a query reads. `TRIM(x FROM '@s')` and `x IS DISTINCT FROM '@s'` have a
/// text there.
fn is_of_query(tokens: &[TokenWithSpan]) -> bool {
    let mut from_the_last = tokens.iter().rev().skip(1).map(|token| &token.token).peekable();
    if from_the_last.peek().is_some_and(|token| is(token, Keyword::DISTINCT)) {
        return false;
    }
    let mut closed = 0_usize;
    for token in from_the_last {
        match token {
            Token::RParen => closed += 1,
            Token::LParen if closed == 0 => return false,
            Token::LParen => closed -= 1,
            word if closed == 0 && is(word, Keyword::SELECT) => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn a_stage_with_blanks_in_its_path_stands_in_quotes() {
        for (text, paths) in [
            ("SELECT $1 FROM '@s/a b/c.csv'", vec!["a b/c.csv"]),
            ("SELECT $1 FROM '@main.s/it''s' (PATTERN => 'x') t", vec!["it's"]),
            ("SELECT x FROM (SELECT $1 AS x FROM '@s/1') JOIN '@s/2' f ON f.$1 = x", vec!["1", "2"]),
            ("COPY INTO t FROM (SELECT f.$1 FROM '@s/a b' f)", vec!["a b"]),
        ] {
            let statement = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let found: Vec<&str> = statement.reads().iter().map(|read| read.chosen.prefix.as_str()).collect();
            assert_eq!(found, paths, "{text}");
        }
    }

    #[test]
    fn a_text_behind_another_from_is_a_text() {
        for text in [
            "SELECT trim('@' FROM '@s')",
            "SELECT count(*) FROM t WHERE a IS DISTINCT FROM '@s'",
            "SELECT a IS NOT DISTINCT FROM '@s' FROM t",
            "SELECT '@s' FROM t",
        ] {
            let statement = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(statement.reads().is_empty(), "{text}");
        }
    }
}
