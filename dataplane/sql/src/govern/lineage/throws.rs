//! Whether an expression can fail on a value.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, GroupByExpr, Query, SelectItem, SetExpr, UnaryOperator, Value,
    visit_expressions,
};

use crate::dialect;
use crate::functions::{self, Class};
use crate::names;
use crate::types::{self, Columns, Type, sole_argument};

/// Whether an expression can raise an error that depends on the values it meets. Comparing two
/// families of types casts one to the other, which can.
pub(super) fn throws(expr: &Expr, columns: &dyn Columns) -> bool {
    if is_certain(expr) {
        return false;
    }
    match expr {
        Expr::Cast { kind, .. } => matches!(kind, CastKind::Cast | CastKind::DoubleColon),
        Expr::Function(function) => {
            let name = names::last(&function.name).map_or("", |ident| ident.value.as_str());
            let reads_text = dialect::reads_moment(name)
                && sole_argument(function).is_none_or(|moment| !types::type_of(moment, columns).is_moment());
            let of_numbers = || sole_argument(function).is_some_and(|one| types::type_of(one, columns).is_number());
            let averages = name.eq_ignore_ascii_case("avg") && of_numbers();
            reads_text || !averages && functions::class(name) != Some(Class::Safe)
        }
        Expr::BinaryOp { left, op, right } => throws_between(left, op, right, columns),
        Expr::InList { expr, list, .. } => list.iter().any(|item| !same_family(expr, item, columns)),
        Expr::Between { expr, low, high, .. } => !same_family(expr, low, columns) || !same_family(expr, high, columns),
        Expr::UnaryOp { op, .. } => *op != UnaryOperator::Not,
        Expr::TypedString(_)
        | Expr::AtTimeZone { .. }
        | Expr::CompoundFieldAccess { .. }
        | Expr::JsonAccess { .. }
        | Expr::SimilarTo { .. }
        | Expr::RLike { .. }
        | Expr::AnyOp { .. }
        | Expr::AllOp { .. } => true,
        Expr::Extract { expr, .. } => !types::type_of(expr, columns).is_moment(),
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            let is_short = |number: &Option<Box<Expr>>| number.as_deref().is_none_or(is_short_number);
            types::type_of(expr, columns) != Type::Text || !is_short(substring_from) || !is_short(substring_for)
        }
        Expr::Subquery(query) => !has_one_row(query),
        _ => false,
    }
}

fn has_double(left: &Expr, right: &Expr, columns: &dyn Columns) -> bool {
    let (left, right) = (types::type_of(left, columns), types::type_of(right, columns));
    left.is_number() && right.is_number() && (left == Type::Double || right == Type::Double)
}

/// The type it has in the engine's text, where a day plus a span of days stays a day.
fn kind(expr: &Expr, columns: &dyn Columns) -> Type {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right }
            if dialect::is_of_days(right) && types::type_of(left, columns) == Type::Date =>
        {
            Type::Date
        }
        _ => types::type_of(expr, columns),
    }
}

/// Whether two things are compared as they are.
pub(super) fn compares(left: Type, right: Type) -> bool {
    left != Type::Unknown && (left == right || left.is_number() && right.is_number())
}

/// A day that there is, a number with its sign, and sums of such that stay in their range: constants that do not fail.
fn is_certain(expr: &Expr) -> bool {
    match expr {
        Expr::TypedString(typed) => {
            typed.data_type == DataType::Date
                && matches!(&typed.value.value, Value::SingleQuotedString(text) if is_day(text))
        }
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => is_short_number(expr),
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right } => {
            let is_span = matches!(right.as_ref(), Expr::Interval(interval) if is_short_number(&interval.value));
            is_short_number(left) && is_short_number(right)
                || is_span && matches!(left.as_ref(), Expr::TypedString(_)) && is_certain(left)
        }
        _ => false,
    }
}

/// `1995-01-31`: a day of the years 1 to 9999.
fn is_day(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut next = |digits: usize| {
        let part = parts.next().filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()));
        part.and_then(|part| part.parse::<u16>().ok()).unwrap_or_default()
    };
    let (year, month, day) = (next(4), next(2), next(2));
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    year > 0 && (1..=days).contains(&day) && parts.next().is_none()
}

/// A literal of few digits: sums of two of them are far from any type's end.
fn is_short_number(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) | Value::SingleQuotedString(text) => {
                (1..=4).contains(&text.len())
                    && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
                    && text.bytes().any(|byte| byte.is_ascii_digit())
            }
            _ => false,
        },
        _ => false,
    }
}

/// One value of all rows, whatever there are; another subquery may have more rows than an expression takes.
fn has_one_row(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let GroupByExpr::Expressions(grouped, modifiers) = &select.group_by else { return false };
    let [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] = select.projection.as_slice()
    else {
        return false;
    };
    let is_aggregated = visit_expressions(item, |expr| match expr {
        Expr::Function(function) if function.over.is_none() && is_aggregate(function) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    grouped.is_empty() && modifiers.is_empty() && is_aggregated.is_break()
}

fn is_aggregate(function: &Function) -> bool {
    names::last(&function.name).is_some_and(|ident| functions::is_aggregate(&ident.value))
}

fn throws_between(left: &Expr, op: &BinaryOperator, right: &Expr, columns: &dyn Columns) -> bool {
    use BinaryOperator as B;
    match op {
        B::And | B::Or | B::StringConcat => false,
        // beyond its range a DOUBLE is infinite
        B::Plus | B::Minus | B::Multiply if has_double(left, right, columns) => false,
        // with a subquery: told when it has been walked
        B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq if matches!(right, Expr::Subquery(_)) => false,
        B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq => !same_family(left, right, columns),
        _ => true,
    }
}

fn same_family(left: &Expr, right: &Expr, columns: &dyn Columns) -> bool {
    compares(kind(left, columns), kind(right, columns))
}
