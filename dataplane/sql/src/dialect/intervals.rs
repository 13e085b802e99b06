//! Intervals: `'1 day, 1 month'` has commas in the warehouse and none in the engine; a DATE plus days
//! or longer stays a DATE, and a `TIMESTAMP_TZ` moves by the clock at its place.

use sqlparser::ast::{BinaryOperator, DataType, DateTimeField, Expr, Interval};

use super::call::take_expr;
use super::offsets::{self, LocalClock};
use super::{Context, Done, compose, dates};
use crate::ast::error::Error;
use crate::functions::types::Type;

/// Words of an interval's text, abbreviations included.
const UNITS: [(&str, &[&str]); 9] = [
    ("year", &["year", "years", "y", "yy", "yyy", "yyyy", "yr", "yrs"]),
    ("quarter", &["quarter", "quarters", "q", "qtr", "qtrs"]),
    ("month", &["month", "months", "mm", "mon", "mons"]),
    ("week", &["week", "weeks", "w", "wk", "weekofyear", "woy", "wy"]),
    ("day", &["day", "days", "d", "dd"]),
    ("hour", &["hour", "hours", "h", "hh", "hr", "hrs"]),
    ("minute", &["minute", "minutes", "m", "mi", "min", "mins"]),
    ("second", &["second", "seconds", "s", "sec", "secs"]),
    ("millisecond", &["millisecond", "milliseconds", "ms", "msec"]),
];

/// Interval literals, and dates they are added to.
pub(super) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<Done, Error> {
    match expr {
        Expr::Interval(Interval { value, leading_field: None, .. }) => {
            if let Some(written) = compose::literal(value).filter(|written| written.contains(',')) {
                **value = compose::text(spelled(written)?);
            }
        }
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right }
            if context.operands(left, right).0 == Type::Date && keeps_date(right) =>
        {
            *expr = compose::cast(take_expr(expr), DataType::Date);
        }
        Expr::BinaryOp { left, op: op @ (BinaryOperator::Plus | BinaryOperator::Minus), right }
            if context.operands(left, right).1 == Type::Interval =>
        {
            let Some(LocalClock { time, ahead }) = offsets::local(left, context) else { return Ok(Done::No) };
            let moved = compose::binary(time, op.clone(), take_expr(right));
            *expr = offsets::at_place(moved, ahead, context)?;
        }
        _ => return Ok(Done::No),
    }
    Ok(Done::Yes)
}

/// `1 day, 2 mm` as the engine reads it: `1 day 2 month`.
fn spelled(written: &str) -> Result<String, Error> {
    let mut parts = Vec::new();
    for part in written.split(',') {
        let mut words = part.split_whitespace();
        let wrong = || Error::unsupported(format!("the interval {written}"));
        let number = words.next().filter(|number| number.parse::<f64>().is_ok()).ok_or_else(wrong)?;
        // a number alone is seconds
        let unit = words.next().map_or(Some("second"), unit).ok_or_else(wrong)?;
        if words.next().is_some() {
            return Err(wrong());
        }
        parts.push(format!("{number} {unit}"));
    }
    Ok(parts.join(" "))
}

fn unit(word: &str) -> Option<&'static str> {
    let has_word = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(word));
    UNITS.iter().find(|(_, words)| has_word(words)).map(|(unit, _)| *unit)
}

/// Whether it is an interval literal whose every unit is a day or longer.
pub(super) fn keeps_date(expr: &Expr) -> bool {
    let Expr::Interval(Interval { value, leading_field, .. }) = expr else {
        return false;
    };
    if let Some(field) = leading_field {
        return matches!(
            field,
            DateTimeField::Year
                | DateTimeField::Years
                | DateTimeField::Quarter
                | DateTimeField::Month
                | DateTimeField::Months
                | DateTimeField::Week(None)
                | DateTimeField::Weeks
                | DateTimeField::Day
                | DateTimeField::Days
        );
    }
    let words = compose::literal(value)
        .map(|written| written.split_whitespace().filter(|word| word.starts_with(char::is_alphabetic)));
    words.is_some_and(|words| words.map(unit).all(|unit| unit.is_some_and(dates::keeps_date)) && has_unit(value))
}

fn has_unit(value: &Expr) -> bool {
    compose::literal(value).is_some_and(|written| written.contains(char::is_alphabetic))
}
