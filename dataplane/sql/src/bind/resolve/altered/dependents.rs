//! Dependents of a column that is dropped: a key or CHECK of its table, and under CASCADE or RESTRICT a view.
//!
//! PostgreSQL drops views with the column under CASCADE, and refuses under RESTRICT. Here either word refuses: whether a
//! caller may drop a view is asked of the view alone. Without a word it is the warehouse's, which looks at no view. A view
//! that the caller may not see is not among those that are looked at: the error would tell of it.

use std::sync::Arc;

use sqlparser::ast::{AlterTableOperation as Change, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::ast::error::{Error, ErrorKind};
use crate::catalog::definition::{Definition, DefinitionKind};
use crate::catalog::table::Table;
use crate::catalog::tables::Catalog;
use crate::syntax::lex;
use crate::syntax::parse::{self, is};

/// Refuses changes that drop a column on which something depends.
pub(super) fn checked(catalog: &Catalog, table: &Table, changes: &[Change]) -> Result<(), Error> {
    for change in changes {
        let Change::DropColumn { column_names, drop_behavior, .. } = change else { continue };
        for column in column_names {
            without_key(table, column)?;
            if drop_behavior.is_some() {
                without_view(catalog, table, column)?;
            }
        }
    }
    Ok(())
}

/// The engine keeps the columns that a key is on, and each before them in its place.
fn without_key(table: &Table, dropped: &Ident) -> Result<(), Error> {
    let place = |name: &str| table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
    let is_dropped = |name: &String| name.eq_ignore_ascii_case(&dropped.value);
    let Some(at) = place(&dropped.value) else { return Ok(()) };
    let why = if table.keys().flatten().any(is_dropped) {
        "belongs to a key"
    } else if table.checks.iter().any(|columns| columns.len() > 1 && columns.iter().any(is_dropped)) {
        "belongs to a CHECK of several columns"
    } else if table.keys().flatten().filter_map(|name| place(name)).any(|keyed| keyed > at) {
        "stands before a column of a key"
    } else {
        return Ok(());
    };
    Err(used(table, dropped, &format!("{why}: make the table anew without it")))
}

fn without_view(catalog: &Catalog, table: &Table, dropped: &Ident) -> Result<(), Error> {
    let is_user =
        |one: &&Arc<Definition>| one.kind == DefinitionKind::View && may_use(catalog, one, table, &dropped.value);
    catalog.definitions().into_iter().find(is_user).map_or(Ok(()), |view| {
        Err(used(table, dropped, &format!("is used by view {}: drop the view first", view.path())))
    })
}

/// Of a view that cannot be read nobody knows.
fn may_use(catalog: &Catalog, view: &Definition, table: &Table, column: &str) -> bool {
    let (Ok(statement), Ok(tokens)) = (parse::parse(&view.text), lex::tokens(&view.text)) else { return true };
    let is_home = |schema: &str| schema.eq_ignore_ascii_case(&table.schema);
    let reads = statement.tables().iter().any(|read| {
        let is_there = match read.schema.as_deref() {
            // what is no schema is the database
            Some(schema) => is_home(schema) || !catalog.has_schema(schema),
            None => view.homes().any(is_home),
        };
        is_there && read.name.eq_ignore_ascii_case(&table.name)
    });
    reads && names_column(&tokens, column)
}

/// Whether a text names the column, or all columns that there are.
fn names_column(tokens: &[TokenWithSpan], column: &str) -> bool {
    let before = |at: usize, by: usize| at.checked_sub(by).and_then(|at| tokens.get(at)).map(|token| &token.token);
    tokens.iter().enumerate().any(|(at, token)| match &token.token {
        Token::Word(word) if word.value.eq_ignore_ascii_case(column) => true,
        // FROM without SELECT
        from @ Token::Word(_) if is(from, Keyword::FROM) => {
            before(at, 1).is_some_and(|token| *token == Token::LParen || is(token, Keyword::AS))
        }
        table @ Token::Word(_) if is(table, Keyword::TABLE) => true,
        Token::Mul => match before(at, 1) {
            Some(Token::LParen) => !before(at, 2).is_some_and(|token| is(token, Keyword::COUNT)),
            Some(word @ Token::Word(_)) => {
                [Keyword::SELECT, Keyword::DISTINCT, Keyword::ALL].iter().any(|select| is(word, *select))
            }
            _ => true,
        },
        _ => false,
    })
}

fn used(table: &Table, column: &Ident, why: &str) -> Error {
    let (path, name) = (table.path(), column.value.clone());
    let says = format!("column {name} of {path} {why}");
    Error::new(ErrorKind::ColumnUsed { table: path, column: name }, says).at(column.span.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> bool {
        names_column(&lex::tokens(text).expect(text), "a")
    }

    #[test]
    fn a_view_names_a_column_or_all_of_them() {
        for text in [
            "CREATE VIEW v AS SELECT b, \"A\" FROM t",
            "CREATE VIEW v AS SELECT * FROM t",
            "CREATE VIEW v AS SELECT DISTINCT * FROM t",
            "CREATE VIEW v AS SELECT b, t.* FROM t",
            "CREATE VIEW v AS SELECT TOP 5 * FROM t",
            "CREATE VIEW v AS SELECT OBJECT_CONSTRUCT(*) FROM t",
            "CREATE VIEW v AS FROM t",
            "CREATE VIEW v AS TABLE t",
            "CREATE VIEW v AS SELECT b FROM t WHERE a > 1",
        ] {
            assert!(names(text), "{text}");
        }
        for text in ["CREATE VIEW v AS SELECT b * c AS d FROM t", "CREATE VIEW v AS SELECT COUNT(*), 'a' FROM t"] {
            assert!(!names(text), "{text}");
        }
    }
}
