//! The table that is altered, bound to its place, and the names its columns have from one change to the next.

use std::collections::HashSet;

use sqlparser::ast::{AlterTable, AlterTableOperation as Change, Ident};

use super::{Binder, located};
use crate::catalog::Table;
use crate::comment::Comment;
use crate::error::{Error, Kind};
use crate::names;

impl Binder<'_> {
    /// Of a view, what the engine keeps goes with its name, which is all that can be altered.
    pub(super) fn altered(&self, alter: &mut AlterTable) -> Result<Comment, Error> {
        names::renamed(alter).map_or(Ok(()), names::admit_new)?;
        // the policies are asked about one new name
        if alter.operations.iter().filter(|change| matches!(change, Change::RenameTable { .. })).count() > 1 {
            return Err(located(Error::unsupported("RENAME TO twice in one ALTER TABLE"), &alter.name));
        }
        let missing = match self.existing(&mut alter.name) {
            Ok(table) => return added(alter, &table).map(|()| Comment::default()),
            Err(missing) => missing,
        };
        let Some(view) = self.view_named(&alter.name) else { return Err(missing) };
        if !matches!(alter.operations.as_slice(), [Change::RenameTable { .. }]) {
            return Err(located(Error::unsupported("ALTER of a view other than RENAME TO"), &alter.name));
        }
        alter.name = names::qualified(&view.schema, &view.name);
        Ok(view.kept())
    }
}

/// A column that is added is none of those that are there then.
fn added(alter: &AlterTable, table: &Table) -> Result<(), Error> {
    let lowered = |name: &Ident| name.value.to_ascii_lowercase();
    let mut columns: HashSet<String> = table.columns.iter().map(|column| column.name.to_ascii_lowercase()).collect();
    for change in &alter.operations {
        match change {
            Change::AddColumn { if_not_exists, column_def, .. } => {
                let is_new = columns.insert(lowered(&column_def.name));
                if !is_new && !*if_not_exists {
                    return Err(taken(table, &column_def.name));
                }
            }
            Change::RenameColumn { old_column_name, new_column_name } => {
                columns.remove(&lowered(old_column_name));
                columns.insert(lowered(new_column_name));
            }
            Change::DropColumn { column_names, .. } => {
                for name in column_names {
                    columns.remove(&lowered(name));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn taken(table: &Table, column: &Ident) -> Error {
    let (table, column) = (table.path(), column.value.clone());
    let says = format!("column {column} of {table} already exists");
    Error::new(Kind::ColumnExists { table, column }, says)
}
