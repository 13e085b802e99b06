//! The offset that a `TIMESTAMP_TZ` was written with, where its statement tells it.
//!
//! The engine keeps the moment alone. What the dialect knows of an offset it writes into the type of a cast, where whoever
//! asks for the value's clock finds it; the printer leaves it out.

use sqlparser::ast::{BinaryOperator, DataType, Expr, Ident, ObjectName, ObjectNamePart, Value};

use super::{ColumnTypes, type_of};
use crate::ast::call::{arguments, called};
use crate::ast::names;
use crate::functions::catalogue::{self, ResultType};
use crate::functions::types::Type;

/// The offset that the type of a cast gives to its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrittenOffset {
    /// So many minutes ahead of UTC.
    Minutes(i32),
    /// What the text that is cast ends in.
    OfText,
    /// What is taken from the clock that is cast.
    OfClock,
}

const NAME: &str = "TIMESTAMP_TZ";
const OF_TEXT: &str = "text";
const OF_CLOCK: &str = "clock";

impl WrittenOffset {
    /// The type that says so. A statement cannot write it: the dialect takes digits alone for the size of a type.
    pub(crate) fn data_type(self) -> DataType {
        let word = match self {
            Self::Minutes(minutes) => format!("{minutes:+}"),
            Self::OfText => OF_TEXT.to_owned(),
            Self::OfClock => OF_CLOCK.to_owned(),
        };
        DataType::Custom(ObjectName(vec![ObjectNamePart::Identifier(Ident::new(NAME))]), vec![word])
    }

    pub(crate) fn of_type(data_type: &DataType) -> Option<Self> {
        let DataType::Custom(name, words) = data_type else { return None };
        let [word] = words.as_slice() else { return None };
        names::single(name).filter(|name| name.value == NAME)?;
        match word.as_str() {
            OF_TEXT => Some(Self::OfText),
            OF_CLOCK => Some(Self::OfClock),
            minutes if minutes.starts_with(['+', '-']) => minutes.parse().ok().map(Self::Minutes),
            _ => None,
        }
    }
}

/// How many minutes ahead of UTC all values of an expression were written, where that is one number.
#[recursive::recursive]
pub(crate) fn minutes_of(expr: &Expr, columns: &dyn ColumnTypes) -> Option<i32> {
    match expr {
        Expr::Identifier(name) => columns.minutes(None, &name.value),
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [.., relation, name] => columns.minutes(Some(&relation.value), &name.value),
            _ => None,
        },
        Expr::Nested(inner) => minutes_of(inner, columns),
        Expr::Cast { data_type, .. } => match WrittenOffset::of_type(data_type) {
            Some(WrittenOffset::Minutes(minutes)) => Some(minutes),
            _ => None,
        },
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right } => {
            match (type_of(left, columns), type_of(right, columns)) {
                (_, Type::Interval) => minutes_of(left, columns),
                (Type::Interval, _) => minutes_of(right, columns),
                _ => None,
            }
        }
        Expr::Case { conditions, else_result, .. } => {
            of_all(conditions.iter().map(|when| &when.result).chain(else_result.as_deref()), columns)
        }
        Expr::Function(function) => match catalogue::find(&called(function)?)?.result? {
            ResultType::Argument => minutes_of(arguments(function).next()?, columns),
            ResultType::Common => of_all(arguments(function), columns),
            ResultType::Of(_) => None,
        },
        _ => None,
    }
}

/// Of values of which one is taken; NULL has no offset.
fn of_all<'e>(values: impl Iterator<Item = &'e Expr>, columns: &dyn ColumnTypes) -> Option<i32> {
    let is_null = |expr: &Expr| matches!(expr, Expr::Value(value) if value.value == Value::Null);
    let mut values = values.filter(|value| !is_null(value));
    let first = minutes_of(values.next()?, columns)?;
    values.all(|value| minutes_of(value, columns) == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_says_what_was_written_into_it() {
        for offset in
            [WrittenOffset::Minutes(540), WrittenOffset::Minutes(-210), WrittenOffset::OfText, WrittenOffset::OfClock]
        {
            assert_eq!(WrittenOffset::of_type(&offset.data_type()), Some(offset));
        }
    }
}
