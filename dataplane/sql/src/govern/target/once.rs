//! `UPDATE … FROM` and `DELETE … USING`: each row of the target is set once, and deleted once.

use sqlparser::ast::{Delete, Query, SetExpr, TableFactor, TableWithJoins, Update, UpdateTableFromKind};

use super::{by_number, has_rowid, named_by_columns, written_to};
use crate::ast::error::Error;
use crate::ast::names::ours::{self, NEW, ROWID};
use crate::ast::quote;
use crate::scan::Scan;

/// Of the rows that set one row of the target the one whose values come first: else the engine takes the one that it
/// meets last, and the order follows the number of all rows.
pub(super) fn each(rows: Box<Query>, values: usize) -> Result<Box<Query>, Error> {
    let places: Vec<String> = (0..values).map(|i| quote::name(&ours::place(i))).collect();
    let mut query = crate::syntax::parse::query(&format!(
        "SELECT * FROM (SELECT 1) AS {} QUALIFY row_number() OVER (PARTITION BY {} ORDER BY {}) = 1",
        quote::name(NEW),
        quote::name(ROWID),
        places.join(", ")
    ))?;
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(TableFactor::Derived { subquery, .. }) = select.from.first_mut().map(|table| &mut table.relation)
    {
        *subquery = rows;
    }
    Ok(query)
}

/// No rule asks for it: the engine fails where a row of a table with a key, made in the same transaction, is met by
/// several rows and so deleted twice (1.5.5, "Failed to delete all rows from index").
pub(super) fn deleted(delete: &mut Delete, target: &mut Scan, number: usize) -> Result<(), Error> {
    let has_key = !target.table.primary_key.is_empty() || !target.table.unique.is_empty();
    let alias = written_to(delete)?;
    let is_by_columns = named_by_columns(&delete.using, target, &alias).is_ok()
        && named_by_columns(&delete.selection, target, &alias).is_ok();
    if has_key && is_by_columns && has_rowid(target, "DELETE").is_ok() {
        by_number(delete, alias, target, number)?;
    }
    Ok(())
}

/// Whether its rows are found by the engine's number of them, so that each is set once.
pub(in crate::govern) fn is_governed(update: &Update) -> bool {
    let Some(UpdateTableFromKind::AfterSet(tables)) = &update.from else { return false };
    let is_new = |table: &TableWithJoins| match &table.relation {
        TableFactor::Derived { alias: Some(alias), .. } => alias.name.value == NEW,
        _ => false,
    };
    tables.iter().any(is_new)
}
