//! Constraints that the warehouse notes and never checks: foreign keys, and what is added to a table that is there.
//!
//! The engine would check a foreign key, and adds no constraint behind: they are left out, and the caller is told.

use sqlparser::ast::{
    AlterTable, AlterTableOperation, ColumnDef, ColumnOption, CreateTable, Statement, TableConstraint,
};

use super::Context;

const FOREIGN_KEY: &str = "FOREIGN KEY is not kept: the warehouse never checks one";
const UNIQUE: &str =
    "UNIQUE that is added is not kept: the warehouse never checks one; what CREATE TABLE declares is checked";
const INDEX: &str = "an index is not kept: a table has none but those of the keys that CREATE TABLE declares";

pub(super) fn leave_out(statement: &mut Statement, context: &mut Context<'_>) {
    match statement {
        Statement::CreateTable(create) => of_new(create, context),
        Statement::AlterTable(AlterTable { operations, .. }) => operations.retain_mut(|operation| {
            let said = match operation {
                AlterTableOperation::AddConstraint { constraint: TableConstraint::ForeignKey(_), .. } => FOREIGN_KEY,
                AlterTableOperation::AddConstraint { constraint: TableConstraint::Unique(_), .. } => UNIQUE,
                AlterTableOperation::AddConstraint { constraint: TableConstraint::Index(_), .. } => INDEX,
                AlterTableOperation::AddColumn { column_def, .. } => {
                    if of_column(column_def) {
                        context.warn(FOREIGN_KEY);
                    }
                    return true;
                }
                _ => return true,
            };
            context.warn(said);
            false
        }),
        _ => {}
    }
}

fn of_new(CreateTable { columns, constraints, .. }: &mut CreateTable, context: &mut Context<'_>) {
    let all = constraints.len();
    constraints.retain(|constraint| !matches!(constraint, TableConstraint::ForeignKey(_)));
    let mut fewer = constraints.len() < all;
    for column in columns {
        fewer |= of_column(column);
    }
    if fewer {
        context.warn(FOREIGN_KEY);
    }
}

/// Takes what a column refers to out of its definition, if it refers to something.
fn of_column(column: &mut ColumnDef) -> bool {
    let all = column.options.len();
    column.options.retain(|option| !matches!(option.option, ColumnOption::ForeignKey(_)));
    column.options.len() < all
}
