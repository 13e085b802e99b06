//! Details of a type beyond its family.

use super::in_capitals;

/// Digits of a DECIMAL.
pub(crate) const DIGITS_MAX: u16 = 38;

/// A type beyond its family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exact {
    /// Digits before the point and behind it.
    Number { whole: u16, scale: u16 },
    /// A column's type, as the engine prints it.
    Declared(String),
}

impl Exact {
    pub(crate) fn of_name(type_name: &str) -> Self {
        let name = in_capitals(type_name.trim());
        let integer = |whole| Self::Number { whole, scale: 0 };
        let (head, sizes) = name.split_once('(').unwrap_or((&*name, ""));
        match head.trim() {
            // one digit more tells a type from the one with a sign, which holds less
            "TINYINT" => integer(3),
            "UTINYINT" => integer(4),
            "SMALLINT" => integer(5),
            "USMALLINT" => integer(6),
            "INTEGER" | "INT" => integer(10),
            "UINTEGER" => integer(11),
            "BIGINT" => integer(19),
            "UBIGINT" => integer(20),
            "HUGEINT" => integer(39),
            "DECIMAL" | "NUMERIC" | "NUMBER" => {
                let mut sizes = sizes.trim_end_matches(')').split(',').map(|size| size.trim().parse::<u16>().ok());
                let precision = sizes.next().flatten().unwrap_or(DIGITS_MAX);
                let scale = sizes.next().flatten().unwrap_or(0);
                Self::Number { whole: precision.saturating_sub(scale), scale }
            }
            _ => Self::Declared((*name).to_owned()),
        }
    }

    /// What holds both.
    pub(crate) fn wider(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Number { whole, scale }, Self::Number { whole: other, scale: behind }) => {
                Some(Self::Number { whole: whole.max(other), scale: scale.max(behind) })
            }
            (one, other) => (one == other).then_some(one),
        }
    }
}
