//! Variants (JSON in the engine) where a plain value is wanted, and the calls that make and read them.
//!
//! A variant next to a plain value is read as that value's type: text without its quotes, a number as
//! a number, NULL when it is none. Where nothing says which type is meant (`MIN`, `ORDER BY`), the
//! statement is refused: the engine would compare the JSON's text, and 10 sorts before 9.

use sqlparser::ast::{BinaryOperator, CastKind, DataType, DictionaryField, ExactNumberInfo, Expr, Function, Ident, Value};

use super::call::{Handler, exactly, expressions, plain, take_expr, wrong_count};
use super::{Context, Done, compose, templates};
use crate::error::Error;
use crate::types::Type;

pub(super) const CALLS: &[(&str, Handler)] = &[
    ("array_append", array_append),
    ("array_cat", array_cat),
    ("array_construct", array_construct),
    ("array_construct_compact", array_construct_compact),
    ("array_contains", array_contains),
    ("array_position", array_position),
    ("array_prepend", array_prepend),
    ("array_slice", array_slice),
    ("object_construct", object_construct),
    ("object_construct_keep_null", object_construct_keep_null),
    ("reduce", reduce),
    ("typeof", type_name),
];

/// Functions that take a variant as it is.
const READ_JSON: &[&str] = &[
    "any_value", "arg_max", "arg_min", "array_agg", "array_append", "array_cat", "array_compact", "array_construct",
    "array_construct_compact", "array_contains", "array_distinct", "array_insert", "array_intersection", "array_position",
    "array_prepend", "array_remove", "array_size", "array_slice", "array_to_string", "array_unique_agg",
    "arrays_overlap", "as_array", "as_boolean", "as_char", "as_double", "as_integer", "as_object", "as_varchar",
    "approx_count_distinct", "cast_to_type", "count", "equal_null", "first", "first_value", "get", "get_path", "hash",
    "is_array", "is_boolean", "is_char", "is_decimal", "is_double", "is_integer", "is_null_value", "is_object",
    "is_real", "is_varchar", "lag", "last", "last_value", "lead", "list", "list_value", "max_by", "min_by", "mode",
    "nth_value", "nvl2", "object_agg", "object_construct", "object_construct_keep_null", "object_insert",
    "object_keys", "row_to_json", "strip_null_value", "struct_pack", "to_array", "to_json", "to_object", "to_variant",
    "typeof", "hll", "grouping", "grouping_id", "try",
];

/// Functions of numbers.
const READ_NUMBERS: &[&str] = &[
    "abs", "avg", "ceil", "div0", "div0null", "exp", "floor", "ln", "log", "median", "mod", "pow", "power", "round",
    "sign", "sqrt", "square", "stddev", "stddev_pop", "stddev_samp", "sum", "trunc", "truncate", "var_pop", "var_samp",
    "variance", "zeroifnull", "to_double",
];

/// Functions whose arguments must agree on a type.
const AGREE: &[&str] = &["coalesce", "ifnull", "nvl", "greatest", "least", "nullif", "iff", "decode"];

/// `CAST(variant ->> '$' AS …)` of a variant.
pub(super) fn as_type(value: Expr, wanted: Type, context: &Context<'_>) -> Expr {
    let text = unquoted(value, context);
    match wanted {
        Type::Text | Type::Json | Type::Unknown => text,
        Type::Integer | Type::Decimal | Type::Double => compose::try_cast(text, DataType::Double(ExactNumberInfo::None)),
        Type::Boolean => compose::try_cast(text, DataType::Boolean),
        Type::Date => compose::try_cast(text, DataType::Date),
        Type::Timestamp => compose::try_cast(text, super::dates::timestamp()),
        _ => text,
    }
}

/// The value as text: a path read by `->>`, another variant by the path to itself.
pub(super) fn unquoted(value: Expr, context: &Context<'_>) -> Expr {
    match value {
        Expr::Nested(inner) => unquoted(*inner, context),
        Expr::BinaryOp { left, op: BinaryOperator::Arrow, right } => {
            Expr::BinaryOp { left, op: BinaryOperator::LongArrow, right }
        }
        other => compose::binary(other, BinaryOperator::LongArrow, compose::text("$")),
    }
}

/// `x::VARCHAR`, without the quotes of a variant's text.
pub(super) fn to_text(value: Expr, context: &Context<'_>) -> Expr {
    match context.type_of(&value) {
        Type::Json => unquoted(value, context),
        _ => compose::cast(value, DataType::Varchar(None)),
    }
}

/// A cast from a variant, or to one.
pub(super) fn settle_cast(expr: &mut Expr, context: &Context<'_>) {
    let Expr::Cast { kind, expr: value, data_type, .. } = expr else { return };
    let is_try = matches!(kind, CastKind::TryCast | CastKind::SafeCast);
    let (from, to) = (context.type_of(value), Type::of_declared(data_type));
    match (from, to) {
        (Type::Json, Type::Json) => *expr = take_expr(value),
        (Type::Json, Type::Text) if !is_try => *expr = unquoted(take_expr(value), context),
        (Type::Json, Type::List | Type::Struct | Type::Map | Type::Unknown) => {}
        (Type::Json, _) => **value = unquoted(take_expr(value), context),
        _ => {}
    }
}

/// Reads variants among the arguments as the function wants them.
pub(super) fn settle_arguments(name: &str, function: &mut Function, context: &Context<'_>) -> Result<(), Error> {
    if READ_JSON.contains(&name) || name.starts_with("json") {
        return Ok(());
    }
    let has_lambda = expressions(function).any(|argument| matches!(argument, Expr::Lambda(_)));
    let types: Vec<Type> = expressions(function).map(|argument| context.type_of(argument)).collect();
    if !types.contains(&Type::Json) {
        return Ok(());
    }
    if has_lambda {
        // the lambda was rewritten before anybody could tell what its parameters are
        return Err(Error::unsupported(format!("{} over a variant: cast it to a list", name.to_ascii_uppercase())));
    }
    let wanted = if READ_NUMBERS.contains(&name) {
        Type::Double
    } else if AGREE.contains(&name) {
        // the first argument of IFF is its condition
        types.iter().copied().find(|t| !matches!(t, Type::Json | Type::Unknown | Type::Boolean)).unwrap_or(Type::Json)
    } else if matches!(name, "min" | "max") {
        return Err(Error::unsupported(format!("{} of a variant without a cast", name.to_ascii_uppercase())));
    } else {
        Type::Text
    };
    if wanted == Type::Json {
        return Ok(());
    }
    for (argument, known) in expressions(function).zip(types) {
        if known == Type::Json {
            *argument = as_type(take_expr(argument), wanted, context);
        }
    }
    Ok(())
}

/// Operators with a variant on one side.
pub(super) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<Done, Error> {
    match expr {
        Expr::BinaryOp { left, op, right } => settle_operands(left, op, right, context),
        Expr::InList { expr: value, list, .. } if context.type_of(value) == Type::Json => {
            let wanted = list.first().map_or(Type::Text, |first| context.type_of(first));
            **value = as_type(take_expr(value), wanted, context);
        }
        Expr::Between { expr: value, low, .. } if context.type_of(value) == Type::Json => {
            let wanted = context.type_of(low);
            **value = as_type(take_expr(value), wanted, context);
        }
        Expr::Like { expr: value, .. } | Expr::ILike { expr: value, .. } if context.type_of(value) == Type::Json => {
            **value = unquoted(take_expr(value), context);
        }
        Expr::IsTrue(value) | Expr::IsFalse(value) | Expr::UnaryOp { expr: value, .. }
            if context.type_of(value) == Type::Json =>
        {
            **value = as_type(take_expr(value), Type::Boolean, context);
        }
        _ => {}
    }
    Ok(Done::No)
}

fn settle_operands(left: &mut Expr, op: &BinaryOperator, right: &mut Expr, context: &Context<'_>) {
    use BinaryOperator as B;
    let types = (context.type_of(left), context.type_of(right));
    let (value, wanted) = match types {
        (Type::Json, Type::Json) if matches!(op, B::Lt | B::LtEq | B::Gt | B::GtEq) => {
            *left = as_type(take_expr(left), Type::Double, context);
            (right, Type::Double)
        }
        (Type::Json, Type::Json) => return,
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
    *value = as_type(take_expr(value), wanted, context);
}

/// `OBJECT_CONSTRUCT(k, v, …)`: members that are NULL are left out.
fn object_construct(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let args = pairs("object_construct", function)?;
    if args.chunks(2).all(|pair| pair.get(1).is_some_and(is_never_null)) {
        return Ok(compose::call("json_object", args));
    }
    let entries = args.chunks(2).filter_map(|pair| match pair {
        [key, value] => Some((key.clone(), value.clone())),
        _ => None,
    });
    let entries = entries.map(|(key, value)| {
        let members = [("k", key), ("v", compose::call("to_json", [value]))];
        let field = |(name, value)| DictionaryField { key: Ident::new(name), value: Box::new(value) };
        Expr::Dictionary(members.into_iter().map(field).collect())
    });
    let list = compose::call("list_value", entries);
    templates::fill("_object_without_nulls", vec![list], context)
}

fn is_never_null(value: &Expr) -> bool {
    match value {
        Expr::Value(value) => value.value != Value::Null,
        Expr::Function(function) => matches!(
            compose::bare_name(&function.name).as_deref(),
            Some("json_object" | "json_array" | "to_json")
        ),
        _ => false,
    }
}

/// `OBJECT_CONSTRUCT_KEEP_NULL(k, v, …)`.
fn object_construct_keep_null(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    Ok(compose::call("json_object", pairs("object_construct_keep_null", function)?))
}

fn pairs(name: &str, function: Function) -> Result<Vec<Expr>, Error> {
    let args = plain(function)?;
    if args.len() % 2 == 0 { Ok(args) } else { Err(wrong_count(name, args.len())) }
}

/// `ARRAY_CONSTRUCT(…)`.
fn array_construct(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    Ok(compose::call("json_array", plain(function)?))
}

fn array_construct_compact(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let array = compose::call("json_array", plain(function)?);
    templates::fill("array_compact", vec![array], context)
}

/// `REDUCE(list, start, lambda)`; the engine has the lambda second.
fn reduce(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    if args.len() == 3 && matches!(args.last(), Some(Expr::Lambda(_))) {
        args.swap(1, 2);
    }
    Ok(compose::call("list_reduce", args))
}

/// `TYPEOF(variant)` in the warehouse's words; of anything else the engine's answer.
fn type_name(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [value] = exactly("typeof", plain(function)?)?;
    match context.type_of(&value) {
        Type::Json => templates::fill("_typeof", vec![value], context),
        _ => Ok(compose::call("typeof", [value])),
    }
}

/// The template over a variant, the engine's own function over one of its lists.
fn over_json(function: Function, array: usize, template: &str, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = function.name.to_string().to_ascii_lowercase();
    let args = plain(function)?;
    if args.get(array).is_some_and(|value| context.type_of(value) == Type::Json) {
        return templates::fill(template, args, context);
    }
    Ok(compose::call(&name, args))
}

fn array_append(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    over_json(function, 0, "_array_append", context)
}

fn array_prepend(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    over_json(function, 0, "_array_prepend", context)
}

fn array_cat(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    over_json(function, 0, "_array_cat", context)
}

fn array_slice(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    over_json(function, 0, "_array_slice", context)
}

fn array_contains(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    search(function, "_array_contains", context)
}

fn array_position(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    search(function, "_array_position", context)
}

/// The warehouse takes the value first and an array second; the engine a list first.
fn search(function: Function, template: &str, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = function.name.to_string().to_ascii_lowercase();
    let is_list = |value: &Expr, context: &Context<'_>| matches!(context.type_of(value), Type::List);
    let (first, second) = match &plain(function)?[..] {
        [first, second] => (first.clone(), second.clone()),
        other => return Err(wrong_count(&name, other.len())),
    };
    if is_list(&first, context) && !matches!(context.type_of(&second), Type::List | Type::Json) {
        return Ok(compose::call(&name, [first, second]));
    }
    templates::fill(template, vec![first, second], context)
}
