//! How many digits an exact number has at most, where a column, a cast or a literal tells it.

use sqlparser::ast::{DataType, ExactNumberInfo, Expr, UnaryOperator, Value};

use super::{ColumnTypes, EXACT_DIGITS_MAX};
use crate::functions::types::Type;
use crate::functions::types::exact::Exact;

/// The most digits before the point and behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digits {
    pub whole: u16,
    pub scale: u16,
}

impl Digits {
    /// Of a type, as the engine prints it.
    pub(crate) fn of_name(type_name: &str) -> Option<Self> {
        if Type::of_name(type_name).is_number() { Self::of_number(type_name) } else { None }
    }

    /// The digits of a type of numbers; none of a floating-point type.
    pub(crate) fn of_number(type_name: &str) -> Option<Self> {
        match Exact::of_name(type_name) {
            Exact::Number { whole, scale } => Some(Self { whole, scale }),
            Exact::Declared(_) => None,
        }
    }

    /// Of a value that is one of both.
    pub(crate) fn of_either(self, other: Self) -> Self {
        Self { whole: self.whole.max(other.whole), scale: self.scale.max(other.scale) }
    }
}

/// The digits of an expression, which is no number of floating point then.
#[recursive::recursive]
pub(crate) fn digits_of(expr: &Expr, columns: &dyn ColumnTypes) -> Option<Digits> {
    match expr {
        Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr: inner } => {
            digits_of(inner, columns)
        }
        Expr::Identifier(name) => columns.digits(None, &name.value),
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [.., relation, name] => columns.digits(Some(&relation.value), &name.value),
            _ => None,
        },
        Expr::Value(value) => of_literal(&value.value),
        Expr::Cast { expr, data_type, .. } => {
            let typed = of_type(data_type)?;
            // what is rounded may have a digit more
            let whole = digits_of(expr, columns).map_or(typed.whole, |value| typed.whole.min(value.whole + 1));
            Some(Digits { whole, ..typed })
        }
        _ => None,
    }
}

/// Of the engine's types. `NUMERIC` alone is that of a parameter, which rounds nothing.
fn of_type(data_type: &DataType) -> Option<Digits> {
    match data_type {
        DataType::Decimal(ExactNumberInfo::PrecisionAndScale(..))
        | DataType::SmallInt(None)
        | DataType::Integer(None)
        | DataType::BigInt(None) => Digits::of_name(&data_type.to_string()),
        _ => None,
    }
}

pub(super) fn of_literal(value: &Value) -> Option<Digits> {
    let Value::Number(written, _) = value else { return None };
    let (whole, fraction) = written.split_once('.').unwrap_or((written.as_str(), ""));
    let is_plain = written.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_plain || whole.len() + fraction.len() > EXACT_DIGITS_MAX {
        return None;
    }
    Some(Digits { whole: u16::try_from(whole.len()).ok()?.max(1), scale: u16::try_from(fraction.len()).ok()? })
}
