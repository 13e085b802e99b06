//! Rows of one table, which a LIMIT leaves in their order.

use sqlparser::ast::{Expr, GroupByExpr, Query, Select, SelectItem, SetExpr, TableFactor};

use crate::ast::{any_expression, names};
use crate::functions::catalogue;
use crate::scan::marker::{self, Marked};

/// Rows of one table as it is stored, some of them left out: the engine hands them on in their order.
#[recursive::recursive]
pub(in crate::govern) fn is_plain(query: &Query) -> bool {
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
    any_expression(item, |expr| match expr {
        Expr::Function(function) => {
            function.over.is_some()
                || names::last(&function.name).is_none_or(|name| catalogue::is_aggregate(&name.value))
        }
        _ => false,
    })
}
