//! Whether an expression can fail on a value.

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, Interval, TimezoneInfo, UnaryOperator, Value, WindowFrameBound,
    WindowFrameUnits, WindowSpec, WindowType,
};

use super::error_channel::ErrorClass;
use super::numeric_range::{self, ValueType};
use crate::ast::call::{given, listed, sole_argument};
use crate::ast::expression::is_null;
use crate::ast::names;
use crate::bind::types::width::{NumberWidth, both_fit, stays_in_range, width_of};
use crate::bind::types::{self, ColumnTypes};
use crate::dialect;
use crate::functions::catalogue::{self, Class, SafeWhen};
use crate::functions::types::Type;

/// Whether an expression can raise an error that depends on the values it meets. Comparing two families of types casts
/// one to the other, which can. What stands in it is asked about by itself; what is not listed here can.
pub(in crate::govern) fn throws(expr: &Expr, columns: &dyn ColumnTypes) -> bool {
    if is_certain(expr) {
        return false;
    }
    match expr {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Value(_)
        | Expr::Wildcard(_)
        | Expr::QualifiedWildcard(..)
        | Expr::Nested(_)
        | Expr::Collate { .. }
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::Exists { .. }
        | Expr::Tuple(_)
        | Expr::Struct { .. }
        | Expr::Dictionary(_)
        | Expr::Named { .. }
        | Expr::Lambda(_)
        | Expr::GroupingSets(_)
        | Expr::Cube(_)
        | Expr::Rollup(_)
        | Expr::Trim { .. }
        | Expr::Position { .. }
        // told when the subquery has been walked
        | Expr::InSubquery { .. }
        | Expr::Subquery(_) => false,
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, .. } => true,
        Expr::Cast { data_type, .. } => !tries(data_type),
        Expr::Function(function) => calls_what_throws(function, columns),
        Expr::BinaryOp { left, op, right } => throws_between(left, op, right, columns),
        Expr::UnaryOp { op: UnaryOperator::Not, expr }
        | Expr::IsTrue(expr)
        | Expr::IsNotTrue(expr)
        | Expr::IsFalse(expr)
        | Expr::IsNotFalse(expr)
        | Expr::IsUnknown(expr)
        | Expr::IsNotUnknown(expr) => !is_boolean(expr, columns),
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => !same_family(left, right, columns),
        // all of them become values of one type
        Expr::InList { expr, list, .. } => !are_of_one_family(list.iter().chain([expr.as_ref()]), columns),
        Expr::Between { expr, low, high, .. } => {
            !are_of_one_family([expr, low, high].into_iter().map(AsRef::as_ref), columns)
        }
        Expr::Like { any, pattern, escape_char, .. } => {
            *any || escape_char.as_ref().is_some_and(|escape| !is_pattern(pattern, escape))
        }
        Expr::ILike { any, pattern, escape_char: Some(escape), .. } => *any || !is_pattern(pattern, escape),
        Expr::ILike { any, pattern, escape_char: None, .. } => *any || !is_pattern_without_case(pattern),
        Expr::Case { operand, conditions, else_result, .. } => {
            let mut asked = conditions.iter().map(|when| &when.condition);
            let is_asked_wrong = match operand.as_deref() {
                Some(operand) => !are_of_one_family(asked.chain([operand]), columns),
                None => asked.any(|condition| !is_boolean(condition, columns)),
            };
            let results = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
            is_asked_wrong || !are_of_one_family(results, columns)
        }
        Expr::Array(array) => !are_of_one_family(array.elem.iter(), columns),
        Expr::Interval(interval) => !is_span(interval),
        Expr::Extract { field, expr, .. } => !has_part(types::type_of(expr, columns), &field.to_string()),
        Expr::Floor { expr, .. } | Expr::Ceil { expr, .. } => !types::type_of(expr, columns).is_number(),
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            let is_short = |number: &Option<Box<Expr>>| number.as_deref().is_none_or(is_short_number);
            types::type_of(expr, columns) != Type::Text || !is_short(substring_from) || !is_short(substring_for)
        }
        _ => true,
    }
}

/// How an expression fails that can.
pub(in crate::govern) fn way(expr: &Expr) -> ErrorClass {
    match expr {
        Expr::Cast { data_type, .. } if tries(data_type) => ErrorClass::Cast,
        _ => ErrorClass::Other,
    }
}

fn calls_what_throws(function: &Function, columns: &dyn ColumnTypes) -> bool {
    let known = names::last(&function.name).and_then(|name| catalogue::find(&name.value));
    let is_safe = known.is_some_and(|known| known.class == Class::Safe || is_safe_here(known, function, columns));
    let reads_literal = has_text(function) && !known.is_some_and(catalogue::Function::takes_text);
    let is_filtered = function.filter.as_deref().is_some_and(|filter| !is_boolean(filter, columns));
    let is_framed = matches!(&function.over, Some(WindowType::WindowSpec(over)) if is_framed_by_value(over));
    is_filtered || reads_literal || is_framed || !is_safe
}

/// Whether a call that can fail cannot, of what it is given.
fn is_safe_here(known: &catalogue::Function, function: &Function, columns: &dyn ColumnTypes) -> bool {
    let Some(argument) = sole_argument(function) else { return false };
    match known.safe_when {
        Some(SafeWhen::Days) => is_of_days(types::type_of(argument, columns)),
        // max(x, n): the n largest, of which there must be one at least
        Some(SafeWhen::Alone) => true,
        Some(SafeWhen::Sums) => width_of(argument, columns).is_some_and(NumberWidth::adds_up),
        None => false,
    }
}

/// Whether an end of a window is told by a value, which may be none that a row is before or behind by, or lead beyond
/// what the values that order it can be.
pub(in crate::govern) fn is_framed_by_value(spec: &WindowSpec) -> bool {
    use WindowFrameBound as B;
    let Some(frame) = &spec.window_frame else { return false };
    let counts = |by: &Expr| frame.units != WindowFrameUnits::Range && is_short_number(by);
    let is_value = |bound: &B| match bound {
        B::CurrentRow | B::Preceding(None) | B::Following(None) => false,
        B::Preceding(Some(by)) | B::Following(Some(by)) => !counts(by),
    };
    is_value(&frame.start_bound) || frame.end_bound.as_ref().is_some_and(is_value)
}

/// Whether values of this may add up beyond what a sum is kept in, of 38 digits: a million of the largest ones.
pub(super) fn is_wide(number: &Expr, columns: &dyn ColumnTypes) -> bool {
    const DIGITS_MAX: u16 = 32;
    width_of(number, columns).is_none_or(|width| width.digits() > DIGITS_MAX)
}

/// Whether a literal of text stands among its arguments: where the function takes none, it is read for each row.
fn has_text(function: &Function) -> bool {
    let is_text =
        |expr: &Expr| matches!(expr, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)));
    listed(function).iter().any(|argument| given(argument).is_some_and(is_text))
}

fn is_of_days(kind: Type) -> bool {
    matches!(kind, Type::Date | Type::Timestamp | Type::TimestampTz)
}

/// Whether a value of this type has such a part: one that it has not is an error as soon as there is a value.
fn has_part(kind: Type, part: &str) -> bool {
    const OF_TIMES: [&str; 4] = ["epoch", "hour", "minute", "second"];
    const OF_DAYS: [&str; 11] =
        ["day", "dayofweek", "dayofyear", "dow", "doy", "isodow", "isoyear", "month", "quarter", "week", "year"];
    let is_one_of = |parts: &[&str]| parts.iter().any(|known| part.eq_ignore_ascii_case(known));
    match kind {
        kind if is_of_days(kind) => is_one_of(&OF_TIMES) || is_one_of(&OF_DAYS),
        Type::Time | Type::Interval => is_one_of(&OF_TIMES),
        _ => false,
    }
}

/// Anything else is read as a boolean where one is asked for.
pub(in crate::govern) fn is_boolean(expr: &Expr, columns: &dyn ColumnTypes) -> bool {
    types::type_of(expr, columns) == Type::Boolean
}

/// Values that stand for one another are cast to one type. A NULL is of every type.
fn are_of_one_family<'a>(values: impl Iterator<Item = &'a Expr>, columns: &dyn ColumnTypes) -> bool {
    numeric_range::all_compare(values.filter(|value| !is_null(value)).map(|value| shape(value, columns)))
}

/// Types to which a cast that only tries never fails; to others it may, by an error of another class.
fn tries(data_type: &DataType) -> bool {
    match data_type {
        DataType::Timestamp(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
        | DataType::TimestampNtz(digits)
        | DataType::Datetime(digits) => digits.is_none_or(|digits| digits <= 6),
        other => matches!(
            Type::of_declared(other),
            Type::Boolean | Type::Integer | Type::Decimal | Type::Double | Type::Text | Type::Date
        ),
    }
}

/// Beside a text that is not of ASCII alone the engine looks for a sign before what is meant as it stands though none is
/// given: the character of code 0.
fn is_pattern_without_case(pattern: &Expr) -> bool {
    matches!(pattern, Expr::Value(value)
        if matches!(&value.value, Value::SingleQuotedString(text) if !text.contains('\0')))
}

/// Text that the engine takes as a pattern with this sign before what is meant as it stands.
pub(in crate::govern) fn is_pattern(pattern: &Expr, escape: &Expr) -> bool {
    let text = |expr: &Expr| match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    let (Some(pattern), Some(escape)) = (text(pattern), text(escape)) else { return false };
    // the engine counts bytes, and lowers the letters of a pattern without case but not the sign
    let &[sign] = escape.as_bytes() else { return escape.is_empty() && !pattern.contains('\0') };
    let sign = char::from(sign);
    if !sign.is_ascii() || sign.is_ascii_alphabetic() {
        return false;
    }
    let mut left = pattern.chars();
    while let Some(letter) = left.next() {
        if letter == sign && left.next().is_none() {
            return false;
        }
    }
    true
}

/// `'3' DAY`, or `'3 days'` where the unit stands in the text alone.
fn is_span(interval: &Interval) -> bool {
    const UNITS: [&str; 8] = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"];
    let is_unit = |unit: &str| {
        let unit = unit.to_ascii_lowercase();
        UNITS.contains(&unit.strip_suffix('s').unwrap_or(&unit))
    };
    let is_counted = |text: &str| {
        let (count, unit) = text.split_once(' ').unwrap_or((text, "day"));
        is_short(count) && count.starts_with(|first: char| first.is_ascii_digit()) && is_unit(unit.trim())
    };
    let Interval {
        value,
        leading_field,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    } = interval
    else {
        return false;
    };
    match leading_field {
        Some(field) => is_short_number(value) && is_unit(&field.to_string()),
        None => match value.as_ref() {
            Expr::Value(value) => match &value.value {
                Value::Number(text, _) => is_short(text),
                Value::SingleQuotedString(text) => is_counted(text),
                _ => false,
            },
            _ => false,
        },
    }
}

fn has_double(left: &Expr, right: &Expr, columns: &dyn ColumnTypes) -> bool {
    let (left, right) = (types::type_of(left, columns), types::type_of(right, columns));
    left.is_number() && right.is_number() && (left == Type::Double || right == Type::Double)
}

/// The type it has in the engine's text, where a day plus a span of days stays a day.
fn kind(expr: &Expr, columns: &dyn ColumnTypes) -> Type {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right }
            if dialect::is_of_days(right) && types::type_of(left, columns) == Type::Date =>
        {
            Type::Date
        }
        _ => types::type_of(expr, columns),
    }
}

pub(in crate::govern) fn shape(expr: &Expr, columns: &dyn ColumnTypes) -> ValueType {
    ValueType::of(expr, kind(expr, columns), columns)
}

/// A day that there is, a number with its sign, and sums of such that stay in their range: constants that do not fail.
pub(super) fn is_certain(expr: &Expr) -> bool {
    match expr {
        Expr::TypedString(typed) => {
            typed.data_type == DataType::Date
                && matches!(&typed.value.value, Value::SingleQuotedString(text) if is_day(text))
        }
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => is_short_number(expr),
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right } => {
            let is_span = matches!(right.as_ref(), Expr::Interval(interval) if is_span(interval));
            is_short_number(left) && is_short_number(right)
                || is_span && matches!(left.as_ref(), Expr::TypedString(_)) && is_certain(left)
        }
        _ => false,
    }
}

/// `1995-01-31`: a day of the years 1 to 9999.
pub(in crate::govern) fn is_day(text: &str) -> bool {
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
            Value::Number(text, _) | Value::SingleQuotedString(text) => is_short(text),
            _ => false,
        },
        _ => false,
    }
}

fn is_short(text: &str) -> bool {
    (1..=4).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().filter(|byte| *byte == b'.').count() <= 1
}

fn throws_between(left: &Expr, op: &BinaryOperator, right: &Expr, columns: &dyn ColumnTypes) -> bool {
    use BinaryOperator as B;
    match op {
        B::And | B::Or => !is_boolean(left, columns) || !is_boolean(right, columns),
        // a list is joined to what becomes a list of its kind
        B::StringConcat => {
            let joined = [left, right].map(|side| types::type_of(side, columns));
            joined.iter().any(|kind| matches!(kind, Type::Unknown | Type::List | Type::Blob | Type::Struct | Type::Map))
                && !is_null(left)
                && !is_null(right)
        }
        // beyond its range a DOUBLE is infinite
        B::Plus | B::Minus | B::Multiply if has_double(left, right, columns) => false,
        B::Plus | B::Minus | B::Multiply => !stays_in_range(left, op, right, columns),
        // with a subquery: told when it has been walked
        B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq if matches!(right, Expr::Subquery(_)) => false,
        B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq => !same_family(left, right, columns),
        _ => true,
    }
}

fn same_family(left: &Expr, right: &Expr, columns: &dyn ColumnTypes) -> bool {
    shape(left, columns).compares(&shape(right, columns)) || both_fit(width_of(left, columns), width_of(right, columns))
}
