//! `SELECT $1, $2 FROM VALUES …`: a column by its place. Anywhere else `$1` is a parameter.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Select, SetExpr, TableFactor, Value, VisitorMut};

use crate::ast::VisitMut;
use crate::ast::outside::Outside;

/// Names the columns, if the select reads nothing but VALUES.
pub(super) fn rewrite(select: &mut Select) {
    let [table] = select.from.as_slice() else {
        return;
    };
    let is_values = match &table.relation {
        TableFactor::Derived { subquery, alias, .. } => {
            matches!(subquery.body.as_ref(), SetExpr::Values(_))
                && alias.as_ref().is_none_or(|alias| alias.columns.is_empty())
        }
        _ => false,
    };
    if !is_values || !table.joins.is_empty() {
        return;
    }
    let mut columns = OrdinalColumns;
    let columns = &mut Outside::of(&mut columns);
    let _: ControlFlow<std::convert::Infallible> = select.projection.visit(columns);
    let _: ControlFlow<std::convert::Infallible> = select.selection.visit(columns);
    let _: ControlFlow<std::convert::Infallible> = select.group_by.visit(columns);
    let _: ControlFlow<std::convert::Infallible> = select.having.visit(columns);
    let _: ControlFlow<std::convert::Infallible> = select.qualify.visit(columns);
}

struct OrdinalColumns;

impl VisitorMut for OrdinalColumns {
    type Break = std::convert::Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Value(value) = expr
            && let Value::Placeholder(name) = &value.value
            && let Some(number) = name.strip_prefix('$').and_then(super::number)
        {
            *expr = Expr::Identifier(Ident::new(format!("column{number}")));
        }
        ControlFlow::Continue(())
    }
}
