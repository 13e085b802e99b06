//! Set operations: columns of which one side has variants and another plain values become plain ones.

use sqlparser::ast::{Ident, Query, Select, SelectItem, SetExpr};

use super::call::take_expr;
use super::meeting::{meeting, met};
use crate::bind::scope::BoundColumns;
use crate::functions::types::Type;

/// The selects of one query, whose columns are these.
pub(super) fn meet(query: &mut Query, arms: &mut [BoundColumns]) {
    if arms.len() < 2 {
        return;
    }
    let mut selects = Vec::with_capacity(arms.len());
    if !collect(&mut query.body, &mut selects) || selects.len() != arms.len() {
        return;
    }
    let width = arms.first().map_or(0, |arm| arm.columns.len());
    if arms.iter().any(|arm| arm.is_open || arm.columns.len() != width) {
        return;
    }
    if !selects.iter().all(|select| select.projection.len() == width && select.projection.iter().all(is_column)) {
        return;
    }
    for place in 0..width {
        let columns = arms.iter().filter_map(|arm| arm.columns.get(place));
        let types: Vec<Type> = columns.map(|column| if column.is_null { Type::Unknown } else { column.kind }).collect();
        let Some(wanted) = meeting(&types) else { continue };
        for ((select, arm), known) in selects.iter_mut().zip(arms.iter_mut()).zip(types) {
            if let (Some(item), Some(column)) = (select.projection.get_mut(place), arm.columns.get_mut(place)) {
                read(item, &column.name, known, wanted);
                if known != Type::Unknown {
                    column.kind = wanted;
                }
            }
        }
    }
}

/// The selects in their order; whether there is nothing else.
fn collect<'q>(body: &'q mut SetExpr, selects: &mut Vec<&'q mut Select>) -> bool {
    match body {
        SetExpr::Select(select) => {
            selects.push(select);
            true
        }
        SetExpr::SetOperation { left, right, .. } => collect(left, selects) && collect(right, selects),
        _ => false,
    }
}

/// Whether an item of a select list is one column.
fn is_column(item: &SelectItem) -> bool {
    matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
}

/// Reads one item as what the column becomes; the column keeps its name.
fn read(item: &mut SelectItem, name: &str, known: Type, wanted: Type) {
    match item {
        SelectItem::ExprWithAlias { expr, .. } => *expr = met(take_expr(expr), known, wanted),
        SelectItem::UnnamedExpr(expr) => {
            let expr = met(take_expr(expr), known, wanted);
            *item = match name {
                "" => SelectItem::UnnamedExpr(expr),
                name => SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) },
            };
        }
        _ => {}
    }
}
