//! Types that functions answer: the warehouse's before they are rewritten, and the engine's.

use sqlparser::ast;

use super::{ColumnTypes, all, type_of};
use crate::ast::call::{arguments, sole_argument};
use crate::ast::names;
use crate::catalog::lower_case::lowered;
use crate::functions::catalogue::{self, Function, ResultType};
use crate::functions::host;
use crate::functions::types::Type;

pub(super) fn of(function: &ast::Function, columns: &dyn ColumnTypes) -> Type {
    let Some(name) = names::single(&function.name).map(|name| lowered(&name.value)) else {
        return surely(&function.name.to_string().to_ascii_lowercase());
    };
    let name = &*name;
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
            None if name == host::LIKE => Type::Boolean,
            None => Type::Unknown,
        },
    }
}

/// Of aggregates whose result is of the family of what they are given; in the engine an average is a `DOUBLE`.
fn of_aggregate(name: &str, function: &ast::Function, columns: &dyn ColumnTypes) -> Type {
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
    match catalogue::find(name) {
        Some(Function { is_result_sure: true, result: Some(ResultType::Of(known)), .. }) => *known,
        None if name == host::LIKE => Type::Boolean,
        _ => Type::Unknown,
    }
}
