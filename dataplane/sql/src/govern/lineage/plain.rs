//! Which rows a LIMIT leaves, where that does not follow the order in which they meet.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, GroupByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor, Value, visit_expressions,
};

use super::Output;
use crate::functions;
use crate::names;
use crate::print::marker::{self, Marked};

/// Rows of one table as it is stored, some of them left out: the engine hands them on in their order.
#[recursive::recursive]
pub(super) fn is_plain(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    query.with.is_none() && query.order_by.is_none() && is_scan(select)
}

/// The same without what stands around a select list and its FROM.
pub(super) fn is_scan(select: &Select) -> bool {
    let is_ungrouped =
        matches!(&select.group_by, GroupByExpr::Expressions(keys, more) if keys.is_empty() && more.is_empty());
    let keeps_rows = is_ungrouped && select.distinct.is_none() && select.having.is_none() && select.qualify.is_none();
    let [table] = select.from.as_slice() else { return false };
    let is_stored = match &table.relation {
        TableFactor::Table { name, args: None, sample: None, .. } => {
            matches!(marker::read(name), Some(Marked::Scan(_)))
        }
        TableFactor::Derived { lateral: false, subquery, sample: None, .. } => is_plain(subquery),
        _ => false,
    };
    keeps_rows && table.joins.is_empty() && is_stored && !select.projection.iter().any(counts_rows)
}

/// Whether it holds a call over several rows.
fn counts_rows(item: &SelectItem) -> bool {
    let found = visit_expressions(item, |expr| match expr {
        Expr::Function(function)
            if function.over.is_some()
                || names::last(&function.name).is_none_or(|name| functions::is_aggregate(&name.value)) =>
        {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether ORDER BY names every column of the answer: rows that it does not order are equal.
pub(super) fn is_decided(query: &Query, outputs: &[Output]) -> bool {
    let (SetExpr::Select(select), Some(order_by)) = (query.body.as_ref(), &query.order_by) else { return false };
    let (OrderByKind::Expressions(keys), None) = (&order_by.kind, &order_by.interpolate) else { return false };
    // as many keys as columns: a statement of very many is not worth the search
    if outputs.is_empty() || keys.len() < outputs.len() || keys.len() > 100 {
        return false;
    }
    let names_it = |place: usize, output: &Output| {
        let is_alone = outputs.iter().filter(|other| other.name.eq_ignore_ascii_case(&output.name)).count() == 1;
        keys.iter().filter(|key| key.with_fill.is_none()).any(|key| match &key.expr {
            Expr::Identifier(ident) => is_alone && ident.value.eq_ignore_ascii_case(&output.name),
            Expr::Value(value) => matches!(&value.value, Value::Number(digits, _) if digits.parse() == Ok(place + 1)),
            path @ Expr::CompoundIdentifier(_) => {
                matches!(select.projection.get(place), Some(SelectItem::UnnamedExpr(expr)) if expr == path)
            }
            _ => false,
        })
    };
    let is_counted = select.projection.len() == outputs.len();
    is_counted && outputs.iter().enumerate().all(|(place, output)| !output.has_twins && names_it(place, output))
}
