//! Text beside a number is read as that number.
//!
//! The engine reads a literal as the type of the other side, and so rounds: `id = '1.6'` is true of 2 and `'1.5' * 2`
//! is 4, where the warehouse keeps the fraction. A column of text beside a number is no comparison for the engine at
//! all; the warehouse reads it as a number, and so does the cast put here.

use sqlparser::ast::{BinaryOperator, DataType, Expr, UnaryOperator, Value};

use super::call::take_expr;
use super::{Context, Done, compose, types};
use crate::ast::error::Error;
use crate::functions::types::Type;

#[expect(clippy::unnecessary_wraps, reason = "it is a family like the others")]
pub(super) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<Done, Error> {
    match expr {
        Expr::BinaryOp { left, op, right } if calculates(op) => {
            let types = context.operands(left, right);
            let both = is_numeral(left) && is_numeral(right);
            if types.0 == Type::Text && (types.1.is_number() || both) {
                read(left, &types::double);
            }
            if types.1 == Type::Text && (types.0.is_number() || both) {
                read(right, &types::double);
            }
        }
        Expr::BinaryOp { left, op, right } if compares(op) => {
            let types = context.operands(left, right);
            match types {
                (Type::Text, other) if other.is_number() => read(left, &|| beside(other)),
                (other, Type::Text) if other.is_number() => read(right, &|| beside(other)),
                _ => {}
            }
        }
        Expr::InList { expr: value, list, .. } if context.type_of(value).is_number() => {
            list.iter_mut().filter(|item| is_numeral(item)).for_each(as_number);
        }
        Expr::Between { expr: value, low, high, .. } if context.type_of(value).is_number() => {
            for end in [low, high] {
                if is_numeral(end) {
                    as_number(end);
                }
            }
        }
        _ => {}
    }
    Ok(Done::No)
}

/// A number of floating point as text: `1`, where the engine writes `1.0`.
pub(super) fn of_float(value: Expr) -> Expr {
    let text = compose::cast(value, DataType::Varchar(None));
    compose::call("regexp_replace", [text, compose::text("\\.0$"), compose::text("")])
}

/// The engine divides whole numbers as floating point; in the warehouse a quotient is exact and has its digits.
pub(super) fn is_quotient(value: &Expr) -> bool {
    match value {
        Expr::Nested(inner) => is_quotient(inner),
        Expr::BinaryOp { op: BinaryOperator::Divide, .. } => true,
        _ => false,
    }
}

fn calculates(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo)
}

fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq)
}

/// What text is compared as: digits enough for whole numbers and fractions alike.
fn beside(other: Type) -> DataType {
    match other {
        Type::Double => types::double(),
        _ => compose::decimal(10),
    }
}

fn read(text: &mut Expr, data_type: &dyn Fn() -> DataType) {
    if is_numeral(text) {
        as_number(text);
    } else if compose::literal(text).is_none() {
        let taken = take_expr(text);
        *text = compose::cast(taken, data_type());
    }
}

/// Whether it is a literal that spells a number.
fn is_numeral(expr: &Expr) -> bool {
    compose::literal(expr).is_some_and(|text| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |part: &str| part.chars().all(|c| c.is_ascii_digit());
        !whole.is_empty() && digits.len() <= 38 && plain(whole) && plain(fraction) && !digits.ends_with('.')
    })
}

fn as_number(literal: &mut Expr) {
    let Some(text) = compose::literal(literal) else {
        return;
    };
    let negative = text.starts_with('-');
    let digits = Expr::value(Value::Number(text.trim_start_matches(['-', '+']).to_owned(), false));
    *literal = if negative {
        Expr::Nested(Box::new(Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(digits) }))
    } else {
        digits
    };
}
