//! The type of a column that files have: joined over files, and written as the warehouse names it.

use std::fmt;

use engine::ValueForm;
use sql::functions::types::Type;

/// Digits of a NUMBER.
const DIGITS_MAX: u32 = 38;

/// The kind of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// Each of them is NULL.
    Empty,
    Boolean,
    /// Whole numbers of Parquet, which says no digits of them.
    Integer,
    /// With at most so many digits before the point, and behind it.
    Number {
        whole: u32,
        scale: u32,
    },
    Real,
    Date,
    Time,
    Timestamp,
    Binary,
    Text,
    Variant,
}

impl ColumnKind {
    /// Of values of CSV or JSON.
    pub fn of_form(form: &ValueForm) -> Self {
        match form.kind.as_deref() {
            None => Self::Empty,
            Some("BOOLEAN") => Self::Boolean,
            Some("NUMBER") => Self::number(form.whole, form.scale),
            Some("DOUBLE") => Self::Real,
            Some("DATE") => Self::Date,
            Some("TIME") => Self::Time,
            Some("TIMESTAMP") => Self::Timestamp,
            Some("JSON") => Self::Variant,
            Some(_) => Self::Text,
        }
    }

    /// Of a column of Parquet, by the engine's name of its type.
    pub fn of_type(type_name: &str) -> Self {
        match Type::of_name(type_name) {
            Type::Boolean => Self::Boolean,
            Type::Integer => Self::Integer,
            Type::Decimal => decimal(type_name),
            Type::Double => Self::Real,
            Type::Date => Self::Date,
            Type::Time => Self::Time,
            // without its zone, as is documented
            Type::Timestamp | Type::TimestampTz => Self::Timestamp,
            Type::Blob => Self::Binary,
            Type::Json | Type::List | Type::Struct | Type::Map => Self::Variant,
            Type::Text | Type::Uuid | Type::Interval | Type::Unknown => Self::Text,
        }
    }

    /// A number of these digits; a text where no number has so many.
    fn number(whole: u32, scale: u32) -> Self {
        if whole.saturating_add(scale) <= DIGITS_MAX { Self::Number { whole, scale } } else { Self::Text }
    }

    /// Of a column that is this in one file and the other in another.
    pub fn joined(self, other: Self) -> Self {
        match (self, other) {
            (Self::Empty, kind) | (kind, Self::Empty) => kind,
            (Self::Number { whole, scale }, Self::Number { whole: others, scale: behind }) => {
                Self::number(whole.max(others), scale.max(behind))
            }
            (Self::Integer, Self::Number { whole, scale }) | (Self::Number { whole, scale }, Self::Integer) => {
                Self::number(whole.max(DIGITS_MAX.saturating_sub(scale)), scale)
            }
            (one, same) if one == same => one,
            (Self::Integer | Self::Number { .. } | Self::Real, Self::Integer | Self::Number { .. } | Self::Real) => {
                Self::Real
            }
            (Self::Date | Self::Timestamp, Self::Date | Self::Timestamp) => Self::Timestamp,
            (Self::Variant, _) | (_, Self::Variant) => Self::Variant,
            _ => Self::Text,
        }
    }
}

impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Number { whole, scale } => return write!(f, "NUMBER({}, {scale})", whole + scale),
            Self::Integer => return write!(f, "NUMBER({DIGITS_MAX}, 0)"),
            Self::Boolean => "BOOLEAN",
            Self::Real => "REAL",
            Self::Date => "DATE",
            Self::Time => "TIME",
            Self::Timestamp => "TIMESTAMP_NTZ",
            Self::Binary => "BINARY",
            Self::Empty | Self::Text => "TEXT",
            Self::Variant => "VARIANT",
        })
    }
}

/// `DECIMAL(15,2)`.
fn decimal(type_name: &str) -> ColumnKind {
    let sizes = type_name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    let sizes = sizes.and_then(|sizes| sizes.split_once(','));
    let digits = |text: &str| text.trim().parse::<u32>().ok();
    match sizes.and_then(|(width, scale)| digits(width).zip(digits(scale))) {
        Some((width, scale)) => ColumnKind::Number { whole: width.saturating_sub(scale), scale },
        None => ColumnKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_several_files_has_a_type_that_holds_the_values_of_each() {
        let number = |whole, scale| ColumnKind::Number { whole, scale };
        for (one, other, joined) in [
            (number(3, 0), number(1, 2), "NUMBER(5, 2)"),
            (ColumnKind::Empty, ColumnKind::Date, "DATE"),
            (ColumnKind::Empty, ColumnKind::Empty, "TEXT"),
            (number(30, 0), number(1, 20), "TEXT"),
            (number(38, 0), number(1, 2), "TEXT"),
            (ColumnKind::of_type("BIGINT"), ColumnKind::of_type("INTEGER"), "NUMBER(38, 0)"),
            (ColumnKind::of_type("BIGINT"), ColumnKind::Real, "REAL"),
            (ColumnKind::of_type("BIGINT"), ColumnKind::of_type("DECIMAL(15,2)"), "NUMBER(38, 2)"),
            (number(3, 0), ColumnKind::Real, "REAL"),
            (ColumnKind::Date, ColumnKind::Timestamp, "TIMESTAMP_NTZ"),
            (ColumnKind::Date, number(4, 0), "TEXT"),
            (ColumnKind::Text, ColumnKind::Variant, "VARIANT"),
            (ColumnKind::Boolean, ColumnKind::Boolean, "BOOLEAN"),
        ] {
            assert_eq!(one.joined(other).to_string(), joined, "{one:?} {other:?}");
            assert_eq!(other.joined(one).to_string(), joined, "{other:?} {one:?}");
        }
    }

    #[test]
    fn a_type_of_the_engine_is_one_of_the_warehouse() {
        for (type_name, told) in [
            ("INTEGER", "NUMBER(38, 0)"),
            ("DECIMAL(12,2)", "NUMBER(12, 2)"),
            ("FLOAT", "REAL"),
            ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NTZ"),
            ("BLOB", "BINARY"),
            ("STRUCT(a INTEGER)", "VARIANT"),
            ("VARCHAR[]", "VARIANT"),
            ("UUID", "TEXT"),
        ] {
            assert_eq!(ColumnKind::of_type(type_name).to_string(), told, "{type_name}");
        }
    }
}
