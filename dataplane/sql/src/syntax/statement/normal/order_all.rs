//! `ORDER BY ALL`: by every column of the answer, from the left.
//!
//! Where the columns are written out their places stand for it. Those that `*` stands for are not known yet, and the
//! engine has the same form.

use sqlparser::ast::{
    Expr, Ident, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, OrderBySort, Query, SelectItem, SetExpr, Value,
};

pub(super) fn rewrite(query: &mut Query) {
    let Some(OrderBy { kind, .. }) = &mut query.order_by else { return };
    let Some(mut options) = options(kind) else { return };
    *kind = if let Some(columns) = written(&query.body) {
        OrderByKind::Expressions((1..=columns).map(|place| key(place, &options)).collect())
    } else {
        // the warehouse has NULLs first, as it has of any key
        let descends = matches!(options.sort, Some(OrderBySort::Desc));
        options.nulls_first = options.nulls_first.or(descends.then_some(true));
        OrderByKind::All(options)
    };
}

/// Those of ALL, if it is that; the warehouse's grammar of the parser crate takes the word for a column.
fn options(kind: &OrderByKind) -> Option<OrderByOptions> {
    match kind {
        OrderByKind::All(options) => Some(options.clone()),
        OrderByKind::Expressions(keys) => match keys.as_slice() {
            [OrderByExpr { expr: Expr::Identifier(word), options, with_fill: None }] if is_all(word) => {
                Some(options.clone())
            }
            _ => None,
        },
    }
}

fn is_all(word: &Ident) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case("all")
}

/// How many columns are written out, where all are.
#[recursive::recursive]
fn written(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => {
            let is_one = |item| matches!(item, &SelectItem::UnnamedExpr(_) | &SelectItem::ExprWithAlias { .. });
            (!select.projection.is_empty() && select.projection.iter().all(is_one)).then_some(select.projection.len())
        }
        SetExpr::Query(query) => written(&query.body),
        SetExpr::SetOperation { left, .. } => written(left),
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
        _ => None,
    }
}

fn key(place: usize, options: &OrderByOptions) -> OrderByExpr {
    OrderByExpr {
        expr: Expr::Value(Value::Number(place.to_string(), false).into()),
        options: options.clone(),
        with_fill: None,
    }
}
