//! Small pieces of the engine's language, as nodes. The printer brackets operands, so none are here.

use sqlparser::ast::{
    AccessExpr, BinaryOperator, CaseWhen, CastKind, DataType, ExactNumberInfo, Expr, Function, ObjectName,
    ObjectNamePart, Subscript, Value, helpers::attached_token::AttachedToken,
};

pub(super) use crate::ast::call::{argument, call, literal};
pub(super) use crate::ast::expression::{binary, cast, is_null, number, text};
use crate::ast::names;

/// Digits of the longest DECIMAL.
pub(super) const PRECISION_MAX: u64 = 38;

/// The longest DECIMAL with so many digits behind the point.
pub(super) fn decimal(scale: i64) -> DataType {
    DataType::Decimal(ExactNumberInfo::PrecisionAndScale(PRECISION_MAX, scale))
}

/// A function by its name alone, to be decorated.
pub(super) fn function(name: &str, args: impl IntoIterator<Item = Expr>) -> Function {
    crate::ast::call::function(&[name], args)
}

/// `value[index]…`.
pub(super) fn subscripts(value: Expr, indexes: Vec<Expr>) -> Expr {
    let access = |index| AccessExpr::Subscript(Subscript::Index { index });
    Expr::CompoundFieldAccess { root: Box::new(value), access_chain: indexes.into_iter().map(access).collect() }
}

pub(super) fn try_cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::TryCast, expr: Box::new(expr), data_type, format: None }
}

/// `CASE WHEN condition THEN result … ELSE otherwise END`.
pub(super) fn case(operand: Option<Expr>, arms: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: operand.map(Box::new),
        conditions: arms.into_iter().map(|(condition, result)| CaseWhen { condition, result }).collect(),
        else_result: otherwise.map(Box::new),
    }
}

/// The text that literals joined by `||` are.
pub(super) fn constant(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Nested(inner) => constant(inner),
        Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } => Some(constant(left)? + &constant(right)?),
        _ => literal(expr).map(str::to_owned),
    }
}

/// The value of an integer literal with its sign, or of what is calculated of such.
pub(super) fn integer(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        Expr::UnaryOp { op: sqlparser::ast::UnaryOperator::Minus, expr } => integer(expr).and_then(i64::checked_neg),
        Expr::Nested(inner) => integer(inner),
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = (integer(left)?, integer(right)?);
            match op {
                BinaryOperator::Plus => left.checked_add(right),
                BinaryOperator::Minus => left.checked_sub(right),
                BinaryOperator::Multiply => left.checked_mul(right),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a function is called by this name alone, in whatever case.
pub(super) fn is_call_of(function: &Function, name: &str) -> bool {
    names::single(&function.name).is_some_and(|called| called.value.eq_ignore_ascii_case(name))
}

/// The last part of a function's name, lower case; `None` when it is qualified.
pub(super) fn bare_name(name: &ObjectName) -> Option<String> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => Some(ident.value.to_ascii_lowercase()),
        _ => None,
    }
}
