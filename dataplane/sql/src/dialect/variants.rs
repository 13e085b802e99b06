//! Variants (JSON in the engine) where a plain value is wanted: casts, operators and arguments.
//!
//! A variant next to a plain value is read as that value's type: text without its quotes, a number as
//! a number, NULL when it is none. Where nothing says which type is meant (`MIN`, `ORDER BY`), it is compared by a
//! key: numbers by their value, then everything else by its text; the engine would compare the JSON's text, and 10
//! sorts before 9.

use sqlparser::ast::{BinaryOperator, CastKind, DataType, Expr, Function, UnaryOperator};

use super::call::{expressions, take_expr};
use super::{Context, Done, aggregates, compose, meeting, moments, numerals, templates};
use crate::ast::error::Error;
use crate::bind::types::ColumnTypes;
use crate::functions::catalogue::{self, VariantArgument};
use crate::functions::types::Type;

/// `x::VARCHAR`, without the quotes of a variant's text.
pub(super) fn to_text(value: Expr, context: &Context<'_>) -> Expr {
    match context.type_of(&value) {
        Type::Json => meeting::unquoted(value),
        Type::Double if !numerals::is_quotient(&value) => numerals::of_float(value),
        Type::Blob => compose::call("hex", [value]),
        Type::Timestamp | Type::TimestampTz => moments::shown(value, context),
        _ => compose::cast(value, DataType::Varchar(None)),
    }
}

/// A cast from a variant, or to one.
pub(super) fn settle_cast(expr: &mut Expr, context: &mut Context<'_>) -> Result<(), Error> {
    let Expr::Cast { kind, expr: value, data_type, .. } = expr else {
        return Ok(());
    };
    let is_try = matches!(kind, CastKind::TryCast | CastKind::SafeCast);
    let (from, to) = (context.type_of(value), Type::of_declared(data_type));
    if from == Type::Unknown {
        context.scopes.certain(value)?;
    }
    match (from, to) {
        (Type::Text, Type::TimestampTz) => {
            let template = if is_try { "_try_with_offset" } else { "_with_offset" };
            *expr = templates::fill(template, &mut [take_expr(value)], context)?;
        }
        (Type::Text, Type::Boolean) => {
            let template = if is_try { "try_to_boolean" } else { "to_boolean" };
            *expr = templates::fill(template, &mut [take_expr(value)], context)?;
        }
        (Type::Text, Type::Date) => **value = moments::day(take_expr(value), is_try, context)?,
        (Type::Text, Type::Timestamp) => **value = moments::written(take_expr(value), is_try, context)?,
        (Type::Json, Type::Date) => **value = moments::day(meeting::unquoted(take_expr(value)), is_try, context)?,
        (Type::Timestamp | Type::TimestampTz, Type::Text) if !is_try => {
            *expr = moments::shown(take_expr(value), context);
        }
        (Type::Double, Type::Text) if !is_try && !numerals::is_quotient(value) => {
            *expr = numerals::of_float(take_expr(value));
        }
        // its digits, as the warehouse shows bytes
        (Type::Blob, Type::Text) if !is_try => *expr = compose::call("hex", [take_expr(value)]),
        (Type::Json, Type::Json) => *expr = take_expr(value),
        (Type::Json, Type::Text) if !is_try => *expr = meeting::unquoted(take_expr(value)),
        (Type::Json, Type::Timestamp) if !is_try && matches!(data_type, DataType::Timestamp(..)) => {
            // a number in it counts seconds since 1970, or finer
            *expr = templates::fill("_digits_or_text", &mut [meeting::unquoted(take_expr(value))], context)?;
        }
        (Type::Json, Type::List | Type::Struct | Type::Map | Type::Unknown) => {}
        (Type::Json, _) => **value = meeting::unquoted(take_expr(value)),
        _ => {}
    }
    Ok(())
}

/// Reads variants among the arguments as the function wants them.
pub(super) fn settle_arguments(
    name: &str,
    known: Option<&catalogue::Function>,
    function: &mut Function,
    context: &mut Context<'_>,
) -> Result<(), Error> {
    let taken = known.and_then(|known| known.variant);
    if taken == Some(VariantArgument::Taken) {
        return Ok(());
    }
    let mut has_variant = false;
    for argument in expressions(function) {
        match context.type_of(argument) {
            Type::Json => has_variant = true,
            Type::Unknown => context.scopes.certain(argument)?,
            _ => {}
        }
    }
    if !has_variant {
        return Ok(());
    }
    let has_lambda = expressions(function).any(|argument| matches!(argument, Expr::Lambda(_)));
    if has_lambda && super::lambdas::takes_variants(name) {
        return Ok(());
    }
    if has_lambda {
        // the lambda was rewritten before anybody could tell what its parameters are
        return Err(Error::unsupported(format!(
            "{} over a variant without a cast to a list",
            name.to_ascii_uppercase()
        )));
    }
    let wanted = match taken {
        _ if matches!(name, "count_if" | "countif") => Type::Boolean,
        Some(VariantArgument::Number) => Type::Double,
        Some(VariantArgument::Common) => {
            agree(name, function, context);
            return Ok(());
        }
        Some(VariantArgument::Key) => return extreme(name, function, context),
        Some(VariantArgument::Taken) | None => Type::Text,
    };
    for argument in expressions(function) {
        if context.type_of(argument) == Type::Json {
            *argument = meeting::as_type(take_expr(argument), wanted);
        }
    }
    Ok(())
}

/// Reads arguments that must agree on a type as what they become.
fn agree(name: &str, function: &mut Function, context: &Context<'_>) {
    if name == "decode" {
        return meeting::decoded(function, context);
    }
    // the first argument of these is a condition
    let condition = usize::from(matches!(name, "iff" | "nvl2"));
    if name == "iff"
        && let Some(first) = expressions(function).next()
        && context.type_of(first) == Type::Json
    {
        *first = meeting::as_type(take_expr(first), Type::Boolean);
    }
    meeting::meet(&mut expressions(function).skip(condition).collect::<Vec<_>>(), context);
}

/// What a variant is ordered by.
pub(super) fn key(variant: Expr, context: &mut Context<'_>) -> Result<Expr, Error> {
    templates::fill("_variant_order", &mut [variant], context)
}

/// `MIN(variant)` is the variant with the least key.
fn extreme(name: &str, function: &mut Function, context: &mut Context<'_>) -> Result<(), Error> {
    let [variant] = aggregates::arguments::<1>(name, function)?;
    context.copy(templates::size(&variant))?;
    let key = key(variant.clone(), context)?;
    aggregates::put(function, [variant, key]);
    aggregates::rename(function, if name == "min" { "arg_min" } else { "arg_max" });
    Ok(())
}

/// Operators with a variant on one side.
pub(super) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<Done, Error> {
    match expr {
        Expr::BinaryOp { left, op, right } => {
            let types = context.operands(left, right);
            for (side, known) in [(&*left, types.0), (&*right, types.1)] {
                if known == Type::Unknown {
                    context.scopes.certain(side)?;
                }
            }
            settle_operands(left, op, right, types);
            if types.0 == Type::Json || types.1 == Type::Json {
                context.forget_operands();
            }
        }
        Expr::InList { expr: value, list, .. } if context.type_of(value) == Type::Json => {
            let wanted = list.first().map_or(Type::Text, |first| context.type_of(first));
            **value = meeting::as_type(take_expr(value), wanted);
        }
        Expr::InSubquery { expr: value, subquery, .. } if context.type_of(value) == Type::Json => {
            let wanted = context.scopes.subquery(subquery);
            **value = meeting::as_type(take_expr(value), wanted);
        }
        Expr::Case { operand: Some(value), conditions, .. } if context.type_of(value) == Type::Json => {
            let wanted = conditions.first().map_or(Type::Text, |arm| context.type_of(&arm.condition));
            **value = meeting::as_type(take_expr(value), wanted);
        }
        Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => meeting::among(left, right, context),
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
            let types = (context.type_of(left), context.type_of(right));
            settle_operands(left, &BinaryOperator::Eq, right, types);
        }
        Expr::Between { expr: value, low, .. } if context.type_of(value) == Type::Json => {
            let wanted = context.type_of(low);
            **value = meeting::as_type(take_expr(value), wanted);
        }
        Expr::Like { expr: value, .. } | Expr::ILike { expr: value, .. } if context.type_of(value) == Type::Json => {
            **value = meeting::unquoted(take_expr(value));
        }
        Expr::IsTrue(value) | Expr::IsFalse(value) | Expr::UnaryOp { op: UnaryOperator::Not, expr: value }
            if context.type_of(value) == Type::Json =>
        {
            **value = meeting::as_type(take_expr(value), Type::Boolean);
        }
        _ => {}
    }
    if let Expr::Case { conditions, else_result, .. } = expr {
        let results = conditions.iter_mut().map(|arm| &mut arm.result).chain(else_result.as_deref_mut());
        meeting::meet(&mut results.collect::<Vec<_>>(), context);
    }
    Ok(Done::No)
}

/// Reads a side of an operator that is a variant as the other side wants it.
fn settle_operands(left: &mut Expr, op: &BinaryOperator, right: &mut Expr, types: (Type, Type)) {
    use BinaryOperator as B;
    let (value, wanted) = match types {
        (Type::Json, Type::Json) => {
            let Some(wanted) = of_two(op) else { return };
            *left = meeting::as_type(take_expr(left), wanted);
            (right, wanted)
        }
        (Type::Json, other) if meeting::is_nest(other) => {
            *right = meeting::met(take_expr(right), other, Type::Json);
            return;
        }
        (other, Type::Json) if meeting::is_nest(other) => {
            *left = meeting::met(take_expr(left), other, Type::Json);
            return;
        }
        (Type::Json, other) => (left, other),
        (other, Type::Json) => (right, other),
        _ => return,
    };
    let wanted = match op {
        B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo if !matches!(wanted, Type::Date | Type::Timestamp) => {
            Type::Double
        }
        B::And | B::Or => Type::Boolean,
        B::StringConcat => Type::Text,
        B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq | B::Plus | B::Minus => wanted,
        _ => return,
    };
    *value = meeting::as_type(take_expr(value), wanted);
}

/// What two variants are read as by an operator between them; nothing where they are compared as they are.
fn of_two(op: &BinaryOperator) -> Option<Type> {
    use BinaryOperator as B;
    match op {
        B::Lt | B::LtEq | B::Gt | B::GtEq | B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo => {
            Some(Type::Double)
        }
        B::StringConcat => Some(Type::Text),
        B::And | B::Or => Some(Type::Boolean),
        _ => None,
    }
}
