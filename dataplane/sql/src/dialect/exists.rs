//! `EXISTS`, whose `<>` the engine takes for met where an outer join made the outer column NULL.

use sqlparser::ast::{BinaryOperator, Expr, Query, SetExpr, UnaryOperator};

use crate::ast::any_expression;
use crate::ast::call::take_expr;
use crate::ast::expression::unnested;

/// Asks the conditions of the query for what is true: the engine then leaves them where they are
/// (duckdb/duckdb#23979, #22267).
pub(super) fn settle(query: &mut Query) {
    body(&mut query.body);
}

fn body(set: &mut SetExpr) {
    match set {
        SetExpr::Select(select) => {
            if let Some(selection) = &mut select.selection {
                condition(selection);
            }
        }
        SetExpr::Query(query) => settle(query),
        SetExpr::SetOperation { left, right, .. } => {
            body(left);
            body(right);
        }
        _ => {}
    }
}

#[recursive::recursive]
fn condition(expr: &mut Expr) {
    match expr {
        Expr::Nested(inner) => condition(inner),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            condition(left);
            condition(right);
        }
        other if is_unequal(other) => {
            let inner = take_expr(other);
            *other = Expr::IsTrue(Box::new(Expr::Nested(Box::new(inner))));
        }
        _ => {}
    }
}

/// `a <> b` or `NOT a = b` of two values that columns decide.
fn is_unequal(expr: &Expr) -> bool {
    let is_column = |expr: &Expr| matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    let differ = |left: &Expr, right: &Expr| [left, right].into_iter().all(|side| any_expression(side, is_column));
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::NotEq, right } => differ(left, right),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => match unnested(expr) {
            Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => differ(left, right),
            _ => false,
        },
        _ => false,
    }
}
