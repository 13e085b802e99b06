//! The label of a column that has no name.

use sqlparser::ast::{Expr, Ident, Query, Select, SelectItem, SetExpr, Statement};

use super::lower;

/// Columns without a name are called as PostgreSQL calls them: by the function or the type.
pub(super) fn label(tree: &mut Statement) {
    if let Statement::Query(query) = tree {
        label_query(query);
    }
}

fn label_query(query: &mut Query) {
    let mut body = query.body.as_mut();
    loop {
        body = match body {
            SetExpr::Select(select) => return label_select(select),
            SetExpr::SetOperation { left, .. } => left.as_mut(),
            SetExpr::Query(inner) => inner.body.as_mut(),
            _ => return,
        };
    }
}

fn label_select(select: &mut Select) {
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        {
            let alias = Ident::with_quote('"', called(expr));
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
}

fn called(expr: &Expr) -> String {
    let mut expr = expr;
    loop {
        expr = match expr {
            Expr::Nested(inner) => inner,
            Expr::Cast { expr: inner, data_type, .. } => match inner.as_ref() {
                Expr::Value(_) => return data_type.to_string().to_ascii_lowercase(),
                inner => inner,
            },
            Expr::Identifier(name) => return name.value.to_ascii_lowercase(),
            Expr::CompoundIdentifier(path) => {
                return path.last().map_or_else(String::new, |last| last.value.to_ascii_lowercase());
            }
            Expr::Function(function) => {
                let name = lower(&function.name).and_then(|mut parts| parts.pop()).unwrap_or_default();
                let registered = ["_of", "_name"].iter().find_map(|end| name.strip_suffix(end));
                let registered = registered.filter(|name| name.starts_with("reg")).map(str::to_owned);
                return registered.unwrap_or(name);
            }
            Expr::Case { .. } => return "case".to_owned(),
            Expr::Exists { .. } => return "exists".to_owned(),
            Expr::Array(_) => return "array".to_owned(),
            _ => return "?column?".to_owned(),
        };
    }
}
