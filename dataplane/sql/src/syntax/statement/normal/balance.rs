//! Long chains of one associative operator, put into balance: what walks and drops a tree calls itself for each level.
//!
//! `a OR b OR c OR d` is parsed as `((a OR b) OR c) OR d`; what is made of it is `(a OR b) OR (c OR d)`, which means the
//! same. A short chain stays as it is.

use sqlparser::ast::{Expr, SetExpr, Values};

use crate::ast::associative;
use crate::ast::call::take_expr;
use crate::syntax::lex::nesting::UNBALANCED_MAX;

/// The chain that begins here, if it is a long one.
pub(super) fn expression(expr: &mut Expr) {
    if joined_arms(expr) <= UNBALANCED_MAX {
        return;
    }
    let Expr::BinaryOp { op, .. } = expr else { return };
    let op = op.clone();
    let mut arms = Vec::new();
    let mut rest = take_expr(expr);
    while let Expr::BinaryOp { left, op: of, right } = rest {
        if of != op {
            rest = Expr::BinaryOp { left, op: of, right };
            break;
        }
        arms.push(*right);
        rest = *left;
    }
    arms.push(rest);
    arms.reverse();
    let joined = |left, right| Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) };
    if let Some(whole) = whole(arms, &joined) {
        *expr = whole;
    }
}

/// How many arms the chain has that begins here; none where no chain does.
fn joined_arms(expr: &Expr) -> usize {
    let Expr::BinaryOp { op, .. } = expr else { return 0 };
    if !associative::operator(op) {
        return 0;
    }
    let (mut arms, mut rest) = (1, expr);
    while let Expr::BinaryOp { left, op: of, .. } = rest
        && of == op
    {
        arms += 1;
        rest = left;
    }
    arms
}

/// The arms of a set operation, and of those among them.
pub(super) fn arms(body: &mut SetExpr) {
    let SetExpr::SetOperation { op, set_quantifier, .. } = body else { return };
    let (op, quantifier) = (*op, *set_quantifier);
    if !associative::set_operation(op, quantifier) {
        if let SetExpr::SetOperation { left, right, .. } = body {
            arms(left);
            arms(right);
        }
        return;
    }
    let nothing = Values { explicit_row: false, value_keyword: false, rows: Vec::new() };
    let mut found = Vec::new();
    let mut rest = std::mem::replace(body, SetExpr::Values(nothing));
    while let SetExpr::SetOperation { op: of, set_quantifier, left, right } = rest {
        if of != op || set_quantifier != quantifier {
            rest = SetExpr::SetOperation { op: of, set_quantifier, left, right };
            break;
        }
        found.push(*right);
        rest = *left;
    }
    found.push(rest);
    found.reverse();
    found.iter_mut().for_each(arms);
    let joined = |left, right| SetExpr::SetOperation {
        op,
        set_quantifier: quantifier,
        left: Box::new(left),
        right: Box::new(right),
    };
    // the last arm stays by itself: in a query that names itself it is the one that is run again
    let last = found.pop();
    if let Some(whole) = whole(found, &joined).into_iter().chain(last).reduce(joined) {
        *body = whole;
    }
}

/// All of them joined: a few one after another, many half by half.
fn whole<T>(arms: Vec<T>, joined: &impl Fn(T, T) -> T) -> Option<T> {
    if arms.len() <= UNBALANCED_MAX { arms.into_iter().reduce(joined) } else { halves(arms, joined) }
}

fn halves<T>(mut arms: Vec<T>, joined: &impl Fn(T, T) -> T) -> Option<T> {
    if arms.len() < 2 {
        return arms.pop();
    }
    let second = arms.split_off(arms.len() / 2);
    match (halves(arms, joined), halves(second, joined)) {
        (Some(first), Some(second)) => Some(joined(first, second)),
        (first, second) => first.or(second),
    }
}
