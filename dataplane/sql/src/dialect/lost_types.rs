//! `IS_DATE`, `AS_TIMESTAMP_NTZ` and their like: types that a variant of the warehouse keeps and JSON has no word for.
//!
//! A variant that is made in the statement is still known by what it is made of. A stored one holds text, so it is no
//! date: what came from JSON never is, and what came from a date is warned of. `TIMESTAMP_LTZ` and `TIMESTAMP_TZ` are
//! one type here, so nobody can tell which of the two it is.

use sqlparser::ast::{DataType, Expr, Function, TimezoneInfo, Value};

use super::call::{Handler, exactly, plain, written_name};
use super::{Context, compose};
use crate::ast::call::arguments;
use crate::ast::error::Error;
use crate::functions::types::Type;

pub(super) const CALLS: &[(&[&str], Handler)] = &[
    (&["as_binary", "as_date", "as_time", "as_timestamp_ltz", "as_timestamp_ntz", "as_timestamp_tz"], as_type),
    (
        &[
            "is_binary",
            "is_date",
            "is_date_value",
            "is_time",
            "is_timestamp_ltz",
            "is_timestamp_ntz",
            "is_timestamp_tz",
        ],
        is_type,
    ),
];

const STORED: &str = "a stored variant keeps a date, a time or bytes as text, so IS_DATE and its like are false of it";

/// What `TYPEOF` says of a variant that is made of one of these; nothing of other variants.
pub(super) fn word(variant: &Expr, context: &Context<'_>) -> Result<Option<Expr>, Error> {
    let Some(value) = origin(variant) else { return Ok(None) };
    let word = match context.type_of(value) {
        Type::Date => "DATE",
        Type::Time => "TIME",
        Type::Timestamp => "TIMESTAMP_NTZ",
        Type::Blob => "BINARY",
        Type::TimestampTz => return Err(one_of_two("TYPEOF")),
        _ => return Ok(None),
    };
    Ok(Some(unless_null(value, compose::text(word))))
}

/// What a variant is made of, if it is made here.
fn origin(variant: &Expr) -> Option<&Expr> {
    match variant {
        Expr::Nested(inner) => origin(inner),
        Expr::Function(function) if compose::is_call_of(function, "to_json") => arguments(function).next(),
        _ => None,
    }
}

fn one_of_two(name: &str) -> Error {
    Error::unsupported(format!("{name} of a TIMESTAMP_LTZ or TIMESTAMP_TZ, which are one type here,"))
}

fn unless_null(value: &Expr, result: Expr) -> Expr {
    compose::case(None, vec![(Expr::IsNotNull(Box::new(value.clone())), result)], None)
}

/// The type that the name of such a function asks for.
fn wanted(name: &str) -> (Type, DataType) {
    match name.get(3..).unwrap_or_default() {
        "binary" => (Type::Blob, DataType::Blob(None)),
        "time" => (Type::Time, DataType::Time(None, TimezoneInfo::None)),
        "timestamp_ntz" => (Type::Timestamp, super::dates::timestamp()),
        "timestamp_ltz" | "timestamp_tz" => (Type::TimestampTz, DataType::Timestamp(None, TimezoneInfo::WithTimeZone)),
        _ => (Type::Date, DataType::Date),
    }
}

/// The variant, and whether it is made of a value of the type that is asked for.
fn asked(function: Function, context: &mut Context<'_>) -> Result<(Expr, bool, DataType), Error> {
    let name = written_name(&function);
    let [variant] = exactly(&name, plain(function)?)?;
    let (wanted, data_type) = wanted(&name);
    let known = origin(&variant).map(|value| context.type_of(value));
    if known == Some(Type::TimestampTz) && wanted == Type::TimestampTz {
        return Err(one_of_two(&name.to_ascii_uppercase()));
    }
    if known.is_none() && matches!(variant, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
        context.warn(STORED);
    }
    Ok((variant, known == Some(wanted), data_type))
}

fn is_type(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let (variant, is, _) = asked(function, context)?;
    let value = origin(&variant).unwrap_or(&variant);
    Ok(unless_null(value, Expr::value(Value::Boolean(is))))
}

fn as_type(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let (variant, is, data_type) = asked(function, context)?;
    Ok(match origin(&variant) {
        Some(value) if is => value.clone(),
        _ => compose::cast(Expr::value(Value::Null), data_type),
    })
}
