//! `[1, 2]` and `{'a': 1}`: the warehouse's constants, which are calls of `ARRAY_CONSTRUCT` and `OBJECT_CONSTRUCT`.
//!
//! Where the place itself wants a list or a structure of the engine (a cast to `INT[]`, `ANY (…)`, `unnest`), the
//! constant is one. `ARRAY[…]` is PostgreSQL's array everywhere. `1.5e3` is exact in both, so its digits are written out;
//! the engine would take it for floating point.

use sqlparser::ast::{Array, ArrayElemTypeDef, DataType, DictionaryField, Expr, Function, Ident, Value};

use crate::ast::any_expression;
use crate::ast::call::call;
use crate::ast::names::{self, ours};
use crate::functions::catalogue;

/// How the names of functions begin that take lists and structures of the engine.
const OF_LISTS: [&str; 5] = ["list_", "map", "struct_", "unnest", "vector_"];

/// Whether a constant stands in it, which will not be called as it is spelled.
pub(super) fn holds(expr: &Expr) -> bool {
    any_expression(expr, |expr| match expr {
        Expr::Array(Array { named, .. }) => !named,
        Expr::Dictionary(_) => true,
        Expr::Value(value) => exact(&value.value).is_some(),
        _ => false,
    })
}

/// The constants of one statement, by the places that they stand in.
#[derive(Debug, Default)]
pub(super) struct Literals {
    /// Whether a constant below each expression around is the engine's own.
    kept: Vec<bool>,
}

impl Literals {
    /// An expression before what it holds.
    pub(super) fn begin(&mut self, expr: &mut Expr) {
        let is_kept = self.kept.last().copied().unwrap_or_default();
        let keeps = match expr {
            Expr::Nested(_) | Expr::Dictionary(_) => is_kept,
            Expr::Array(array) => is_kept || array.named,
            Expr::Cast { data_type, .. } => is_of_engine(data_type),
            Expr::AnyOp { .. } | Expr::AllOp { .. } => true,
            Expr::Function(function) => takes_lists(function),
            _ => false,
        };
        self.kept.push(keeps);
        if keeps {
            return;
        }
        match expr {
            Expr::Array(Array { elem, .. }) => *expr = array(std::mem::take(elem)),
            Expr::Dictionary(fields) => {
                let member = |field: DictionaryField| {
                    [Expr::value(Value::SingleQuotedString(field.key.value)), listed(*field.value)]
                };
                *expr = call("object_construct", std::mem::take(fields).into_iter().flat_map(member));
            }
            _ => {}
        }
    }

    /// The end of an expression.
    pub(super) fn end(&mut self) {
        self.kept.pop();
    }
}

fn array(items: Vec<Expr>) -> Expr {
    call("array_construct", items.into_iter().map(listed))
}

/// A row without names is the list of its values.
fn listed(item: Expr) -> Expr {
    match item {
        Expr::Tuple(values) => array(values),
        other => other,
    }
}

/// Digits of a number that leaves room for those of what it meets.
const DIGITS_MAX: usize = 28;

/// The digits of a number with an exponent, where it has no more than an exact number may have. A zero stays of floating
/// point, which has two of them.
pub(super) fn exact(value: &Value) -> Option<String> {
    let Value::Number(written, _) = value else { return None };
    let (mantissa, exponent) = written.split_once(['e', 'E'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let is_plain = digits.bytes().all(|digit| digit.is_ascii_digit()) && digits.bytes().any(|digit| digit != b'0');
    let point = i64::try_from(whole.len()).ok()?.checked_add(exponent.parse().ok()?)?;
    let zeros =
        |count: i64| usize::try_from(count).ok().filter(|count| *count <= DIGITS_MAX).map(|count| "0".repeat(count));
    let length = i64::try_from(digits.len()).ok()?;
    let found = if point <= 0 {
        format!("0.{}{digits}", zeros(-point)?)
    } else if point >= length {
        format!("{digits}{}", zeros(point - length)?)
    } else {
        let (before, behind) = digits.split_at_checked(usize::try_from(point).ok()?)?;
        format!("{before}.{behind}")
    };
    (is_plain && found.len() <= DIGITS_MAX + 1).then_some(found)
}

/// A list or a structure of the engine, which says what its items are.
fn is_of_engine(data_type: &DataType) -> bool {
    match data_type {
        DataType::Array(ArrayElemTypeDef::SquareBracket(..) | ArrayElemTypeDef::Qualified(..))
        | DataType::Struct(..)
        | DataType::Map(..) => true,
        DataType::Custom(name, _) => {
            let name = name.to_string();
            ["VECTOR", "MAP", "STRUCT"].iter().any(|known| name.eq_ignore_ascii_case(known))
        }
        _ => false,
    }
}

fn takes_lists(function: &Function) -> bool {
    names::last(&function.name).is_some_and(|Ident { value, .. }| {
        OF_LISTS.iter().any(|begin| ours::begins(value, begin)) || catalogue::compares_meaning(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_with_an_exponent_keeps_its_digits_as_far_as_it_is_exact() {
        let cases = [
            ("1e2", Some("100")),
            ("1.0e27", Some("1000000000000000000000000000")),
            ("12.345E1", Some("123.45")),
            ("2.5e-3", Some("0.0025")),
            (".5e1", Some("5")),
            ("1e+2", Some("100")),
            ("0e0", None),
            ("-0.0e5", None),
            ("1e29", None),
            ("1e-40", None),
            ("1e400", None),
            ("1e99999999999999999999", None),
            ("15", None),
        ];
        for (written, digits) in cases {
            let found = exact(&Value::Number(written.to_owned(), false));
            assert_eq!(found.as_deref(), digits, "{written}");
        }
    }
}
