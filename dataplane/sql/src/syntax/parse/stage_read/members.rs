//! The members of records that a statement names: what else a file of columns has need not be read for it.
//!
//! They are told where every `$1` is followed by a member's name and nothing else could stand for a whole record. So there
//! is no `*` but that of `COUNT(*)`, no row by the name of its stage, and no other name for a column. Where it cannot be told,
//! whole records are read.

use std::collections::BTreeSet;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::is;

/// The column of whole records.
const RECORD: &str = "$1";

/// Words by which columns are read that are not named.
const UNNAMED: [&str; 7] = ["NATURAL", "PIVOT", "UNPIVOT", "MATCH_RECOGNIZE", "COLUMNS", "SUMMARIZE", "DESCRIBE"];

/// Words behind which TABLE is no query of all columns.
const MAKES: [Keyword; 5] = [Keyword::CREATE, Keyword::REPLACE, Keyword::TEMP, Keyword::TEMPORARY, Keyword::TRANSIENT];

/// Words that are no alias where one may stand.
const NO_ALIAS: [Keyword; 8] = [
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::ORDER,
    Keyword::JOIN,
    Keyword::INNER,
    Keyword::ON,
    Keyword::UNION,
    Keyword::HAVING,
];

/// The members of all records, each once; none where whole records may be read. `ends` has the place behind each stage,
/// of which there are so many as it has places.
pub(super) fn named(tokens: &[TokenWithSpan], ends: &[usize]) -> Option<Vec<String>> {
    let tokens: Vec<&Token> = tokens.iter().map(|token| &token.token).collect();
    let stages = tokens.iter().filter(|token| word(token).is_some_and(|word| word.value.starts_with('@'))).count();
    let names_rows = ends.iter().any(|end| renames_or_names_rows(&tokens, *end));
    if stages != ends.len() || names_rows || !selects_before_from(&tokens) {
        return None;
    }
    let (mut found, mut open) = (BTreeSet::new(), 0_usize);
    for (place, token) in tokens.iter().enumerate() {
        match token {
            Token::LBracket | Token::LBrace => open += 1,
            Token::RBracket | Token::RBrace => open = open.saturating_sub(1),
            Token::Placeholder(name) if is_record(name) => {
                let is_path = open == 0 && !matches!(before(&tokens, place), Some(Token::Colon));
                let member = member(&tokens, place).filter(|_| is_path)?;
                found.insert(member.to_owned());
            }
            Token::Mul if !is_counted(&tokens, place) => return None,
            Token::Word(word) if reads_unnamed(word) => return None,
            Token::Word(_) if is(token, Keyword::TABLE) && !is_made(&tokens, place) => return None,
            _ => {}
        }
    }
    Some(found.into_iter().collect())
}

pub(super) fn word(token: &Token) -> Option<&Word> {
    match token {
        Token::Word(word) => Some(word),
        _ => None,
    }
}

fn before<'t>(tokens: &[&'t Token], place: usize) -> Option<&'t Token> {
    tokens.get(place.checked_sub(1)?).copied()
}

/// Whether a TABLE is that of CREATE TABLE.
fn is_made(tokens: &[&Token], place: usize) -> bool {
    before(tokens, place).is_some_and(|before| MAKES.iter().any(|word| is(before, *word)))
}

/// Whether it is `$1`, however its number is written.
fn is_record(name: &str) -> bool {
    name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok()) == Some(1)
}

pub(super) fn reads_unnamed(word: &Word) -> bool {
    word.value == RECORD
        || (word.quote_style.is_none() && UNNAMED.iter().any(|one| word.value.eq_ignore_ascii_case(one)))
}

/// The name behind `$1:`.
fn member<'t>(tokens: &[&'t Token], place: usize) -> Option<&'t str> {
    let [Token::Colon, Token::Word(word)] = tokens.get(place + 1..place + 3)? else { return None };
    Some(&word.value)
}

/// Whether a `*` is that of `COUNT(*)`.
pub(super) fn is_counted(tokens: &[&Token], place: usize) -> bool {
    let before = place.checked_sub(2).and_then(|start| tokens.get(start..place));
    let Some([Token::Word(called), Token::LParen]) = before else { return false };
    called.value.eq_ignore_ascii_case("count") && matches!(tokens.get(place + 1), Some(Token::RParen))
}

/// Whether the columns of a stage get other names, or a row of it may be meant by its alias.
fn renames_or_names_rows(tokens: &[&Token], end: usize) -> bool {
    let is_as = tokens.get(end).and_then(|token| word(token)).is_some_and(|word| word.keyword == Keyword::AS);
    let place = if is_as { end + 1 } else { end };
    if matches!(tokens.get(end), Some(Token::LParen)) {
        return true;
    }
    let Some(alias) = tokens.get(place).and_then(|token| word(token)) else { return is_as };
    if !is_as && alias.quote_style.is_none() && NO_ALIAS.contains(&alias.keyword) {
        return false;
    }
    let is_row = |(at, token): (usize, &&Token)| {
        let is_named = word(token).is_some_and(|word| word.value.eq_ignore_ascii_case(&alias.value));
        is_named && at != place && !matches!(tokens.get(at + 1), Some(Token::Period))
    };
    matches!(tokens.get(place + 1), Some(Token::LParen)) || tokens.iter().enumerate().any(is_row)
}

/// Whether a SELECT stands before each FROM: without one, all columns are selected.
pub(super) fn selects_before_from(tokens: &[&Token]) -> bool {
    let mut selects = vec![false];
    for token in tokens {
        match token {
            Token::LParen => selects.push(false),
            Token::RParen => {
                selects.pop();
            }
            _ => {}
        }
        let Some(last) = selects.last_mut() else { return false };
        if is(token, Keyword::SELECT) {
            *last = true;
        } else if [Keyword::UNION, Keyword::INTERSECT, Keyword::EXCEPT, Keyword::MINUS]
            .iter()
            .any(|word| is(token, *word))
        {
            *last = false;
        } else if is(token, Keyword::FROM) && !*last {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    fn members(text: &str) -> Option<String> {
        let statement = crate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let members = statement.reads()[0].members.as_ref()?;
        Some(members.join(" "))
    }

    #[test]
    fn members_are_told_where_each_record_is_followed_by_one() {
        for (text, named) in [
            ("SELECT $1:id FROM @s", "id"),
            ("SELECT $1:id::int, $1:\"A b\".c[0] FROM @s WHERE $1:id > 3 ORDER BY 1", "A b id"),
            ("SELECT x.$1:id, y.$1:Name FROM @s x JOIN @s/in AS y ON x.$1:id = y.$1:id", "Name id"),
            ("SELECT count(*) FROM @s", ""),
            ("SELECT METADATA$FILENAME FROM @s (PATTERN => '.*')", ""),
            (
                "WITH w AS (SELECT $1:a AS a FROM @s) SELECT a FROM w UNION ALL SELECT b FROM (SELECT $1:b AS b FROM @s)",
                "a b",
            ),
            ("COPY INTO t FROM (SELECT $1:id::int FROM @s) FORCE = TRUE", "id"),
            ("SELECT f($1:a, $2) FROM @s t", "a"),
            ("CREATE TABLE t AS SELECT $1:a AS a FROM @s", "a"),
        ] {
            assert_eq!(members(text).as_deref(), Some(named), "{text}");
        }
    }

    #[test]
    fn whole_records_are_read_where_anything_could_mean_one() {
        for text in [
            "SELECT $1 FROM @s",
            "SELECT $1:id, $1 FROM @s",
            "SELECT $1:id, \"$1\" FROM @s",
            "SELECT $1['id'] FROM @s",
            "SELECT $1::varchar FROM @s",
            "SELECT * FROM @s",
            "SELECT x.*, $1:id FROM @s x",
            "SELECT $1:id * 2 FROM @s",
            "SELECT $1:id, object_construct(*) FROM @s",
            "SELECT $1:id, to_json(x) FROM @s x",
            "SELECT $1:id, to_json(x) FROM @s AS x",
            "SELECT $1:id, to_json(\"@s\") FROM @s",
            "SELECT $1:id, a FROM @s x(a)",
            "SELECT $1:id FROM @s x NATURAL JOIN @s y",
            "SELECT $1:id FROM (FROM @s)",
            "SELECT l[$1:id] FROM @s",
            "SELECT x.$1:id FROM @s x JOIN @s y USING (\"$1\")",
            "SELECT $1:id FROM @s UNION ALL (TABLE t)",
            "INSERT INTO t SELECT $1:id FROM @s UNION ALL FROM @s",
            "COPY INTO t FROM @s",
        ] {
            if crate::parse(text).is_ok() {
                assert_eq!(members(text), None, "{text}");
            }
        }
    }
}
