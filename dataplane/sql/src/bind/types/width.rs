//! How many digits an exact number has at most, as a value and by the type that the engine gives it.
//!
//! The engine gives what it calculates of DECIMALs as many digits as the result may need, but no more than 18 where both
//! numbers have up to 18, and never more than 38. A value that does not fit then is an error, so one that is answered
//! fits. Whole numbers are calculated as BIGINT, unless one of them is longer.

use sqlparser::ast::{BinaryOperator, DataType, Expr, Function, UnaryOperator, Value};

use super::ColumnTypes;
use super::digits::{self, Digits};
use crate::ast::call::sole_argument;
use crate::ast::expression::is_null;
use crate::ast::names;
use crate::catalog::lower_case::lowered;
use crate::functions::types::Type;
use crate::functions::types::exact::{DIGITS_MAX, Exact};

/// The digits of a DECIMAL of 64 bits.
const SHORT_MAX: u16 = 18;
const OF_INTEGER: u16 = 10;
const OF_BIGINT: u16 = 19;
const OF_HUGEINT: u16 = 39;
/// The digits of the number of rows that there can be.
const OF_ROWS: u16 = 12;
/// So many digits have numbers whose sum has 38 at most, however many rows there are.
const SUMMED_MAX: u16 = DIGITS_MAX - OF_ROWS;

/// The most digits of an exact number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberWidth {
    /// Of a value, before the point.
    whole: u16,
    /// Behind it, of a value and of its type.
    scale: u16,
    /// Of its type, before the point and behind it.
    typed: u16,
    /// Whether its type surely has more than 18.
    is_long: bool,
    /// Whether its type is one of whole numbers, and no DECIMAL.
    is_integer: bool,
}

impl NumberWidth {
    const COUNT: Self = Self { whole: OF_BIGINT, scale: 0, typed: OF_BIGINT, is_long: true, is_integer: true };

    /// Of a type, as the engine prints it.
    pub(crate) fn of_name(type_name: &str) -> Option<Self> {
        let Digits { whole, scale } = Digits::of_name(type_name)?;
        let typed = whole.saturating_add(scale);
        let is_integer = Type::of_name(type_name) == Type::Integer;
        Some(Self { whole, scale, typed, is_long: typed > SHORT_MAX, is_integer })
    }

    /// Of a value that is one of both.
    pub(crate) fn of_either(self, other: Self) -> Self {
        let scale = self.scale.max(other.scale);
        Self {
            whole: self.whole.max(other.whole),
            scale,
            typed: self.typed_whole().max(other.typed_whole()).saturating_add(scale),
            is_long: self.is_long && other.is_long,
            is_integer: self.is_integer && other.is_integer,
        }
    }

    /// Of a value.
    pub(crate) fn digits(self) -> u16 {
        self.whole.saturating_add(self.scale)
    }

    /// Of values of the same type that have no more digits than so many before the point.
    pub(crate) fn at_most(self, whole_max: u16) -> Self {
        Self { whole: self.whole.min(whole_max), ..self }
    }

    /// Whether the sum of such values stays in its range, however many rows there are.
    pub(crate) fn adds_up(self) -> bool {
        self.digits() <= SUMMED_MAX
    }

    /// A type that holds whatever its type does.
    pub(crate) fn exact(self) -> Exact {
        Exact::Number { whole: self.typed_whole(), scale: self.scale }
    }

    fn typed_whole(self) -> u16 {
        self.typed.saturating_sub(self.scale)
    }

    /// Of the sum of any number of rows, which has all digits that there are.
    fn summed(self) -> Self {
        let typed = if self.is_integer { OF_HUGEINT } else { DIGITS_MAX };
        let whole = if self.adds_up() { self.whole + OF_ROWS } else { typed.saturating_sub(self.scale) };
        Self { whole, typed, is_long: true, ..self }
    }
}

/// The width of an expression, which is no number of floating point then.
#[recursive::recursive]
pub(crate) fn width_of(expr: &Expr, columns: &dyn ColumnTypes) -> Option<NumberWidth> {
    match expr {
        Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr: inner } => {
            width_of(inner, columns)
        }
        Expr::Identifier(name) => columns.width(None, &name.value),
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [relation, name] => columns.width(Some(&relation.value), &name.value),
            _ => None,
        },
        Expr::Value(value) => of_literal(&value.value),
        Expr::Cast { data_type, .. } => of_cast(data_type),
        Expr::BinaryOp { left, op, right } => Some(calculated(left, op, right, columns)?.width),
        Expr::Case { conditions, else_result, .. } => {
            let results = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
            let found = results.filter(|result| !is_null(result)).map(|result| width_of(result, columns));
            found.reduce(|one, other| Some(one?.of_either(other?))).flatten()
        }
        Expr::Function(function) => of_call(function, columns),
        _ => None,
    }
}

/// Whether the engine calculates this without an error, whatever the values are. Of whole numbers it is never said: in
/// which of their types they are calculated is not known.
pub(crate) fn stays_in_range(left: &Expr, op: &BinaryOperator, right: &Expr, columns: &dyn ColumnTypes) -> bool {
    calculated(left, op, right, columns).is_some_and(|Calculated { width, needed }| {
        let fits = needed <= SHORT_MAX || width.is_long && needed <= DIGITS_MAX;
        fits && !width.is_integer
    })
}

/// Whether numbers of both surely fit the type that they are compared as. It has 38 digits at most, behind the point as
/// many as the longer has, or fewer.
pub(crate) fn both_fit(one: Option<NumberWidth>, other: Option<NumberWidth>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    one.whole.max(other.whole).saturating_add(one.scale.max(other.scale)) <= DIGITS_MAX
}

/// What is calculated of two numbers.
struct Calculated {
    width: NumberWidth,
    /// Digits that the result may need, whether its type has them or not.
    needed: u16,
}

fn calculated(left: &Expr, op: &BinaryOperator, right: &Expr, columns: &dyn ColumnTypes) -> Option<Calculated> {
    use BinaryOperator as B;
    if !matches!(op, B::Plus | B::Minus | B::Multiply) {
        return None;
    }
    let (one, other) = (width_of(left, columns)?, width_of(right, columns)?);
    let is_product = *op == B::Multiply;
    let (whole, scale, typed) = if is_product {
        let scale = one.scale.saturating_add(other.scale);
        (one.whole.saturating_add(other.whole), scale, one.typed.saturating_add(other.typed))
    } else {
        let scale = one.scale.max(other.scale);
        let typed = one.typed_whole().max(other.typed_whole()).saturating_add(scale);
        (one.whole.max(other.whole).saturating_add(1), scale, typed.saturating_add(1))
    };
    if scale > DIGITS_MAX {
        return None;
    }
    let longest = one.typed.max(other.typed);
    let is_integer = one.is_integer && other.is_integer;
    let typed = if is_integer {
        // constants whose result is no BIGINT become longer ones
        let is_short = longest <= OF_BIGINT && !(is_constant(left) && is_constant(right));
        if is_short { OF_BIGINT } else { OF_HUGEINT }
    } else if longest <= SHORT_MAX && typed > SHORT_MAX && (!is_product || scale < SHORT_MAX) {
        SHORT_MAX
    } else {
        typed.min(DIGITS_MAX)
    };
    let needed = whole.saturating_add(scale);
    let whole = whole.min(typed.saturating_sub(scale));
    let width = NumberWidth { whole, scale, typed, is_long: one.is_long || other.is_long, is_integer };
    Some(Calculated { width, needed })
}

/// Whether it is a literal, with a sign or without.
fn is_constant(mut expr: &Expr) -> bool {
    while let Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } = expr {
        expr = inner;
    }
    matches!(expr, Expr::Value(_))
}

/// Of a literal. One that ends in a point is a whole number or none.
fn of_literal(value: &Value) -> Option<NumberWidth> {
    let Value::Number(written, _) = value else { return None };
    let Digits { whole, scale } = digits::of_literal(value)?;
    let is_integer = !written.contains('.');
    let typed = match whole {
        _ if scale > 0 => whole + scale,
        _ if !is_integer => return None,
        0..OF_INTEGER => OF_INTEGER,
        OF_INTEGER..OF_BIGINT => OF_BIGINT,
        _ => OF_HUGEINT,
    };
    Some(NumberWidth { whole, scale, typed, is_long: false, is_integer })
}

/// Of a cast. A literal that is too long for its type of whole numbers becomes one of another.
fn of_cast(data_type: &DataType) -> Option<NumberWidth> {
    let Exact::Number { whole, scale } = Exact::of_name(&data_type.to_string()) else { return None };
    let (whole, typed, is_integer) = match Type::of_declared(data_type) {
        Type::Integer => (whole.max(OF_BIGINT), OF_HUGEINT, true),
        Type::Decimal => (whole, whole.saturating_add(scale), false),
        _ => return None,
    };
    Some(NumberWidth { whole, scale, typed, is_long: false, is_integer })
}

/// Of calls whose result has the type of what they are given, or a type of its own.
fn of_call(function: &Function, columns: &dyn ColumnTypes) -> Option<NumberWidth> {
    let name = lowered(&names::last(&function.name)?.value);
    let argument = || width_of(sole_argument(function)?, columns);
    match &*name {
        "count" => Some(NumberWidth::COUNT),
        "min" | "max" | "any_value" => argument(),
        "sum" => argument().map(NumberWidth::summed),
        _ => None,
    }
}
