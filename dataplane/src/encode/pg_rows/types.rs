//! Which PostgreSQL type a column of the engine has on the wire.

use super::scalar::PgScalar;

/// A type of the wire. `from_engine` is the whole mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PgType {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    /// Precision and scale, where the engine's type has them.
    Numeric(Option<(u8, u8)>),
    Text,
    /// A name in PostgreSQL's catalogue.
    Name,
    Date,
    Time,
    Timestamp,
    TimestampTz,
    Interval,
    Uuid,
    Bytea,
    Json,
    /// A column that is declared so; the engine has it as JSON.
    Jsonb,
    /// One dimension of a type that is not itself a list.
    Array(Box<PgType>),
}

impl PgType {
    /// By the engine's own name: `BIGINT`, `DECIMAL(12,2)`, `VARCHAR[]`, `STRUCT(…)`.
    pub fn from_engine(name: &str) -> Self {
        if let Some(item) = item(name) {
            return match Self::from_engine(item) {
                Self::Array(_) | Self::Json if item != "JSON" => Self::Json,
                item => Self::Array(Box::new(item)),
            };
        }
        match name {
            "BOOLEAN" => Self::Bool,
            "TINYINT" | "UTINYINT" | "SMALLINT" => Self::Int2,
            "USMALLINT" | "INTEGER" => Self::Int4,
            "UINTEGER" | "BIGINT" => Self::Int8,
            "UBIGINT" | "HUGEINT" | "UHUGEINT" | "BIGNUM" => Self::Numeric(None),
            "FLOAT" => Self::Float4,
            "DOUBLE" => Self::Float8,
            "DATE" => Self::Date,
            "TIME" | "TIME_NS" => Self::Time,
            "TIMESTAMP" | "TIMESTAMP_S" | "TIMESTAMP_MS" | "TIMESTAMP_NS" => Self::Timestamp,
            "TIMESTAMP WITH TIME ZONE" => Self::TimestampTz,
            "INTERVAL" => Self::Interval,
            "NAME" => Self::Name,
            "UUID" => Self::Uuid,
            "BLOB" => Self::Bytea,
            "JSON" => Self::Json,
            "JSONB" => Self::Jsonb,
            _ if name.starts_with("STRUCT(") || name.starts_with("MAP(") => Self::Json,
            _ => name.strip_prefix("DECIMAL(").and_then(decimal).unwrap_or(Self::Text),
        }
    }

    /// Whether a number is kept with all its decimals.
    pub fn holds(&self, digits: &str) -> bool {
        let decimals = digits.split_once('.').map_or(0, |(_, fraction)| fraction.trim_end_matches('0').len());
        match self {
            Self::Int2 | Self::Int4 | Self::Int8 => decimals == 0,
            Self::Numeric(Some((_, scale))) => decimals <= usize::from(*scale),
            _ => true,
        }
    }

    /// `pg_type.oid`.
    pub fn oid(&self) -> u32 {
        match self {
            Self::Array(item) => item.scalar().array(),
            _ => self.scalar().oid(),
        }
    }

    /// `pg_type.typlen`: bytes, or -1 when they vary.
    pub fn size(&self) -> i16 {
        if matches!(self, Self::Array(_)) { -1 } else { self.scalar().size() }
    }

    /// The type, or that of an array's items.
    fn scalar(&self) -> PgScalar {
        match self {
            Self::Bool => PgScalar::Bool,
            Self::Int2 => PgScalar::Int2,
            Self::Int4 => PgScalar::Int4,
            Self::Int8 => PgScalar::Int8,
            Self::Float4 => PgScalar::Float4,
            Self::Float8 => PgScalar::Float8,
            Self::Numeric(_) => PgScalar::Numeric,
            Self::Text => PgScalar::Text,
            Self::Name => PgScalar::Name,
            Self::Date => PgScalar::Date,
            Self::Time => PgScalar::Time,
            Self::Timestamp => PgScalar::Timestamp,
            Self::TimestampTz => PgScalar::TimestampTz,
            Self::Interval => PgScalar::Interval,
            Self::Uuid => PgScalar::Uuid,
            Self::Bytea => PgScalar::Bytea,
            Self::Json => PgScalar::Json,
            Self::Jsonb => PgScalar::Jsonb,
            Self::Array(item) => item.scalar(),
        }
    }

    /// `pg_attribute.atttypmod`: precision and scale of a numeric, else -1.
    pub fn modifier(&self) -> i32 {
        match self {
            Self::Numeric(Some((precision, scale))) => ((i32::from(*precision) << 16) | i32::from(*scale)) + 4,
            Self::Array(item) => item.modifier(),
            _ => -1,
        }
    }
}

/// The item's type, if this is a list or a fixed array: `INTEGER[]`, `FLOAT[3]`.
fn item(name: &str) -> Option<&str> {
    let (item, length) = name.strip_suffix(']')?.rsplit_once('[')?;
    length.bytes().all(|byte| byte.is_ascii_digit()).then_some(item)
}

fn decimal(rest: &str) -> Option<PgType> {
    let (precision, scale) = rest.strip_suffix(')')?.split_once(',')?;
    Some(PgType::Numeric(Some((precision.trim().parse().ok()?, scale.trim().parse().ok()?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_type_has_one_on_the_wire() {
        let cases = [
            ("BOOLEAN", 16, 1, -1),
            ("UTINYINT", 21, 2, -1),
            ("USMALLINT", 23, 4, -1),
            ("UINTEGER", 20, 8, -1),
            ("UBIGINT", 1700, -1, -1),
            ("HUGEINT", 1700, -1, -1),
            ("DECIMAL(12,2)", 1700, -1, (12 << 16) + 2 + 4),
            ("VARCHAR", 25, -1, -1),
            ("ENUM('a', 'b')", 25, -1, -1),
            ("TIMESTAMP WITH TIME ZONE", 1184, 8, -1),
            ("JSON", 114, -1, -1),
            ("JSONB", 3802, -1, -1),
            ("JSON[]", 199, -1, -1),
            ("INTEGER[]", 1007, -1, -1),
            ("FLOAT[3]", 1021, -1, -1),
            ("DECIMAL(12,2)[]", 1231, -1, (12 << 16) + 2 + 4),
            ("INTEGER[][]", 114, -1, -1),
            ("STRUCT(\"a\" INTEGER)[]", 114, -1, -1),
            ("STRUCT(\"a\" INTEGER[])", 114, -1, -1),
            ("MAP(VARCHAR, INTEGER)", 114, -1, -1),
            ("NAME", 19, 64, -1),
            ("NAME[]", 1003, -1, -1),
            ("something new", 25, -1, -1),
        ];
        for (name, oid, size, modifier) in cases {
            let kind = PgType::from_engine(name);
            assert_eq!((kind.oid(), kind.size(), kind.modifier()), (oid, size, modifier), "{name}");
        }
    }
}
