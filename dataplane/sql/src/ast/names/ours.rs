//! Every name that a rewrite gives to a column, a table or a parameter.
//!
//! They stand among the caller's names, so none of them may be one: all begin alike, and a text with a name that
//! begins so is refused before it is parsed. Sequences of columns are named elsewhere (`sequence`): they stay.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::ast::error::Error;

/// How all of them begin.
macro_rules! ours {
    ($name:literal) => {
        concat!("_sluice_", $name)
    };
}

const BEGIN: &str = ours!("");

/// The answer, where a select list is put around it.
pub(crate) const ANSWER: &str = ours!("answer");
/// What rows are called that are about to be written.
pub(crate) const NEW: &str = ours!("new");
/// The engine's number of a row.
pub(crate) const ROWID: &str = ours!("rowid");
/// The number of a row that GENERATOR makes.
pub(crate) const GENERATED: &str = ours!("number");
/// Rows of a query that nobody has named.
pub(crate) const ROWS: &str = ours!("rows");
/// Values that a PIVOT is over.
pub(crate) const VALUES: &str = ours!("values");
/// Rows of the catalogue.
pub(crate) const LISTING: &str = ours!("listing");
/// The rows of a source that is read more than once.
pub(crate) const SOURCE: &str = ours!("source");
/// The table of no rows that a check leaves.
pub(crate) const CHECK: &str = ours!("check");
/// What is never there: to drop it if it is changes nothing.
pub(crate) const NOTHING: &str = ours!("nothing");
/// The item of a list that is turned into another.
pub(crate) const ITEM: &str = ours!("item");
/// A value that is drawn before it is compared.
pub(crate) const DRAWN: &str = ours!("drawn");
/// The number of a row that FLATTEN takes apart.
pub(crate) const SEQ: &str = ours!("seq");
/// What a row is searched by, and how well it fits.
pub(crate) const TEXT: &str = ours!("text");
pub(crate) const SCORE: &str = ours!("score");
/// A hierarchy, and what its rows carry.
pub(crate) const HIERARCHY: &str = ours!("hierarchy");
pub(crate) const LEVEL: &str = ours!("level");
pub(crate) const PATH: &str = ours!("path");
pub(crate) const LEAF: &str = ours!("leaf");
pub(crate) const CYCLE: &str = ours!("cycle");
/// The table of a hierarchy, until it is put in.
pub(crate) const TABLE: &str = ours!("table");

/// Before the number of a WITH query.
pub(crate) const WITH: &str = ours!("with_");
/// Before the number of a filter's own table.
pub(crate) const FILTER: &str = ours!("filter_");
/// Before the number of a scan whose visible rows are kept.
pub(crate) const VISIBLE: &str = ours!("visible_");
/// Before the number of a place where files of a stage are read.
pub(crate) const STAGED: &str = ours!("staged_");
/// Before the number of a table of an attached database.
pub(crate) const ATTACHED: &str = ours!("attached_");
/// Before the name of a parameter of a template's lambda, and of what our own queries read.
pub(crate) const WITHIN: &str = ours!("within_");

/// A column by its place.
pub(crate) fn place(at: usize) -> String {
    format!("{BEGIN}{}", at + 1)
}

/// What the rows of a hierarchy carry for one of its words.
pub(crate) fn carried(number: usize) -> String {
    format!("{BEGIN}carried_{number}")
}

/// Whether a value differs from the one before.
pub(crate) fn change(at: usize) -> String {
    format!("{BEGIN}change_{}", at + 1)
}

/// A lambda's parameter.
pub(crate) fn parameter(number: usize, written: &str) -> String {
    format!("{BEGIN}{number}_{written}")
}

/// The table that keeps the visible rows of a scan.
pub(crate) fn visible(scan: usize) -> String {
    format!("{VISIBLE}{scan}")
}

/// The table that keeps the rows of files.
pub(crate) fn staged(number: usize) -> String {
    format!("{STAGED}{number}")
}

/// The table that keeps the records of one file of an external table.
pub(crate) fn staged_file(number: usize) -> String {
    format!("{STAGED}{number}_file")
}

/// The table that keeps the rows of an attached table.
pub(crate) fn attached(number: usize) -> String {
    format!("{ATTACHED}{number}")
}

/// Whether a name is that of a table that keeps rows for the steps of a statement.
pub(crate) fn is_kept(name: &str) -> bool {
    name.eq_ignore_ascii_case(SOURCE)
        || name.eq_ignore_ascii_case(CHECK)
        || begins(name, VISIBLE)
        || begins(name, STAGED)
        || begins(name, ATTACHED)
}

/// Whether a name begins as only ours do.
pub(crate) fn is_one(name: &str) -> bool {
    begins(name, BEGIN)
}

/// Whether a name begins so, in whatever case.
pub(crate) fn begins(name: &str, with: &str) -> bool {
    name.get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with))
}

/// Refuses a text of somebody else with such a name.
pub(crate) fn refuse(tokens: &[TokenWithSpan]) -> Result<(), Error> {
    let found = tokens.iter().find_map(|token| match &token.token {
        Token::Word(word) if is_one(&word.value) => Some((&word.value, token.span.start)),
        _ => None,
    });
    match found {
        Some((name, place)) => Err(Error::syntax(format!("the name {name} begins as only ours do")).at(place)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_begins_as_no_other_may() {
        let fixed = [
            ANSWER, NEW, ROWID, ROWS, VALUES, LISTING, SOURCE, CHECK, ITEM, SEQ, HIERARCHY, LEVEL, PATH, LEAF, CYCLE,
            TABLE, WITH, FILTER, VISIBLE, STAGED, ATTACHED, WITHIN, TEXT, SCORE, GENERATED, NOTHING, DRAWN,
        ];
        let numbered = [place(0), carried(1), change(0), parameter(1, "x")];
        for name in fixed.into_iter().chain(numbered.iter().map(String::as_str)) {
            assert!(is_one(name), "{name}");
            let quoted = name.to_ascii_uppercase();
            for text in [format!("SELECT {name}"), format!("SELECT 1 AS \"{quoted}\""), format!("DROP TABLE {name}")] {
                let error = crate::parse(&text).expect_err(&text);
                assert!(error.message.ends_with("begins as only ours do"), "{text}: {error}");
            }
        }
        assert!(crate::parse("SELECT '_sluice_level', _sluice FROM sluice_").is_ok());
    }
}
