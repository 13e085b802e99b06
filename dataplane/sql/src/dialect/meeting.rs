//! Variants beside plain values, of which one is taken or which are compared: all are read as what they become.

use sqlparser::ast::{ArrayElemTypeDef, BinaryOperator, DataType, ExactNumberInfo, Expr, Function, TimezoneInfo};

use super::call::{expressions, take_expr};
use super::{Context, compose};
use crate::functions::types::Type;

/// `CAST(variant ->> '$' AS …)` of a variant.
pub(super) fn as_type(value: Expr, wanted: Type) -> Expr {
    let text = unquoted(value);
    match wanted {
        Type::Integer | Type::Decimal | Type::Double => {
            compose::try_cast(text, DataType::Double(ExactNumberInfo::None))
        }
        Type::Boolean => compose::try_cast(text, DataType::Boolean),
        Type::Date => compose::try_cast(text, DataType::Date),
        Type::Timestamp => compose::try_cast(text, DataType::Timestamp(None, TimezoneInfo::None)),
        _ => text,
    }
}

/// The value as text: a path read by `->>`, another variant by the path to itself.
pub(super) fn unquoted(value: Expr) -> Expr {
    match value {
        Expr::Nested(inner) => unquoted(*inner),
        Expr::BinaryOp { left, op: BinaryOperator::Arrow, right } => {
            Expr::BinaryOp { left, op: BinaryOperator::LongArrow, right }
        }
        other => compose::binary(other, BinaryOperator::LongArrow, compose::text("$")),
    }
}

/// `DECODE(x, search, result, …[, otherwise])`: what is compared meets, and what is answered.
pub(super) fn decoded(function: &mut Function, context: &Context<'_>) {
    let count = expressions(function).count();
    let is_result = |place: usize| place >= 2 && (place.is_multiple_of(2) || place + 1 == count);
    let (results, compared): (Vec<_>, Vec<_>) =
        expressions(function).enumerate().partition(|(place, _)| is_result(*place));
    for values in [results, compared] {
        meet(&mut values.into_iter().map(|(_, value)| value).collect::<Vec<_>>(), context);
    }
}

/// What values of these types become where they meet and some are variants: what the first plain one is. Nothing where no
/// variant stands beside a plain value.
pub(super) fn meeting(types: &[Type]) -> Option<Type> {
    let plain = types.iter().copied().find(|known| !matches!(known, Type::Json | Type::Unknown));
    plain.filter(|_| types.contains(&Type::Json)).map(|plain| if is_nest(plain) { Type::Json } else { plain })
}

/// A value that meets others, read as what all of them become.
pub(super) fn met(value: Expr, known: Type, wanted: Type) -> Expr {
    match (known, wanted) {
        (Type::Json, Type::Json) => value,
        (Type::Json, plain) => as_type(value, plain),
        (known, Type::Json) if known != Type::Unknown => compose::call("to_json", [value]),
        _ => value,
    }
}

/// Reads values of which one is taken as what they become.
pub(super) fn meet(values: &mut [&mut Expr], context: &Context<'_>) {
    let types: Vec<Type> = values.iter().map(|value| context.type_of(value)).collect();
    let Some(wanted) = meeting(&types) else { return };
    for (value, known) in values.iter_mut().zip(types) {
        **value = met(take_expr(value), known, wanted);
    }
}

/// A list or a structure of the engine, which meets a variant as a variant.
pub(super) fn is_nest(known: Type) -> bool {
    matches!(known, Type::List | Type::Struct | Type::Map)
}

/// `variant = ANY (list)`, and a value beside the items of a variant.
pub(super) fn among(value: &mut Expr, list: &mut Expr, context: &Context<'_>) {
    match (context.type_of(value), context.type_of(list)) {
        (Type::Json, Type::List) => {
            let item = match list {
                Expr::Array(array) => array.elem.first().map_or(Type::Text, |first| context.type_of(first)),
                _ => Type::Text,
            };
            if item != Type::Json {
                *value = as_type(take_expr(value), item);
            }
        }
        (known, Type::Json) => {
            let items = DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(DataType::JSON), None));
            *list = compose::cast(take_expr(list), items);
            *value = met(take_expr(value), known, Type::Json);
        }
        _ => {}
    }
}
