//! Whether a text wants to read: known of a statement; of a text that is none, guessed, and rather denied.

use super::super::tables;
use super::likeness::alike;

/// Words of statements that change something, or let something else do so.
const CHANGES: [&str; 19] = [
    "alter", "attach", "call", "copy", "create", "delete", "detach", "drop", "execute", "export", "grant", "import",
    "insert", "install", "into", "merge", "revoke", "truncate", "update",
];

/// What a text that reads names as its tables; none for any other text.
pub(super) fn read_by(text: &str, variables: &sql::Variables) -> Option<Vec<String>> {
    match sql::parse_with(text, variables) {
        Ok(statement) => is_query(&statement).then(|| tables::named(&statement)),
        Err(_) => seems_to_read(text).then(Vec::new),
    }
}

/// A query that changes nothing, and no statement about a session or the catalogue.
pub(super) fn is_query(statement: &sql::Statement) -> bool {
    *statement.kind() == sql::StatementKind::Select && !statement.is_write()
}

/// It begins as a query does, a slip of letters forgiven, and has no word of a change outside strings and quotes.
fn seems_to_read(text: &str) -> bool {
    let words = words(text);
    let begins = words.first().is_some_and(|first| first == "values" || alike(first, "select") || alike(first, "with"));
    begins && !words.iter().any(|word| CHANGES.contains(&word.as_str()))
}

fn words(text: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let Some((token, after)) = rest.split_at_checked(piece(rest)) else { break };
        if is_word(first) {
            words.push(token.to_ascii_lowercase());
        }
        rest = after;
    }
    words
}

/// Bytes of the next token, as far as words are told from what is quoted by it: the text need not be one of SQL.
fn piece(text: &str) -> usize {
    let whole = text.len();
    let until =
        |end: &str, from: usize| text.get(from..).and_then(|t| t.find(end)).map_or(whole, |at| from + at + end.len());
    match text.as_bytes() {
        [b'\'', ..] => until("'", 1),
        [b'"', ..] => until("\"", 1),
        [b'-', b'-', ..] => until("\n", 2),
        [b'/', b'*', ..] => until("*/", 2),
        [b'$', b'$', ..] => until("$$", 2),
        _ => {
            let word = text.find(|c: char| !is_word(c)).unwrap_or(whole);
            if word > 0 { word } else { text.chars().next().map_or(whole, char::len_utf8) }
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_statement_reads_only_if_it_says_so_throughout() {
        for text in [
            "selec 1",
            "select 1 form t",
            "-- insert\nselect 'delete' as \"update\", from t",
            "(select 1",
            "with a as (select 1",
            "values (1",
        ] {
            assert!(seems_to_read(text), "{text}");
        }
        for text in [
            "",
            "delet from t",
            "insert into t values (1",
            "with a as (delete from t returning id) select",
            "select 1; drop table t",
            "select 1 into t form u",
            "explain select",
            "set x to",
        ] {
            assert!(!seems_to_read(text), "{text}");
        }
    }

    #[test]
    fn a_statement_is_known_by_what_it_is() {
        let none = sql::Variables::default();
        assert_eq!(read_by("select * from a join s.b on true", &none).unwrap(), ["main.a", "s.b"]);
        for text in ["delete from t", "show tables", "create table t (x integer)", "begin", "select nextval('s')"] {
            assert_eq!(read_by(text, &none), None, "{text}");
        }
    }
}
