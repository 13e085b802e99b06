//! The range of a value beyond the family of its type: whether comparing it with another can fail.
//!
//! Numbers of two widths are compared as one that holds both. A DECIMAL has 38 digits: if both need more, a value is
//! cast to a type that may not hold it, and which value that was is told by the error.

use sqlparser::ast::{Expr, UnaryOperator, Value};

use super::leakproof::is_certain;
use crate::ast::call::sole_argument;
use crate::ast::expression::is_null;
use crate::ast::names;
use crate::bind::types::width::{NumberWidth, width_of};
use crate::bind::types::{ColumnTypes, type_of};
use crate::functions::types::Type;
use crate::functions::types::exact::{DIGITS_MAX, Exact};

/// The family of a value, and what is known beyond.
#[derive(Debug, Clone)]
pub(in crate::govern) struct ValueType {
    pub kind: Type,
    pub exact: Option<Exact>,
}

impl ValueType {
    pub(in crate::govern) fn of(expr: &Expr, kind: Type, columns: &dyn ColumnTypes) -> Self {
        Self { kind, exact: held_by(expr, columns) }
    }

    /// Whether the two are compared without either becoming something that it may not fit.
    pub(in crate::govern) fn compares(&self, other: &Self) -> bool {
        if self.kind.is_number() && other.kind.is_number() {
            return self.fits_with(other);
        }
        let is_usual =
            |exact: &Option<Exact>| !matches!(exact, Some(Exact::Declared(name)) if name.starts_with("TIMESTAMP_"));
        let is_alike = is_usual(&self.exact) && is_usual(&other.exact) || self.exact == other.exact;
        let is_whole = !matches!(self.kind, Type::List | Type::Struct | Type::Map)
            || self.exact.is_some() && self.exact == other.exact;
        self.kind != Type::Unknown && self.kind == other.kind && is_alike && is_whole
    }

    /// Of two that compare, what holds both.
    fn holding(self, other: Self) -> Self {
        if !self.kind.is_number() {
            return self;
        }
        let exact = match (self.exact, other.exact) {
            (Some(Exact::Number { whole, scale }), Some(Exact::Number { whole: other, scale: behind })) => {
                Some(Exact::Number { whole: whole.max(other), scale: scale.max(behind) })
            }
            _ => None,
        };
        Self { kind: if self.kind == other.kind { self.kind } else { Type::Decimal }, exact }
    }

    fn fits_with(&self, other: &Self) -> bool {
        let is_odd = |one: &Self| matches!(one.exact, Some(Exact::Declared(_))) && one.kind != Type::Double;
        if is_odd(self) || is_odd(other) {
            return false;
        }
        if self.kind == Type::Double
            || other.kind == Type::Double
            || self.kind == other.kind && self.kind == Type::Integer
        {
            return true;
        }
        match (&self.exact, &other.exact) {
            (Some(Exact::Number { whole, scale }), Some(Exact::Number { whole: other, scale: behind })) => {
                whole.max(other) + scale.max(behind) <= DIGITS_MAX
            }
            _ => false,
        }
    }
}

/// Whether each of them compares with each other. One that holds all so far stands for them, and one for all DOUBLEs,
/// which would compare with what the others do not.
pub(super) fn all_compare(shapes: impl Iterator<Item = ValueType>) -> bool {
    let (mut double, mut widest): (Option<ValueType>, Option<ValueType>) = (None, None);
    for shape in shapes {
        if [&double, &widest].into_iter().flatten().any(|known| !known.compares(&shape)) {
            return false;
        }
        if shape.kind == Type::Double {
            double = Some(shape);
        } else {
            widest = Some(match widest {
                None => shape,
                Some(known) => known.holding(shape),
            });
        }
    }
    true
}

/// A type that holds all that an expression's type does; of what is calculated it may hold more.
fn held_by(expr: &Expr, columns: &dyn ColumnTypes) -> Option<Exact> {
    exact(expr, columns).or_else(|| width_of(expr, columns).map(NumberWidth::exact))
}

/// What is known of an expression's type beyond the family.
#[recursive::recursive]
pub(in crate::govern) fn exact(expr: &Expr, columns: &dyn ColumnTypes) -> Option<Exact> {
    if is_certain(expr) && type_of(expr, columns).is_number() {
        return Some(Exact::Number { whole: 6, scale: 4 });
    }
    match expr {
        Expr::Identifier(ident) => columns.exact(None, &ident.value),
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [table, column] => columns.exact(Some(&table.value), &column.value),
            _ => None,
        },
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => of_literal(digits),
            _ => None,
        },
        Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr: inner } => {
            exact(inner, columns)
        }
        Expr::Cast { data_type, .. } => Some(Exact::of_name(&data_type.to_string())),
        Expr::Case { conditions, else_result, .. } => {
            let results = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
            let mut found = results.filter(|result| !is_null(result)).map(|result| exact(result, columns));
            let first = found.next()?;
            found.fold(first, |one, other| one?.wider(other?))
        }
        Expr::Function(function) => {
            let name = names::last(&function.name)?.value.to_ascii_lowercase();
            match name.as_str() {
                "count" => Some(Exact::Number { whole: 19, scale: 0 }),
                "min" | "max" | "any_value" => exact(sole_argument(function)?, columns),
                "sum" => match exact(sole_argument(function)?, columns)? {
                    Exact::Number { scale, .. } => Some(Exact::Number { whole: DIGITS_MAX.checked_sub(scale)?, scale }),
                    Exact::Declared(_) => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

fn of_literal(digits: &str) -> Option<Exact> {
    /// Of as many digits some are an INTEGER and some a BIGINT.
    const OF_EITHER: u16 = 10;
    if digits.contains(['e', 'E']) {
        return None;
    }
    let (whole, behind) = digits.split_once('.').unwrap_or((digits, ""));
    let (whole, scale) = (u16::try_from(whole.len()).ok()?, u16::try_from(behind.len()).ok()?);
    Some(Exact::Number { whole: if whole == OF_EITHER { whole + 1 } else { whole }, scale })
}
