//! Whether a part of a filter that asks other tables can fail on a row, or asks them by a value of the row that stands for
//! its equals.
//!
//! It is followed as a condition of a caller's is, over the tables as they are.

use std::sync::Arc;

use sqlparser::ast::{Expr, GroupByExpr, Query, SelectItem, SetExpr, Statement, TableFactor};

use super::super::{lineage, scan};
use crate::ast::call::call;
use crate::ast::error::Error;
use crate::ast::{any_expression, change_expressions, change_factors, quote};
use crate::catalog::table::{Column, Table};
use crate::functions::types::Type;
use crate::govern::leaks::indistinct_values;
use crate::scan::marker::{self, Marked};

/// `inner` has the tables of its subqueries, by what they are called there.
pub(super) fn can_fail(mut part: Expr, table: &Arc<Table>, inner: &[(String, Arc<Table>)]) -> Result<bool, Error> {
    let tables = std::iter::once(table).chain(inner.iter().map(|(_, table)| table));
    let scans = tables.map(|table| scan::ruled(table, None)).collect::<Result<Vec<_>, Error>>()?;
    // the tables of subqueries by the numbers of their scans
    change_factors(&mut part, |factor| {
        if let TableFactor::Table { name, alias: Some(alias), .. } = factor
            && let Some(number) = inner.iter().position(|(called, _)| *called == alias.name.value)
        {
            *name = marker::name(Marked::Scan(number + 1));
        }
    });
    change_expressions(&mut part, |expr| of_no_row(expr, &table.name));
    let mut query = crate::syntax::parse::query(&format!("SELECT 1 FROM own AS {}", quote::name(&table.name)))?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        if let Some(TableFactor::Table { name, .. }) = select.from.first_mut().map(|table| &mut table.relation) {
            *name = marker::name(Marked::Scan(0));
        }
        select.selection = Some(part);
    }
    let found = lineage::of(&Statement::Query(query), &scans, false);
    Ok(found.failing.can_throw || found.refused.is_some())
}

/// Whether a query in it is about a value of the row that is equal to another and can be told from it: the engine asks
/// once for both, by the first of them, which a hidden row may hold.
pub(super) fn by_indistinct_values(part: &Expr, table: &Table) -> bool {
    let has_indistinct_values = |name: &str| {
        let of = |column: &Column| indistinct_values::of_kind(Type::of_name(&column.type_name));
        table.column(name).is_none_or(|column| !column.type_name.eq_ignore_ascii_case("json") && of(column))
    };
    let of_the_row = |expr: &Expr| match expr {
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [own, column, ..] => own.value == table.name && has_indistinct_values(&column.value),
            _ => false,
        },
        _ => false,
    };
    any_expression(part, |expr| match expr {
        Expr::Subquery(query) | Expr::Exists { subquery: query, .. } | Expr::InSubquery { subquery: query, .. } => {
            any_expression(query, of_the_row)
        }
        _ => false,
    })
}

/// A query that stands for a value and asks for nothing of the row has one row, or more for every row: it becomes one.
fn of_no_row(expr: &mut Expr, own: &str) {
    if let Expr::Subquery(query) = expr
        && !names(query, own)
        && let Some(value) = sole_value(query)
    {
        *value = call("max", [value.clone()]);
    }
}

fn names(query: &Query, table: &str) -> bool {
    any_expression(query, |expr| match expr {
        Expr::CompoundIdentifier(path) => path.first().is_some_and(|first| first.value == table),
        _ => false,
    })
}

/// The value of each row that passes its WHERE.
fn sole_value(query: &mut Query) -> Option<&mut Expr> {
    let SetExpr::Select(select) = query.body.as_mut() else { return None };
    let is_plain = query.limit_clause.is_none()
        && query.fetch.is_none()
        && select.distinct.is_none()
        && select.having.is_none()
        && select.qualify.is_none()
        && matches!(&select.group_by, GroupByExpr::Expressions(exprs, modifiers) if exprs.is_empty() && modifiers.is_empty());
    match select.projection.as_mut_slice() {
        [SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }] if is_plain => Some(value),
        _ => None,
    }
}
