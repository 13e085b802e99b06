//! The columns that a generated statement may read of a table, by its words: of files of columns no others are read.

use std::collections::BTreeSet;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::is;
use super::members::{is_counted, reads_unnamed, selects_before_from, word};
use crate::syntax::lex;

/// What this grammar reads as the begin of a comment or within a text, and the engine's does not, or may not.
const READ_OTHERWISE: [&str; 6] = ["#", "//", "--", "/*", "\\", "$$"];

/// The tokens of a text of the engine's; none where this grammar may find others in it.
pub(crate) fn engine_tokens(text: &str) -> Option<Vec<Token>> {
    if READ_OTHERWISE.iter().any(|sign| text.contains(sign)) {
        return None;
    }
    Some(lex::tokens(text).ok()?.into_iter().map(|found| found.token).collect())
}

/// All names in the text, in lower case, which the columns are among; none where a row may be read whole.
pub(crate) fn columns_named(text: &str, table: &str) -> Option<BTreeSet<String>> {
    let found = engine_tokens(text)?;
    let tokens: Vec<&Token> = found.iter().collect();
    if !selects_before_from(&tokens) {
        return None;
    }
    let mut names = BTreeSet::new();
    for (place, token) in tokens.iter().enumerate() {
        match token {
            Token::Mul if !is_counted(&tokens, place) => return None,
            Token::Word(word) if reads_unnamed(word) || is(token, Keyword::TABLE) => return None,
            Token::Word(word) if word.value == table && !is_read_by_columns(&tokens, place + 1) => return None,
            Token::Word(word) => _ = names.insert(word.value.to_lowercase()),
            _ => {}
        }
    }
    Some(names)
}

/// Whether a table whose name ends before this place is called otherwise there, and no row of it is meant by that.
fn is_read_by_columns(tokens: &[&Token], end: usize) -> bool {
    let is_as = tokens.get(end).is_some_and(|token| is(token, Keyword::AS));
    let place = if is_as { end + 1 } else { end };
    let Some(alias) = tokens.get(place).and_then(|token| word(token)) else { return false };
    if matches!(tokens.get(place + 1), Some(Token::LParen)) {
        return false; // its columns have other names
    }
    let is_row = |(at, token): (usize, &&Token)| {
        let is_named = word(token).is_some_and(|word| word.value.eq_ignore_ascii_case(&alias.value));
        is_named && at != place && !matches!(tokens.get(at + 1), Some(Token::Period))
    };
    is_as && !tokens.iter().enumerate().any(is_row)
}

#[cfg(test)]
mod tests {
    use super::columns_named;

    const TABLE: &str = "_sluice_staged_0";

    #[test]
    fn names_are_those_of_a_statement_that_names_all_that_it_reads() {
        for (text, name) in [
            (r#"SELECT "e"."Col" FROM "temp"."main"."_sluice_staged_0" AS "e""#, "col"),
            (r#"SELECT count(*) FROM "_sluice_staged_0" AS "e" WHERE "day" = 'x'"#, "day"),
            (r#"SELECT "a" FROM "_sluice_staged_0" AS "e" JOIN "t" AS "t" USING ("id")"#, "id"),
        ] {
            let names = columns_named(text, TABLE).unwrap_or_else(|| panic!("{text}"));
            assert!(names.contains(name) && !names.contains("note"), "{text}: {names:?}");
        }
    }

    #[test]
    fn whole_rows_are_read_where_anything_could_mean_one() {
        for text in [
            r#"SELECT * FROM "_sluice_staged_0" AS "e""#,
            r#"SELECT "e".* FROM "_sluice_staged_0" AS "e""#,
            r#"SELECT to_json("e") FROM "_sluice_staged_0" AS "e""#,
            r#"SELECT to_json("_sluice_staged_0") FROM "_sluice_staged_0""#,
            r#"SELECT "a" FROM "_sluice_staged_0""#,
            r#"SELECT "a" FROM "_sluice_staged_0" AS "e" ("a", "b")"#,
            r#"SELECT "a" FROM "_sluice_staged_0" AS "e" NATURAL JOIN "t""#,
            r#"SELECT "a" FROM (FROM "_sluice_staged_0" AS "e")"#,
            r#"SELECT "a" * 2 FROM "_sluice_staged_0" AS "e""#,
            r#"SELECT #1 FROM "_sluice_staged_0" AS "e""#,
            r#"SELECT 4 // 2, "a" FROM "_sluice_staged_0" AS "e""#,
            r#"SELECT '\', "a", ' ' FROM "_sluice_staged_0" AS "e""#,
            r#"SELECT "e"."a" FROM (SELECT "a" FROM "_sluice_staged_0" AS "e") AS "e""#,
        ] {
            assert_eq!(columns_named(text, TABLE), None, "{text}");
        }
    }
}
