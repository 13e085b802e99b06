//! Whether a condition is true or false for every row, as far as that is plain to see.
//!
//! A column may hold anything; where NULL alone would make another answer, the condition counts as the answer that all
//! other values give.

use std::collections::HashSet;

use sqlparser::ast::{BinaryOperator, CaseWhen, Expr, Function, UnaryOperator, Value};

use crate::ast::call::{arguments, called, literal};

#[recursive::recursive]
pub(super) fn truth(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Nested(inner) | Expr::IsTrue(inner) | Expr::IsNotFalse(inner) => truth(inner),
        Expr::UnaryOp { op: UnaryOperator::Not, expr: inner } | Expr::IsFalse(inner) | Expr::IsNotTrue(inner) => {
            truth(inner).map(|truth| !truth)
        }
        Expr::Value(value) => match value.value {
            Value::Boolean(truth) => Some(truth),
            _ => None,
        },
        Expr::BinaryOp { op: BinaryOperator::Or, .. } => any(&arms(expr)),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => match (truth(left), truth(right)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        Expr::BinaryOp { left, op, right } => compared(left, op, right),
        Expr::IsNotDistinctFrom(left, right) => same(left, right).then_some(true),
        Expr::IsDistinctFrom(left, right) => same(left, right).then_some(false),
        Expr::Between { expr, negated, low, high } => (same(expr, low) && same(expr, high)).then_some(!negated),
        Expr::InList { expr, list, negated } => list.iter().any(|one| same(expr, one)).then_some(!negated),
        Expr::Like { negated, pattern, .. } | Expr::ILike { negated, pattern, .. } => {
            is_any(pattern).then_some(!negated)
        }
        Expr::IsNotNull(inner) => is_never_null(inner).then_some(true),
        Expr::IsNull(inner) => is_never_null(inner).then_some(false),
        Expr::Case { operand, conditions, else_result, .. } => {
            let asked = |CaseWhen { condition, result }: &CaseWhen| {
                let asked = operand.as_ref().map_or_else(|| truth(condition), |operand| equals(operand, condition));
                (asked, truth(result))
            };
            chosen(conditions.iter().map(asked), else_result.as_ref().and_then(|result| truth(result)))
        }
        Expr::Function(function) => of_call(function),
        _ => None,
    }
}

fn compared(left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<bool> {
    use BinaryOperator as B;
    match op {
        B::Eq | B::GtEq | B::LtEq if same(left, right) => Some(true),
        B::NotEq | B::Gt | B::Lt if same(left, right) => Some(false),
        _ => constants(left, op, right),
    }
}

fn equals(left: &Expr, right: &Expr) -> Option<bool> {
    compared(left, &BinaryOperator::Eq, right)
}

/// Of the first condition that holds the result; of all that may be it, if they are one.
fn chosen(cases: impl Iterator<Item = (Option<bool>, Option<bool>)>, otherwise: Option<bool>) -> Option<bool> {
    let mut possible = Vec::new();
    let mut is_certain = false;
    for (asked, result) in cases {
        match asked {
            Some(false) => continue,
            Some(true) => is_certain = true,
            None => {}
        }
        possible.push(result);
        if is_certain {
            break;
        }
    }
    if !is_certain {
        possible.push(otherwise);
    }
    let first = *possible.first()?;
    possible.iter().all(|one| *one == first).then_some(first).flatten()
}

fn of_call(function: &Function) -> Option<bool> {
    let given: Vec<&Expr> = arguments(function).collect();
    match (called(function)?.as_str(), given.as_slice()) {
        ("coalesce" | "nvl" | "ifnull", given) => truth(given.iter().find(|given| !is_null(given))?),
        ("iff" | "if", [asked, one, other]) => chosen([(truth(asked), truth(one))].into_iter(), truth(other)),
        ("nvl2", [_, one, other]) => chosen([(None, truth(one))].into_iter(), truth(other)),
        ("decode", [operand, rest @ ..]) => {
            let (pairs, otherwise) = rest.as_chunks::<2>();
            let cases = pairs.iter().map(|[asked, result]| (equals(operand, asked), truth(result)));
            chosen(cases, otherwise.first().and_then(|result| truth(result)))
        }
        ("equal_null", [left, right]) => same(left, right).then_some(true),
        ("greatest" | "boolor", given) => given.iter().any(|one| truth(one) == Some(true)).then_some(true),
        ("least" | "booland", given) => given.iter().any(|one| truth(one) == Some(false)).then_some(false),
        ("contains" | "startswith" | "endswith", [_, part]) => (literal(part) == Some("")).then_some(true),
        _ => None,
    }
}

/// What OR joins.
fn arms(expr: &Expr) -> Vec<&Expr> {
    let mut arms = Vec::new();
    let mut rest = vec![expr];
    while let Some(next) = rest.pop() {
        match next {
            Expr::Nested(inner) => rest.push(inner),
            Expr::BinaryOp { left, op: BinaryOperator::Or, right } => rest.extend([right.as_ref(), left.as_ref()]),
            arm => arms.push(arm),
        }
    }
    arms
}

fn any(arms: &[&Expr]) -> Option<bool> {
    let truths: Vec<Option<bool>> = arms.iter().map(|arm| truth(arm)).collect();
    let known: HashSet<String> = arms.iter().filter_map(|arm| words(arm)).collect();
    let is_opposed = || arms.iter().filter_map(|arm| words(&opposite(arm)?)).any(|words| known.contains(&words));
    if truths.contains(&Some(true)) || is_opposed() {
        return Some(true);
    }
    truths.iter().all(|truth| *truth == Some(false)).then_some(false)
}

/// The condition that holds where this one does not.
fn opposite(expr: &Expr) -> Option<Expr> {
    let mut turned = expr.clone();
    match &mut turned {
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => return Some(bare(expr).clone()),
        Expr::IsNull(inner) => return Some(Expr::IsNotNull(inner.clone())),
        Expr::IsNotNull(inner) => return Some(Expr::IsNull(inner.clone())),
        Expr::BinaryOp { op, .. } => *op = turned_about(op)?,
        Expr::Like { negated, .. }
        | Expr::ILike { negated, .. }
        | Expr::InList { negated, .. }
        | Expr::InSubquery { negated, .. }
        | Expr::Between { negated, .. }
        | Expr::Exists { negated, .. } => *negated = !*negated,
        _ => return None,
    }
    Some(turned)
}

fn turned_about(op: &BinaryOperator) -> Option<BinaryOperator> {
    use BinaryOperator as B;
    match op {
        B::Eq => Some(B::NotEq),
        B::NotEq => Some(B::Eq),
        B::Lt => Some(B::GtEq),
        B::GtEq => Some(B::Lt),
        B::Gt => Some(B::LtEq),
        B::LtEq => Some(B::Gt),
        _ => None,
    }
}

fn constants(left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<bool> {
    let (Expr::Value(left), Expr::Value(right)) = (left, right) else {
        return None;
    };
    if !is_constant(&left.value) || !is_constant(&right.value) {
        return None;
    }
    let (left, right) = (left.value.to_string(), right.value.to_string());
    let order = match (left.parse::<f64>(), right.parse::<f64>()) {
        (Ok(left), Ok(right)) => left.partial_cmp(&right)?,
        _ => left.cmp(&right),
    };
    match op {
        BinaryOperator::Eq => Some(order.is_eq()),
        BinaryOperator::NotEq => Some(order.is_ne()),
        BinaryOperator::Lt => Some(order.is_lt()),
        BinaryOperator::LtEq => Some(order.is_le()),
        BinaryOperator::Gt => Some(order.is_gt()),
        BinaryOperator::GtEq => Some(order.is_ge()),
        _ => None,
    }
}

fn is_constant(value: &Value) -> bool {
    matches!(value, Value::Number(..) | Value::SingleQuotedString(_) | Value::Boolean(_))
}

fn is_null(expr: &Expr) -> bool {
    matches!(bare(expr), Expr::Value(value) if matches!(value.value, Value::Null))
}

fn is_never_null(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::Value(value) => is_constant(&value.value),
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::Exists { .. } => true,
        _ => false,
    }
}

fn is_any(pattern: &Expr) -> bool {
    literal(pattern).is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte == b'%'))
}

fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

/// The same words; spans do not count.
fn same(one: &Expr, other: &Expr) -> bool {
    let (one, other) = (words(one), words(other));
    one.is_some() && one == other
}

fn words(expr: &Expr) -> Option<String> {
    crate::print::label(bare(expr)).ok().map(|text| text.to_ascii_lowercase())
}
