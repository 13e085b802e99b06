//! What functions answer: the warehouse's before they are rewritten, and the engine's.

use sqlparser::ast::Function;

use super::{ColumnTypes, all, sole_argument, type_of};
use crate::ast::call::arguments;
use crate::ast::names;
use crate::functions::catalogue::{self, ResultType};
use crate::functions::types::Type;

pub(super) fn of(function: &Function, columns: &dyn ColumnTypes) -> Type {
    let Some(name) = names::single(&function.name).map(|name| name.value.to_ascii_lowercase()) else {
        return surely(&function.name.to_string().to_ascii_lowercase());
    };
    let name = name.as_str();
    if columns.is_certain() {
        return match surely(name) {
            Type::Unknown => of_aggregate(name, function, columns),
            known => known,
        };
    }
    let argument = |place: usize| arguments(function).nth(place).map_or(Type::Unknown, |one| type_of(one, columns));
    match name {
        "timezone" => match argument(1) {
            Type::TimestampTz => Type::Timestamp,
            Type::Timestamp => Type::TimestampTz,
            _ => Type::Unknown,
        },
        "date_trunc" => match argument(1) {
            Type::Date => Type::Timestamp,
            known => known,
        },
        "cast_to_type" => argument(1),
        // of one type as far as the rewrites care; whether an error hangs on it was decided before
        _ => match catalogue::find(name).and_then(|function| function.result) {
            Some(ResultType::Of(known)) => known,
            Some(ResultType::Argument) => argument(0),
            Some(ResultType::Common) => all(function, columns),
            None => surely(name),
        },
    }
}

/// Of aggregates whose result is of the family of what they are given; in the engine an average is a `DOUBLE`.
fn of_aggregate(name: &str, function: &Function, columns: &dyn ColumnTypes) -> Type {
    let Some(argument) = sole_argument(function) else { return Type::Unknown };
    match name {
        "min" | "max" | "any_value" => type_of(argument, columns),
        "sum" => Some(type_of(argument, columns)).filter(|found| found.is_number()).unwrap_or(Type::Unknown),
        "avg" if type_of(argument, columns).is_number() => Type::Double,
        _ => Type::Unknown,
    }
}

/// Only functions whose result does not depend on their arguments' types.
fn surely(name: &str) -> Type {
    match name {
        "current_date" | "to_date" | "make_date" | "last_day" => Type::Date,
        "current_timestamp" | "now" => Type::TimestampTz,
        "upper" | "lower" | "trim" | "substr" | "substring" | "left" | "right" | "concat" | "replace" | "to_char"
        | "to_varchar" => Type::Text,
        "parse_json" | "object_construct" | "array_construct" => Type::Json,
        "prefix"
        | "suffix"
        | "starts_with"
        | "startswith"
        | "ends_with"
        | "endswith"
        | "contains"
        | "bool_and"
        | "bool_or"
        | "isnan"
        | "isinf"
        | "isfinite"
        | "regexp_matches"
        | "regexp_like"
        | "is_null_value"
        | crate::functions::host::LIKE => Type::Boolean,
        "count" | "length" | "datediff" | "date_diff" | "year" | "month" | "day" => Type::Integer,
        _ => Type::Unknown,
    }
}
