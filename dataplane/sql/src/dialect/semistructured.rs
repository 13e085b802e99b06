//! Calls that make and take apart objects and arrays, which are JSON in the engine.
//!
//! Over one of the engine's own lists the engine's function of the name stays.

use sqlparser::ast::{ArrayElemTypeDef, DataType, DictionaryField, Expr, Function, Ident, Value};

use super::call::{Handler, exactly, plain, written_name, wrong_count};
use super::{Context, compose, lost_types, templates};
use crate::ast::error::Error;
use crate::functions::types::Type;

pub(super) const CALLS: &[(&[&str], Handler)] = &[
    (&["array_append"], array_append),
    (&["array_cat"], array_cat),
    (&["array_construct"], array_construct),
    (&["array_construct_compact"], array_construct_compact),
    (&["array_contains"], array_contains),
    (&["array_insert"], array_insert),
    (&["normal"], normal),
    (&["array_position"], array_position),
    (&["array_prepend"], array_prepend),
    (&["array_slice"], array_slice),
    (&["object_construct"], object_construct),
    (&["object_delete"], object_delete),
    (&["object_pick"], object_pick),
    (&["object_construct_keep_null"], object_construct_keep_null),
    (&["random"], random),
    (&["typeof"], type_name),
    (&["uniform"], uniform),
];

/// `OBJECT_CONSTRUCT(k, v, …)`: members that are NULL are left out.
fn object_construct(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    if let [Expr::Identifier(_)] = args.as_slice() {
        return templates::fill("_object_of_row", &mut args, context);
    }
    let args = paired("object_construct", &args)?;
    if args.iter().all(is_never_null) {
        return Ok(compose::call("json_object", args));
    }
    templates::fill("_object_without_nulls", &mut [entries(&args)], context)
}

/// A list of keys and values.
fn entries(args: &[Expr]) -> Expr {
    let entries = args.chunks(2).filter_map(|pair| match pair {
        [key, value] => Some((key.clone(), value.clone())),
        _ => None,
    });
    let entries = entries.map(|(key, value)| {
        let members = [("k", key), ("v", compose::call("to_json", [value]))];
        let field = |(name, value)| DictionaryField { key: Ident::new(name), value: Box::new(value) };
        Expr::Dictionary(members.into_iter().map(field).collect())
    });
    compose::call("list_value", entries)
}

fn is_never_null(value: &Expr) -> bool {
    match value {
        Expr::Value(value) => value.value != Value::Null,
        Expr::Function(function) => {
            ["json_object", "json_array", "to_json"].into_iter().any(|name| compose::is_call_of(function, name))
        }
        _ => false,
    }
}

/// `OBJECT_DELETE(o, k, …)`.
fn object_delete(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    members("object_delete", "_object_without", function, context)
}

/// `OBJECT_PICK(o, k, …)`, or the keys as one array.
fn object_pick(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    members("object_pick", "_object_with", function, context)
}

fn members(name: &str, template: &str, function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?.into_iter();
    let Some(object) = args.next() else {
        return Err(wrong_count(name, 0));
    };
    let keys: Vec<Expr> = args.collect();
    let keys = match keys.as_slice() {
        [] => return Err(wrong_count(name, 1)),
        [array] if context.type_of(array) == Type::Json => {
            let texts = DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(DataType::Varchar(None)), None));
            compose::cast(array.clone(), texts)
        }
        _ => compose::call("list_value", keys),
    };
    templates::fill(template, &mut [object, keys], context)
}

/// `OBJECT_CONSTRUCT_KEEP_NULL(k, v, …)`.
fn object_construct_keep_null(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    if let [Expr::Identifier(_)] = args.as_slice() {
        return templates::fill("_object_of_row_with_nulls", &mut args, context);
    }
    let args = paired("object_construct_keep_null", &args)?;
    if args.iter().step_by(2).all(is_never_null) {
        return Ok(compose::call("json_object", args));
    }
    templates::fill("_object_with_nulls", &mut [entries(&args)], context)
}

/// Keys and values, without those whose key is NULL.
fn paired(name: &str, args: &[Expr]) -> Result<Vec<Expr>, Error> {
    if !args.len().is_multiple_of(2) {
        return Err(wrong_count(name, args.len()));
    }
    let is_null = |key: &Expr| matches!(key, Expr::Value(value) if value.value == Value::Null);
    let named = args.chunks(2).filter(|pair| !pair.first().is_some_and(is_null));
    Ok(named.flatten().cloned().collect())
}

/// `ARRAY_CONSTRUCT(…)`.
fn array_construct(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    Ok(compose::call("json_array", plain(function)?))
}

fn array_construct_compact(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let array = compose::call("json_array", plain(function)?);
    templates::fill("array_compact", &mut [array], context)
}

/// `TYPEOF(variant)` in the warehouse's words; of anything else the engine's answer.
fn type_name(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [value] = exactly("typeof", plain(function)?)?;
    match context.type_of(&value) {
        Type::Json => match lost_types::word(&value, context)? {
            Some(word) => Ok(word),
            None => templates::fill("_typeof", &mut [value], context),
        },
        _ => Ok(compose::call("typeof", [value])),
    }
}

/// `NORMAL(mean, deviation, RANDOM())`.
fn normal(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [mean, deviation, generator] = exactly("normal", plain(function)?)?;
    if compose::integer(&generator).is_some() || matches!(generator, Expr::Identifier(_)) {
        return Err(Error::unsupported("NORMAL with a generator other than RANDOM()"));
    }
    templates::fill("_normal", &mut [mean, deviation], context)
}

/// `ARRAY_INSERT(array, position, x)`: a negative position counts from the end, and beyond the end the array is
/// filled up.
fn array_insert(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    const POSITION_MAX: i64 = 10_000;
    let [array, position, value] = exactly("array_insert", plain(function)?)?;
    let template = match compose::integer(&position) {
        Some(0..=POSITION_MAX) => "_array_insert",
        Some(position) if (-POSITION_MAX..0).contains(&position) => "_array_insert_from_end",
        _ => {
            let message = format!("ARRAY_INSERT at a position that is not written out, up to {POSITION_MAX}");
            return Err(Error::unsupported(message));
        }
    };
    templates::fill(template, &mut [array, position, value], context)
}

/// `RANDOM()`: the engine keeps a seed for all of a connection, not for one call.
fn random(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let args = plain(function)?;
    if !args.is_empty() {
        return Err(Error::unsupported("RANDOM with a seed"));
    }
    templates::fill("random", &mut [], context)
}

/// `UNIFORM(low, high, RANDOM())`; of a constant generator it would be the same in each row.
fn uniform(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [low, high, generator] = exactly("uniform", plain(function)?)?;
    if compose::integer(&generator).is_some() || matches!(generator, Expr::Identifier(_)) {
        return Err(Error::unsupported("UNIFORM with a generator other than RANDOM()"));
    }
    let whole = [&low, &high].iter().all(|bound| context.type_of(bound) == Type::Integer);
    templates::fill(if whole { "_uniform_integer" } else { "_uniform_float" }, &mut [low, high], context)
}

/// The template over a variant, the engine's own function over one of its lists.
fn over_json(function: Function, array: usize, template: &str, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = written_name(&function);
    let joins = name == "array_cat";
    let mut args = plain(function)?;
    let is_absent = args.get(array).is_some_and(compose::is_null) || joins && args.iter().any(compose::is_null);
    if is_absent {
        return Ok(compose::cast(Expr::value(Value::Null), DataType::JSON));
    }
    if args.get(array).is_some_and(|value| context.type_of(value) == Type::Json) {
        return templates::fill(template, &mut args, context);
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
    let name = written_name(&function);
    let is_list = |value: &Expr, context: &Context<'_>| matches!(context.type_of(value), Type::List);
    let (first, second) = match &plain(function)?[..] {
        [first, second] => (first.clone(), second.clone()),
        other => return Err(wrong_count(&name, other.len())),
    };
    if is_list(&first, context) && !matches!(context.type_of(&second), Type::List | Type::Json) {
        return Ok(compose::call(&name, [first, second]));
    }
    templates::fill(template, &mut [first, second], context)
}
