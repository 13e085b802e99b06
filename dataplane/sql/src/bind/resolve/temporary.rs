//! Temporary tables: of the connection that makes them, for nobody else, in the engine's own catalog of them.
//!
//! Without a path their names come before those of other tables; `pg_temp` is the schema they are known by. What is
//! in them has been read under the rules of who made them, so no policy is on them.

use std::sync::Arc;

use sqlparser::ast::{ColumnOption, CreateTable, OnCommit, Statement};

use crate::ast::error::Error;
use crate::ast::names::{self, TableName, ours};
use crate::catalog::table::Table;

/// Gives a new one its place.
pub(super) fn bound(create: &mut CreateTable) -> Result<(), Error> {
    let written = TableName::of(&create.name).ok_or_else(|| Error::unsupported("this form of table name"))?;
    let elsewhere = |schema: &String| !schema.eq_ignore_ascii_case(names::TEMPORARY_SCHEMA);
    if written.database.is_some() || written.schema.as_ref().is_some_and(elsewhere) {
        return Err(Error::unsupported("a temporary table in a schema"));
    }
    if written.is_reserved() || ours::is_kept(&written.name) {
        return Err(Error::unsupported("a table of this name"));
    }
    let mut options = create.columns.iter().flat_map(|column| &column.options);
    if options.any(|option| matches!(option.option, ColumnOption::Identity(_))) {
        return Err(Error::unsupported("AUTOINCREMENT of a temporary table"));
    }
    names::last(&create.name).map_or(Ok(()), names::admit_new)?;
    create.name = names::temporary(&written.name);
    Ok(())
}

/// A view outlives what it would be made of.
pub(super) fn check(tree: &Statement, references: &[Arc<Table>]) -> Result<(), Error> {
    let is_view = matches!(tree, Statement::CreateView(_));
    if is_view && references.iter().any(|table| table.attached) {
        return Err(Error::unsupported("a view of a table of an attached database"));
    }
    if is_view && references.iter().any(|table| table.temporary) {
        return Err(Error::unsupported("a view of a temporary table"));
    }
    Ok(())
}

/// Whether it makes one `ON COMMIT DROP`.
pub(super) fn drops_at_commit(tree: &Statement) -> bool {
    matches!(tree, Statement::CreateTable(CreateTable { temporary: true, on_commit: Some(OnCommit::Drop), .. }))
}

/// The engine's statement that drops a temporary table.
pub fn drop_temporary(name: &str) -> String {
    format!("DROP TABLE IF EXISTS {}", names::temporary(name))
}
