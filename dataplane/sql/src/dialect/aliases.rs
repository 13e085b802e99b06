//! Names of the select list that are used again: the warehouse reads the expression there.
//!
//! In `… JOIN b ON total = b.x` the engine knows no such name yet. Elsewhere it knows it, unless the expression holds a
//! query or may raise an error of ours, as a quotient does: then the expression is repeated.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, JoinConstraint, JoinOperator, Select, SelectItem, TableAlias, TableFactor, TableWithJoins};

use super::{Context, templates};
use crate::ast::error::Error;
use crate::ast::names;
use crate::ast::outside::Outside;
use crate::ast::{VisitMut, any_expression, flow_of, inner_first, result_of};

/// Puts the expressions of such names into the conditions. A name that any column of the statement has is that
/// column's, and beside columns that nobody knows here every name is left to the engine, which knows them.
pub(super) fn into_conditions(select: &mut Select, context: &mut Context<'_>) -> Result<(), Error> {
    let Select { projection, from, .. } = select;
    if from.iter().all(|table| table.joins.is_empty()) || !from.iter().all(|table| has_known_columns(table, context)) {
        return Ok(());
    }
    let named = projection.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } => Some((alias.value.as_str(), expr)),
        _ => None,
    });
    let aliases: Vec<(&str, &Expr)> = named.filter(|(alias, _)| !context.scopes.is_column(alias)).collect();
    if aliases.is_empty() {
        return Ok(());
    }
    // a query in the condition may read columns that are not known
    let is_open = context.scopes.has_open();
    let mut put = inner_first(|expr| {
        let Expr::Identifier(name) = &*expr else { return ControlFlow::Continue(()) };
        let named = aliases.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(&name.value));
        let Some((_, meant)) = named.copied() else { return ControlFlow::Continue(()) };
        let copied = context.copy(templates::size(meant));
        flow_of(copied.map(|()| *expr = Expr::Nested(Box::new(meant.clone()))))
    });
    for join in from.iter_mut().flat_map(|table| &mut table.joins) {
        let Some(condition) = condition(&mut join.join_operator) else { continue };
        let flow = if is_open { condition.visit(&mut Outside::of(&mut put)) } else { condition.visit(&mut put) };
        result_of(flow)?;
    }
    Ok(())
}

/// Whether it is a query as a value, or an error of ours.
pub(super) fn is_repeatable(expr: &Expr) -> bool {
    match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => true,
        Expr::Function(function) => {
            names::last(&function.name).is_some_and(|name| name.value.eq_ignore_ascii_case("error"))
        }
        _ => false,
    }
}

/// Whether the engine does not read an alias of this expression as its value.
pub(super) fn is_repeated(expr: &Expr, context: &Context<'_>) -> bool {
    context.repeats && any_expression(expr, is_repeatable) && !templates::is_volatile(expr)
}

/// Puts the expression in the place of such an alias; whether it was one.
pub(super) fn repeat(expr: &mut Expr, context: &mut Context<'_>) -> Result<bool, Error> {
    let Expr::Identifier(name) = &*expr else { return Ok(false) };
    let Some(meant) = context.scopes.meant(&name.value).cloned() else { return Ok(false) };
    context.copy(templates::size(&meant))?;
    *expr = Expr::Nested(Box::new(meant));
    Ok(true)
}

fn has_known_columns(table: &TableWithJoins, context: &Context<'_>) -> bool {
    let is_known = |alias: Option<&TableAlias>| {
        let name = alias.map_or("", |alias| alias.name.value.as_str());
        !context.scopes.is_open(name)
    };
    std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation)).all(|factor| match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::NestedJoin { alias: alias @ Some(_), .. } => is_known(alias.as_ref()),
        TableFactor::NestedJoin { table_with_joins, alias: None } => has_known_columns(table_with_joins, context),
        _ => false,
    })
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
