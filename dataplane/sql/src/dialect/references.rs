//! Foreign keys: the warehouse notes them and checks none. The engine would check each, so they are left out, and
//! the caller is told.

use sqlparser::ast::{ColumnOption, CreateTable, Statement, TableConstraint};

use super::Context;

const LEFT_OUT: &str = "FOREIGN KEY is not kept: the warehouse never checks one";

pub(super) fn leave_out(statement: &mut Statement, context: &mut Context<'_>) {
    let Statement::CreateTable(CreateTable { columns, constraints, .. }) = statement else { return };
    let all = constraints.len();
    constraints.retain(|constraint| !matches!(constraint, TableConstraint::ForeignKey(_)));
    let mut fewer = constraints.len() < all;
    for column in columns {
        let all = column.options.len();
        column.options.retain(|option| !matches!(option.option, ColumnOption::ForeignKey(_)));
        fewer |= column.options.len() < all;
    }
    if fewer {
        context.warn(LEFT_OUT);
    }
}
