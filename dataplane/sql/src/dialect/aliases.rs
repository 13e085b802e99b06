//! `… JOIN b ON total = b.x` where `total` is what a column of the answer is called: the warehouse reads its expression
//! there, the engine knows no such name yet.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, JoinConstraint, JoinOperator, Select, SelectItem, TableFactor, visit_expressions_mut};

use super::{Context, templates};
use crate::error::Error;
use crate::types::Columns;

/// Puts the expressions of such names into the conditions. A name that any column of the statement has is that column's.
pub(super) fn into_conditions(select: &mut Select, context: &mut Context<'_>) -> Result<(), Error> {
    let Select { projection, from, .. } = select;
    let named = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { expr, alias } if !context.names.is_column(&alias.value) => {
            Some((alias.value.clone(), expr.clone()))
        }
        _ => None,
    };
    let factors =
        || from.iter().flat_map(|table| table.joins.iter().map(|join| &join.relation).chain([&table.relation]));
    if from.iter().all(|table| table.joins.is_empty()) || !factors().all(has_known_columns) {
        return Ok(());
    }
    let aliases: Vec<(String, Expr)> = projection.iter().filter_map(named).collect();
    for join in from.iter_mut().flat_map(|table| &mut table.joins) {
        if let Some(condition) = condition(&mut join.join_operator) {
            put_into(condition, &aliases, context)?;
        }
    }
    Ok(())
}

/// What a table function answers is known by nobody here.
fn has_known_columns(factor: &TableFactor) -> bool {
    matches!(factor, TableFactor::Table { args: None, .. } | TableFactor::Derived { .. })
}

fn condition(operator: &mut JoinOperator) -> Option<&mut Expr> {
    match operator {
        JoinOperator::Join(JoinConstraint::On(condition))
        | JoinOperator::Inner(JoinConstraint::On(condition))
        | JoinOperator::Left(JoinConstraint::On(condition))
        | JoinOperator::LeftOuter(JoinConstraint::On(condition))
        | JoinOperator::Right(JoinConstraint::On(condition))
        | JoinOperator::RightOuter(JoinConstraint::On(condition))
        | JoinOperator::FullOuter(JoinConstraint::On(condition)) => Some(condition),
        _ => None,
    }
}

fn put_into(condition: &mut Expr, aliases: &[(String, Expr)], context: &mut Context<'_>) -> Result<(), Error> {
    let put = visit_expressions_mut(condition, |expr| {
        let Expr::Identifier(name) = &*expr else { return ControlFlow::Continue(()) };
        let Some((_, meant)) = aliases.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(&name.value)) else {
            return ControlFlow::Continue(());
        };
        if let Err(error) = context.copy(templates::size(meant)) {
            return ControlFlow::Break(error);
        }
        *expr = Expr::Nested(Box::new(meant.clone()));
        ControlFlow::Continue(())
    });
    match put {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}
