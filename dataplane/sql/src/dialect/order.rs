//! `ORDER BY … DESC`: NULLs first, as the warehouse has it; the engine puts them last.

use sqlparser::ast::{OrderByExpr, OrderBySort};

use super::Context;
use crate::error::Error;
use crate::types::Type;

/// One key of any ORDER BY: of a query, a window or an aggregate.
pub(super) fn rewrite(key: &mut OrderByExpr, context: &mut Context<'_>) -> Result<(), Error> {
    if context.type_of(&key.expr) == Type::Json {
        return Err(Error::unsupported("ORDER BY of a variant without a cast"));
    }
    if is_descending(key) && key.options.nulls_first.is_none() {
        key.options.nulls_first = Some(true);
    }
    Ok(())
}

fn is_descending(key: &OrderByExpr) -> bool {
    matches!(key.options.sort, Some(OrderBySort::Desc))
}
