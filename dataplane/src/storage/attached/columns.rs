//! Columns of an attached database: which of PostgreSQL's types has a counterpart here, and how its values come.

/// A column of a table in an attached database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteColumn {
    pub name: String,
    /// The engine's name of its type.
    pub type_name: String,
    pub carried: Carried,
}

/// How the values of a column come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// As PostgreSQL prints them.
    Printed,
    /// As text, without blanks that fill it up.
    Text,
    /// Bytes, as hexadecimal digits.
    Hex,
}

/// The type of a column in PostgreSQL's catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemoteType {
    pub name: String,
    /// `e` is an enumeration.
    pub sort: String,
    /// It comes with PostgreSQL.
    pub is_built_in: bool,
    /// With the precision and scale of a number.
    pub modifier: i32,
}

/// What PostgreSQL adds to a modifier.
const MODIFIER_BEGINS: i32 = 4;
/// The most digits that a number has here.
const DIGITS_MAX: i32 = 38;

impl RemoteType {
    /// The type here, and how values of it come; none where it has no counterpart.
    pub fn counterpart(&self) -> Option<(String, Carried)> {
        if self.sort == "e" {
            return Some(("VARCHAR".to_owned(), Carried::Text));
        }
        if !self.is_built_in {
            return None;
        }
        let type_name = match self.name.as_str() {
            "bool" => "BOOLEAN",
            "int2" => "SMALLINT",
            "int4" => "INTEGER",
            "int8" => "BIGINT",
            "float4" => "FLOAT",
            "float8" => "DOUBLE",
            "text" | "varchar" | "name" => "VARCHAR",
            "bpchar" => return Some(("VARCHAR".to_owned(), Carried::Text)),
            "date" => "DATE",
            "time" => "TIME",
            "timestamp" => "TIMESTAMP",
            "timestamptz" => "TIMESTAMP WITH TIME ZONE",
            "uuid" => "UUID",
            "json" | "jsonb" => "JSON",
            "bytea" => return Some(("BLOB".to_owned(), Carried::Hex)),
            "numeric" => return self.number().map(|type_name| (type_name, Carried::Printed)),
            _ => return None,
        };
        Some((type_name.to_owned(), Carried::Printed))
    }

    /// A number of any precision would lose digits, and so would one of more digits than there are.
    fn number(&self) -> Option<String> {
        let said = self.modifier.checked_sub(MODIFIER_BEGINS).filter(|said| *said >= 0)?;
        let precision = (said >> 16) & 0xffff;
        let scale = ((said & 0x7ff) ^ 0x400) - 0x400; // of eleven bits, with a sign
        let fits = (1..=DIGITS_MAX).contains(&precision) && (0..=precision).contains(&scale);
        fits.then(|| format!("DECIMAL({precision},{scale})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built_in(name: &str, modifier: i32) -> Option<String> {
        let one = RemoteType { name: name.to_owned(), sort: "b".to_owned(), is_built_in: true, modifier };
        one.counterpart().map(|(type_name, _)| type_name)
    }

    #[test]
    fn a_number_keeps_its_precision_and_scale_or_has_no_counterpart() {
        let modifier = |precision: i32, scale: i32| ((precision << 16) | (scale & 0x7ff)) + 4;
        assert_eq!(built_in("numeric", modifier(10, 2)).as_deref(), Some("DECIMAL(10,2)"));
        assert_eq!(built_in("numeric", modifier(38, 0)).as_deref(), Some("DECIMAL(38,0)"));
        for without in [-1, modifier(39, 0), modifier(5, -2), modifier(2, 5)] {
            assert_eq!(built_in("numeric", without), None, "{without}");
        }
    }

    #[test]
    fn types_without_a_counterpart_are_none() {
        for name in ["_int4", "point", "interval", "timetz", "int4range", "money", "xml", "inet", "oid"] {
            assert_eq!(built_in(name, -1), None, "{name}");
        }
        let own = |sort: &str| RemoteType {
            name: "text".to_owned(),
            sort: sort.to_owned(),
            is_built_in: false,
            modifier: -1,
        };
        assert_eq!(own("e").counterpart().map(|(type_name, _)| type_name).as_deref(), Some("VARCHAR"));
        assert_eq!(own("d").counterpart(), None, "somebody's own type that is called so");
    }
}
