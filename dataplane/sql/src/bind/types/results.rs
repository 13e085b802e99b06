//! What functions answer: the warehouse's before they are rewritten, and the engine's.

use sqlparser::ast::Function;

use super::{ColumnTypes, all, sole_argument, type_of};
use crate::ast::call::arguments;
use crate::ast::names;
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
    match likely(name) {
        Type::Unknown => {}
        known => return known,
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
        "coalesce" | "ifnull" | "greatest" | "least" => all(function, columns),
        "min" | "max" | "any_value" | "try" | "first" | "last" | "first_value" | "last_value" | "lag" | "lead"
        | "nth_value" | "mode" | "nullif" | "arg_max" | "arg_min" | "arg_max_null" | "arg_min_null" | "abs"
        | "ceil" | "floor" | "round" | "sum" | "trunc" => argument(0),
        _ => surely(name),
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

/// Functions whose result is of one type as far as the rewrites care; whether an error hangs on it was decided before.
fn likely(name: &str) -> Type {
    match name {
        "json_object" | "json_array" | "to_json" | "json_extract" | "json_merge_patch" | "json_group_array"
        | "json_group_object" | "json" | "row_to_json" => Type::Json,
        "unhex" | "from_base64" | "encode" => Type::Blob,
        "strptime" | "try_strptime" | "make_timestamp" | "localtimestamp" | "current_localtimestamp" => Type::Timestamp,
        "make_date" | "last_day" | "current_date" | "today" => Type::Date,
        "now" | "current_timestamp" | "get_current_timestamp" | "transaction_timestamp" => Type::TimestampTz,
        "date_diff" | "date_part" | "strpos" | "len" | "length" | "count" | "epoch_ms" | "levenshtein"
        | "row_number" | "rank" | "dense_rank" | "json_array_length" | "year" | "month" | "day" | "hour" | "minute"
        | "quarter" | "week" | "isodow" | "isoyear" | "dayofweek" | "dayofyear" => Type::Integer,
        "strftime"
        | "upper"
        | "lower"
        | "substr"
        | "left"
        | "right"
        | "replace"
        | "split_part"
        | "string_agg"
        | "typeof"
        | "json_type"
        | "json_extract_string"
        | "sha256"
        | "md5"
        | "array_to_string"
        | "regexp_replace"
        | "trim"
        | "ltrim"
        | "rtrim"
        | "lpad"
        | "rpad"
        | "repeat"
        | "reverse"
        | "hex"
        | "to_base64"
        | "chr" => Type::Text,
        "avg" | "cbrt" | "corr" | "covar_pop" | "covar_samp" | "exp" | "ln" | "log" | "pow" | "power" | "sqrt"
        | "stddev" | "stddev_pop" | "stddev_samp" | "var_pop" | "var_samp" | "variance" => Type::Double,
        "to_days" | "to_weeks" | "to_months" | "to_quarters" | "to_years" | "to_hours" | "to_minutes"
        | "to_seconds" | "to_milliseconds" | "to_microseconds" => Type::Interval,
        "list" | "string_split" | "list_transform" | "list_filter" | "list_value" | "range" | "json_keys"
        | "regexp_extract_all" => Type::List,
        _ => Type::Unknown,
    }
}
