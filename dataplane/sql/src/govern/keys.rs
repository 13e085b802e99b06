//! Keys that a new row may clash with, and conditions that it must pass.
//!
//! Whether it clashes tells that there is another row with its values. A caller who does not see such values could so
//! find them by trying; who passes over a conflict would find hidden rows without leaving a trace. Both is refused. That a
//! key is taken, by a row that a filter hides, is told by the engine's error all the same, and by nothing else.

use sqlparser::ast::OnConflictAction;

use super::masked_error;
use crate::ast::error::Error;
use crate::catalog::table::Table;
use crate::scan::Scan;

/// The columns that an INSERT gives values to.
pub(super) fn filled(target: &Scan, written: &[String]) -> Result<(), Error> {
    let tells = |column: &&String| is_masked(target, column) && has(&target.table, column);
    match written.iter().find(tells) {
        Some(column) => Err(masked_error(&target.table, column, "it is of a key, and cannot be given a value")),
        None => Ok(()),
    }
}

/// A column that UPDATE sets, which is not masked itself: beside one that is, it tells which rows have the same there, or
/// what a CHECK finds in them.
pub(super) fn set(target: &Scan, column: &str) -> Result<(), Error> {
    let is_of = |columns: &&Vec<String>| columns.iter().any(|name| name.eq_ignore_ascii_case(column));
    if target.table.checks.iter().filter(is_of).flatten().any(|column| is_masked(target, column)) {
        return Err(Error::ungovernable("UPDATE of what a CHECK compares with a masked column", &target.table.path()));
    }
    if keys_of(&target.table, column).flatten().any(|column| is_masked(target, column)) {
        return Err(Error::ungovernable("UPDATE of a key with a masked column", &target.table.path()));
    }
    Ok(())
}

/// What is done instead of an error.
pub(super) fn conflict(target: &Scan, action: &OnConflictAction) -> Result<(), Error> {
    let construct = match action {
        OnConflictAction::DoUpdate(_) => "ON CONFLICT DO UPDATE",
        OnConflictAction::DoNothing if !target.filters.is_empty() || has_masked(target) => "ON CONFLICT DO NOTHING",
        OnConflictAction::DoNothing => return Ok(()),
    };
    Err(Error::ungovernable(construct, &target.table.path()))
}

/// Whether a value of its keys is hidden.
fn has_masked(target: &Scan) -> bool {
    target.table.keys().flatten().any(|column| is_masked(target, column))
}

/// Whether the column is of a key.
pub(super) fn has(table: &Table, column: &str) -> bool {
    keys_of(table, column).next().is_some()
}

fn keys_of<'a>(table: &'a Table, column: &'a str) -> impl Iterator<Item = &'a [String]> {
    table.keys().filter(move |key| key.iter().any(|name| name.eq_ignore_ascii_case(column)))
}

fn is_masked(target: &Scan, column: &str) -> bool {
    target.columns().any(|known| known.mask.is_some() && known.name.eq_ignore_ascii_case(column))
}
