//! Expressions that fail, for some kinds of argument, by an error that the engine's TRY lets through.
//!
//! Such are parts of a moment that its kind has not ("not implemented"), and a pattern that ends in its sign (a syntax
//! error). A call that fails so on values of every kind is in no filter at all (`filter/uncaught.rs`).

use sqlparser::ast::Expr;

use crate::ast::any_expression;
use crate::ast::call::{arguments, called, literal};
use crate::bind::types::{ColumnTypes, type_of};
use crate::functions::catalogue::{self, TryCatches};
use crate::functions::types::Type;
use crate::govern::leaks::leakproof::is_pattern;

/// Whether a part of a filter holds one, or what may be one.
pub(super) fn fails_untried(filter: &Expr, columns: &dyn ColumnTypes) -> bool {
    any_expression(filter, |expr| may_fail(expr, columns))
}

fn may_fail(expr: &Expr, columns: &dyn ColumnTypes) -> bool {
    let kind = |moment: &Expr| type_of(moment, columns);
    let is_zoned = |moment: &Expr| matches!(kind(moment), Type::Timestamp | Type::TimestampTz);
    match expr {
        Expr::Extract { field, expr: moment, .. } => !has(kind(moment), &field.to_string()),
        Expr::Like { pattern, escape_char: Some(escape), .. }
        | Expr::ILike { pattern, escape_char: Some(escape), .. } => !is_pattern(pattern, escape),
        Expr::Function(function) => {
            let tried = called(function).and_then(|name| catalogue::find(&name)?.tried);
            match (tried, arguments(function).collect::<Vec<_>>().as_slice()) {
                (Some(TryCatches::Days), [moment]) => !is_of_days(kind(moment)),
                (Some(TryCatches::Zoned), [moment]) => !is_zoned(moment),
                (Some(TryCatches::Part), [part, moments @ ..]) => {
                    !literal(part).is_some_and(|part| moments.iter().all(|moment| has(kind(moment), part)))
                }
                _ => false,
            }
        }
        _ => false,
    }
}

fn is_of_days(kind: Type) -> bool {
    matches!(kind, Type::Date | Type::Timestamp | Type::TimestampTz)
}

/// Whether every value of this kind has such a part.
fn has(kind: Type, part: &str) -> bool {
    const OF_TIMES: [&str; 6] = ["epoch", "hour", "microsecond", "millisecond", "minute", "second"];
    const OF_DAYS: [&str; 11] = [
        "dayofweek",
        "dayofyear",
        "dow",
        "doy",
        "era",
        "isodow",
        "isoyear",
        "week",
        "weekday",
        "weekofyear",
        "yearweek",
    ];
    const OF_SPANS: [&str; 7] = ["century", "day", "decade", "millennium", "month", "quarter", "year"];
    let is_one_of = |parts: &[&str]| parts.iter().any(|known| part.eq_ignore_ascii_case(known));
    match kind {
        kind if is_of_days(kind) => is_one_of(&OF_TIMES) || is_one_of(&OF_SPANS) || is_one_of(&OF_DAYS),
        Type::Interval => is_one_of(&OF_TIMES) || is_one_of(&OF_SPANS),
        Type::Time => is_one_of(&OF_TIMES),
        _ => false,
    }
}
