//! The table that is altered, bound to its place, and the names its columns have from one change to the next.

mod dependents;

use std::collections::HashSet;

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation as Change, ColumnOption, Expr, Ident, IndexColumn,
    TableConstraint,
};

use super::{Binder, located};
use crate::ast::error::{Error, ErrorKind};
use crate::ast::names;
use crate::catalog::column_comment::{length, length_named};
use crate::catalog::comment::Comment;
use crate::catalog::table::{Column, Table};
use crate::functions::types::Type;

impl Binder<'_> {
    /// Of a view, what the engine keeps goes with its name, which is all that can be altered.
    pub(super) fn altered(&self, alter: &mut AlterTable) -> Result<Comment, Error> {
        names::renamed(alter).map_or(Ok(()), names::admit_new)?;
        // the policies are asked about one new name
        if alter.operations.iter().filter(|change| matches!(change, Change::RenameTable { .. })).count() > 1 {
            return Err(located(Error::unsupported("RENAME TO twice in one ALTER TABLE"), &alter.name));
        }
        let missing = match self.existing(&mut alter.name) {
            Ok(table) => {
                dependents::checked(self.catalog, &table, &alter.operations)?;
                alter.operations = in_turn(std::mem::take(&mut alter.operations), &table)?;
                let widened = widened(&table, &alter.operations);
                return Ok(Comment { of_columns: words(&table), widened, ..Comment::default() });
            }
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

/// What people said of the columns for which the engine keeps something.
fn words(table: &Table) -> Vec<(String, Option<String>)> {
    let is_kept = |column: &&Column| {
        column.comment.is_some() || column.spelled.is_some() || length_named(&column.type_name).is_some()
    };
    table.columns.iter().filter(is_kept).map(|column| (column.name.clone(), column.comment.clone())).collect()
}

/// The column that is given a type which holds all its texts: the engine has nothing to change then, and refuses to where
/// a key is on it.
fn widened(table: &Table, changes: &[Change]) -> Option<String> {
    let [Change::AlterColumn { column_name, op: AlterColumnOperation::SetDataType { data_type, using: None, .. } }] =
        changes
    else {
        return None;
    };
    let column = table.column(&column_name.value)?;
    let is_text = Type::of_declared(data_type) == Type::Text && column.family() == Type::Text;
    let holds = match (length(data_type), length_named(&column.type_name)) {
        (None, _) => true,
        (Some(new), old) => old.is_some_and(|old| new >= old),
    };
    (is_text && holds).then(|| column.name.clone())
}

/// The columns that there are from one change to the next.
struct AlteredColumns<'a> {
    table: &'a Table,
    /// In lower case.
    names: HashSet<String>,
}

/// Change after change: a column that is added is none of those that are there then, and one that is changed is.
fn in_turn(changes: Vec<Change>, table: &Table) -> Result<Vec<Change>, Error> {
    let names = table.columns.iter().map(|column| column.name.to_ascii_lowercase()).collect();
    let mut columns = AlteredColumns { table, names };
    let changes = changes.into_iter().map(|change| columns.change(change));
    Ok(changes.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

impl AlteredColumns<'_> {
    fn change(&mut self, change: Change) -> Result<Vec<Change>, Error> {
        match &change {
            Change::AddColumn { .. } => return self.add(change),
            Change::RenameColumn { old_column_name: old, new_column_name: new } => {
                self.take(old)?;
                self.give(new)?;
            }
            Change::DropColumn { column_names, if_exists, .. } => {
                for name in column_names {
                    let taken = self.take(name);
                    if !*if_exists {
                        taken?;
                    }
                }
            }
            Change::AlterColumn { column_name: name, .. } => {
                self.take(name)?;
                self.give(name)?;
            }
            Change::AddConstraint { constraint, .. } => self.constrained(constraint)?,
            _ => {}
        }
        Ok(vec![change])
    }

    /// A constraint is of columns that there are.
    fn constrained(&self, constraint: &TableConstraint) -> Result<(), Error> {
        let of = |columns: &[IndexColumn]| -> Vec<Ident> {
            let name = |column: &IndexColumn| match &column.column.expr {
                Expr::Identifier(name) => Some(name.clone()),
                _ => None,
            };
            columns.iter().filter_map(name).collect()
        };
        let names = match constraint {
            TableConstraint::ForeignKey(key) => key.columns.clone(),
            TableConstraint::Unique(unique) => of(&unique.columns),
            TableConstraint::Index(index) => of(&index.columns),
            _ => Vec::new(),
        };
        let missing = names.iter().find(|name| !self.names.contains(&lowered(name)));
        missing.map_or(Ok(()), |name| Err(Error::no_column(&self.table.path(), &name.value)))
    }

    /// The engine adds a column without constraints: NOT NULL is set behind it.
    fn add(&mut self, mut change: Change) -> Result<Vec<Change>, Error> {
        let Change::AddColumn { if_not_exists, column_def, .. } = &mut change else { return Ok(vec![change]) };
        let name = column_def.name.clone();
        if let Some(refused) = column_def.options.iter().find_map(|option| unadded(&option.option)) {
            return Err(Error::unsupported(format!("ADD COLUMN with {refused}")));
        }
        let given = column_def.options.len();
        column_def.options.retain(|option| !matches!(option.option, ColumnOption::NotNull));
        let is_set = column_def.options.len() < given;
        if *if_not_exists && self.names.contains(&lowered(&name)) {
            return Ok(vec![change]);
        }
        self.give(&name)?;
        // it is not there, so that its comment is its own
        *if_not_exists = false;
        let set = Change::AlterColumn { column_name: name, op: AlterColumnOperation::SetNotNull };
        Ok(if is_set { vec![change, set] } else { vec![change] })
    }

    fn take(&mut self, name: &Ident) -> Result<(), Error> {
        if self.names.remove(&lowered(name)) { Ok(()) } else { Err(Error::no_column(&self.table.path(), &name.value)) }
    }

    fn give(&mut self, name: &Ident) -> Result<(), Error> {
        if self.names.insert(lowered(name)) { Ok(()) } else { Err(taken(self.table, name)) }
    }
}

fn lowered(name: &Ident) -> String {
    name.value.to_ascii_lowercase()
}

/// What no column can have that is added to a table that is there.
fn unadded(option: &ColumnOption) -> Option<&'static str> {
    match option {
        ColumnOption::PrimaryKey(_) => Some("PRIMARY KEY"),
        ColumnOption::Unique(_) => Some("UNIQUE"),
        ColumnOption::Check(_) => Some("CHECK"),
        _ => None,
    }
}

fn taken(table: &Table, column: &Ident) -> Error {
    let (table, column) = (table.path(), column.value.clone());
    let says = format!("column {column} of {table} already exists");
    Error::new(ErrorKind::ColumnExists { table, column }, says)
}

#[cfg(test)]
mod tests {
    use crate::Rules;
    use crate::testing::engine;

    fn altered(changes: &str) -> String {
        match engine(&format!("ALTER TABLE customers {changes}"), &Rules::default()) {
            Ok(made) => made.before.iter().map(|before| before.sql.as_str()).chain([made.sql.as_str()]).collect(),
            Err(error) => format!("{:?}: {error}", error.kind),
        }
    }

    #[test]
    fn a_column_that_is_added_has_no_constraint_but_not_null() {
        let made = altered("ADD COLUMN n INTEGER DEFAULT 5 NOT NULL");
        assert!(made.contains("ADD COLUMN \"n\" INTEGER DEFAULT 5") && !made.contains("5 NOT NULL"), "{made}");
        assert!(made.contains("ALTER COLUMN \"n\" SET NOT NULL"), "{made}");
        let there = altered("ADD COLUMN IF NOT EXISTS region VARCHAR NOT NULL");
        assert!(!there.contains("SET NOT NULL"), "{there}");
        let referring =
            altered("ADD COLUMN n INTEGER NULL CONSTRAINT k REFERENCES orders (id) DEFERRABLE INITIALLY DEFERRED");
        assert!(referring.ends_with("ADD COLUMN \"n\" INTEGER"), "{referring}");
        for (option, named) in [("UNIQUE", "UNIQUE"), ("PRIMARY KEY", "PRIMARY KEY"), ("CHECK (n > 0)", "CHECK")] {
            let refused = altered(&format!("ADD COLUMN n INTEGER {option}"));
            assert!(refused.contains(&format!("ADD COLUMN with {named} is not supported")), "{refused}");
        }
    }

    #[test]
    fn a_column_that_is_changed_is_there_by_then() {
        for changes in [
            "DROP COLUMN nope",
            "RENAME COLUMN nope TO other",
            "ALTER COLUMN nope DROP NOT NULL",
            "DROP region, DROP region",
        ] {
            assert!(altered(changes).starts_with("ColumnNotFound"), "{changes}: {}", altered(changes));
        }
        for changes in ["RENAME COLUMN region TO name", "ADD COLUMN Region INTEGER"] {
            assert!(altered(changes).starts_with("ColumnExists"), "{changes}: {}", altered(changes));
        }
        for changes in ["DROP COLUMN IF EXISTS nope", "DROP region, ADD region INTEGER"] {
            assert!(altered(changes).contains("ALTER TABLE"), "{changes}: {}", altered(changes));
        }
    }
}
