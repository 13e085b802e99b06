//! `ORDER BY … DESC`: NULLs first, as the warehouse has it; the engine puts them last.

use sqlparser::ast::{OrderByExpr, OrderByKind, OrderBySort, Query, SelectItem, SetExpr};

use super::{Context, compose};
use crate::error::Error;
use crate::types::Type;

/// One key of any ORDER BY: of a query, a window or an aggregate.
pub(super) fn rewrite(key: &mut OrderByExpr, context: &mut Context<'_>) -> Result<(), Error> {
    if context.type_of(&key.expr) == Type::Json {
        return Err(of_variant());
    }
    if is_descending(key) && key.options.nulls_first.is_none() {
        key.options.nulls_first = Some(true);
    }
    Ok(())
}

/// `ORDER BY 2`: the column it counts to may be a variant too.
pub(super) fn by_position(query: &Query, context: &Context<'_>) -> Result<(), Error> {
    let Some(OrderByKind::Expressions(keys)) = query.order_by.as_ref().map(|order| &order.kind) else {
        return Ok(());
    };
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Ok(());
    };
    for key in keys {
        let place = compose::integer(&key.expr).and_then(|place| usize::try_from(place).ok()?.checked_sub(1));
        let item = place.and_then(|place| select.projection.get(place));
        if let Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item
            && context.type_of(expr) == Type::Json
        {
            return Err(of_variant());
        }
    }
    Ok(())
}

fn of_variant() -> Error {
    Error::unsupported("ORDER BY of a variant without a cast")
}

fn is_descending(key: &OrderByExpr) -> bool {
    matches!(key.options.sort, Some(OrderBySort::Desc))
}
