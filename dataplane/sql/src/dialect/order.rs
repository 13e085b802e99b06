//! `ORDER BY … DESC`: NULLs first, as the warehouse has it; the engine puts them last. A variant is ordered by a key.

use sqlparser::ast::{Expr, OrderByExpr, OrderByKind, OrderBySort, Query, SelectItem, SetExpr};

use super::call::take_expr;
use super::{Context, compose, variants};
use crate::ast::error::Error;
use crate::functions::types::Type;

/// One key of any ORDER BY: of a query, a window or an aggregate.
pub(super) fn rewrite(key: &mut OrderByExpr, context: &mut Context<'_>) -> Result<(), Error> {
    if context.type_of(&key.expr) == Type::Json {
        key.expr = variants::key(take_expr(&mut key.expr), context)?;
    }
    if is_descending(key) && key.options.nulls_first.is_none() {
        key.options.nulls_first = Some(true);
    }
    Ok(())
}

/// `ORDER BY 2`: the column it counts to may be a variant too. Of DISTINCT rows the engine orders by what is selected
/// alone.
pub(super) fn by_position(query: &mut Query, context: &mut Context<'_>) -> Result<(), Error> {
    let Some(OrderByKind::Expressions(keys)) = query.order_by.as_mut().map(|order| &mut order.kind) else {
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
            key.expr = variants::key(expr.clone(), context)?;
        }
        if select.distinct.is_some() && is_key(&key.expr) {
            return Err(Error::unsupported("ORDER BY of a variant without a cast beside DISTINCT"));
        }
    }
    Ok(())
}

/// Whether it is what a variant is ordered by.
fn is_key(expr: &Expr) -> bool {
    matches!(expr, Expr::Case { else_result: Some(key), .. } if matches!(**key, Expr::Dictionary(_)))
}

fn is_descending(key: &OrderByExpr) -> bool {
    matches!(key.options.sort, Some(OrderBySort::Desc))
}
