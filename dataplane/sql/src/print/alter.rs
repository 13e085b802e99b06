//! `ALTER TABLE`. The engine gets one change at a time (`steps`).

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, DropBehavior, RenameTableNameKind, TableConstraint,
};

use super::{Printer, Style, absent, head};
use crate::ast::error::Error;
use crate::ast::names;

impl Printer<'_> {
    pub(super) fn alter_table(&mut self, alter: &AlterTable) -> Result<(), Error> {
        let AlterTable { name, if_exists, only, operations, location, on_cluster, table_type, end_token: _ } = alter;
        absent(!only && location.is_none() && on_cluster.is_none() && table_type.is_none(), "options of ALTER TABLE")?;
        self.put(if *if_exists { "ALTER TABLE IF EXISTS " } else { "ALTER TABLE " });
        self.name(name)?;
        for (place, operation) in operations.iter().enumerate() {
            self.put(if place == 0 { " " } else { ", " });
            self.alteration(operation)?;
        }
        Ok(())
    }

    fn alteration(&mut self, operation: &AlterTableOperation) -> Result<(), Error> {
        match operation {
            AlterTableOperation::AddColumn { column_keyword: _, if_not_exists, column_def, column_position } => {
                absent(column_position.is_none(), "a column's position")?;
                self.put(if *if_not_exists { "ADD COLUMN IF NOT EXISTS " } else { "ADD COLUMN " });
                self.column(column_def)
            }
            AlterTableOperation::DropColumn { has_column_keyword: _, column_names, if_exists, drop_behavior } => {
                for (place, column) in column_names.iter().enumerate() {
                    self.put(if place == 0 { "" } else { ", " });
                    self.put(if *if_exists { "DROP COLUMN IF EXISTS " } else { "DROP COLUMN " });
                    self.ident(column);
                }
                // what depends on it was looked for where the names were bound
                if self.style != Style::Engine {
                    self.put(match drop_behavior {
                        Some(DropBehavior::Cascade) => " CASCADE",
                        Some(DropBehavior::Restrict) => " RESTRICT",
                        None => "",
                    });
                }
                Ok(())
            }
            AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                self.put("RENAME COLUMN ");
                self.ident(old_column_name);
                self.put(" TO ");
                self.ident(new_column_name);
                Ok(())
            }
            AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(new) } => {
                let Some(new) = names::single(new) else {
                    return Err(Error::unsupported("RENAME into another schema"));
                };
                self.put("RENAME TO ");
                self.ident(new);
                Ok(())
            }
            AlterTableOperation::AlterColumn { column_name, op } => {
                self.put("ALTER COLUMN ");
                self.ident(column_name);
                self.alter_column(op)
            }
            AlterTableOperation::ClusterBy { .. }
            | AlterTableOperation::DropClusteringKey
            | AlterTableOperation::SuspendRecluster
            | AlterTableOperation::ResumeRecluster => {
                self.warehouse_only("clustering of a table")?;
                self.done("CLUSTER BY ?")
            }
            AlterTableOperation::AddConstraint { constraint, not_valid: _ } => self.constraint_added(constraint),
            other => Err(Error::unsupported(format!("ALTER TABLE {}", head(&other.to_string())))),
        }
    }

    /// What the dialect leaves out; the engine adds none to a table that is there.
    fn constraint_added(&mut self, constraint: &TableConstraint) -> Result<(), Error> {
        let construct = "ALTER TABLE ADD CONSTRAINT";
        self.warehouse_only(construct)?;
        match constraint {
            TableConstraint::Index(index) => {
                self.enclosed("ADD INDEX (", ")", |p| p.list(&index.columns, |p, column| p.expr(&column.column.expr)))
            }
            TableConstraint::Unique(_) | TableConstraint::ForeignKey(_) => {
                self.put("ADD ");
                self.constraint_of_table(constraint)
            }
            _ => Err(Error::unsupported(construct)),
        }
    }

    fn alter_column(&mut self, op: &AlterColumnOperation) -> Result<(), Error> {
        match op {
            AlterColumnOperation::SetNotNull => self.put(" SET NOT NULL"),
            AlterColumnOperation::DropNotNull => self.put(" DROP NOT NULL"),
            AlterColumnOperation::DropDefault => self.put(" DROP DEFAULT"),
            AlterColumnOperation::SetDefault { value } => {
                self.put(" SET DEFAULT ");
                return self.operand(value);
            }
            AlterColumnOperation::SetDataType { data_type, using, had_set: _ } => {
                self.put(" SET DATA TYPE ");
                self.data_type(data_type)?;
                return self.clause(" USING ", using.as_ref());
            }
            AlterColumnOperation::AddGenerated { .. } => {
                return Err(Error::unsupported("GENERATED"));
            }
        }
        Ok(())
    }
}
