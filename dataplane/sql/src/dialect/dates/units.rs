//! Parts of a date, the words for each, and the units that a date is moved and cut by.

use std::sync::LazyLock;

use sqlparser::ast::Expr;

use crate::ast::error::Error;
use crate::dialect::compose;
use crate::functions::index::NameIndex;

/// Words as the warehouse spells them, and the engine's part.
pub(in crate::dialect) const PARTS: &[(&str, &[&str])] = &[
    ("year", &["year", "y", "yy", "yyy", "yyyy", "yr", "years", "yrs"]),
    ("quarter", &["quarter", "q", "qtr", "qtrs", "quarters"]),
    ("month", &["month", "mm", "mon", "mons", "months"]),
    ("week", &["week", "w", "wk", "weekofyear", "woy", "wy", "weeks"]),
    ("day", &["day", "d", "dd", "days", "dayofmonth"]),
    ("hour", &["hour", "h", "hh", "hr", "hours", "hrs"]),
    ("minute", &["minute", "m", "mi", "min", "minutes", "mins"]),
    ("second", &["second", "s", "sec", "seconds", "secs"]),
    ("millisecond", &["millisecond", "ms", "msec", "milliseconds"]),
    ("microsecond", &["microsecond", "us", "usec", "microseconds"]),
    ("nanosecond", &["nanosecond", "ns", "nsec", "nanosec", "nsecond", "nanoseconds", "nanosecs", "nseconds"]),
    ("dow", &["dayofweek", "dow", "dw", "weekday"]),
    ("isodow", &["dayofweekiso", "weekday_iso", "dow_iso", "dw_iso", "dayofweek_iso", "isodow"]),
    ("doy", &["dayofyear", "yearday", "doy", "dy"]),
    ("isoweek", &["weekiso", "week_iso", "weekofyeariso", "weekofyear_iso"]),
    ("isoyear", &["yearofweek", "yearofweekiso", "isoyear"]),
    ("epoch", &["epoch_second", "epoch", "epoch_seconds"]),
    ("epoch_ms", &["epoch_millisecond", "epoch_milliseconds"]),
    ("epoch_us", &["epoch_microsecond", "epoch_microseconds"]),
    ("epoch_ns", &["epoch_nanosecond", "epoch_nanoseconds"]),
    ("timezone_hour", &["timezone_hour", "tzh"]),
    ("timezone_minute", &["timezone_minute", "tzm"]),
];

/// Units a date can be moved or cut by, longest first; the first five keep a DATE a DATE.
const UNITS: [&str; 10] =
    ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond"];
const DAYS_OR_LONGER: usize = 5;

/// The engine's part of a word, written with or without quotes.
pub(super) fn part(expr: &Expr) -> Option<&'static str> {
    let word = match expr {
        Expr::Identifier(ident) => ident.value.as_str(),
        other => compose::literal(other)?,
    };
    part_of(word)
}

/// Whether the word names a part of a date.
pub(in crate::dialect) fn is_part(word: &str) -> bool {
    part_of(word).is_some()
}

/// The engine's part of each word.
static WORDS: LazyLock<NameIndex<&'static str>> =
    LazyLock::new(|| PARTS.iter().flat_map(|(part, words)| words.iter().map(move |word| (*word, *part))).collect());

pub(super) fn part_of(word: &str) -> Option<&'static str> {
    WORDS.get(word).copied()
}

/// The engine's unit of a word, or a refusal that names it.
pub(super) fn unit(expr: &Expr, function: &str) -> Result<&'static str, Error> {
    part(expr)
        .filter(|part| UNITS.contains(part))
        .ok_or_else(|| Error::unsupported(format!("the unit {expr} of {}", function.to_ascii_uppercase())))
}

/// Whether a DATE moved or cut by it is still one.
pub(in crate::dialect) fn keeps_date(unit: &str) -> bool {
    UNITS.iter().take(DAYS_OR_LONGER).any(|known| *known == unit)
}
