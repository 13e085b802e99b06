//! Types where the likeliest is not enough: whether a statement may fail, or which of two equal values it answers, hangs
//! on what the engine takes an expression for.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::{ColumnTypes, common};
use crate::ast::call::arguments;
use crate::ast::names;
use crate::catalog::lower_case::lowered;
use crate::functions::types::Type;

/// What it surely is, where that may be another than the likeliest; none for what the likeliest is sure of. What stands
/// in an expression is asked once: twice at each level would be without end.
pub(super) fn type_of(expr: &Expr, columns: &dyn ColumnTypes) -> Option<Type> {
    let of = |expr: &Expr| super::type_of(expr, columns);
    match expr {
        // of more parts the last may be a field
        Expr::CompoundIdentifier(path) if path.len() > 2 => Some(Type::Unknown),
        Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } => Some(joined(of(left), of(right))),
        // of two DECIMALs that need more digits than one has it is a DOUBLE
        Expr::BinaryOp { left, op: BinaryOperator::Modulo, right } => Some(match (of(left), of(right)) {
            (Type::Integer, Type::Integer) => Type::Integer,
            _ => Type::Unknown,
        }),
        Expr::Array(_) => Some(Type::List),
        // a text is read as a number
        Expr::UnaryOp { op, expr } if *op != UnaryOperator::Not => Some(match of(expr) {
            Type::Text | Type::Json => Type::Unknown,
            known => known,
        }),
        // EPOCH and some others are a DOUBLE
        Expr::Extract { field, .. } if !is_counted(&field.to_string()) => Some(Type::Unknown),
        Expr::Function(function) => {
            let name = names::single(&function.name).filter(|name| name.quote_style.is_none())?;
            match &*lowered(&name.value) {
                "concat" => Some(arguments(function).map(of).fold(Type::Text, joined)),
                // it answers one of its arguments
                "coalesce" | "ifnull" | "nvl" => Some(common(arguments(function).map(of))),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Parts of a date that are whole numbers.
fn is_counted(part: &str) -> bool {
    const PARTS: [&str; 11] =
        ["year", "quarter", "month", "week", "day", "dow", "doy", "isodow", "hour", "minute", "second"];
    PARTS.iter().any(|known| part.eq_ignore_ascii_case(known))
}

/// `a || b`: lists are joined to lists, and a text beside one is read as one.
fn joined(left: Type, right: Type) -> Type {
    match (left, right) {
        (Type::List, _) | (_, Type::List) => Type::List,
        (Type::Unknown | Type::Blob | Type::Struct | Type::Map, _)
        | (_, Type::Unknown | Type::Blob | Type::Struct | Type::Map) => Type::Unknown,
        _ => Type::Text,
    }
}
