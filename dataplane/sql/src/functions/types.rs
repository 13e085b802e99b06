//! Families of types, and how types are spelled by the engine's catalog and by a statement.

use std::borrow::Cow;

use sqlparser::ast::{ArrayElemTypeDef, DataType, TimezoneInfo};

pub mod exact;

/// The families of types the rewrites tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    Boolean,
    /// Every width of integer, signed or not.
    Integer,
    Decimal,
    Double,
    Text,
    Blob,
    Date,
    Time,
    Timestamp,
    TimestampTz,
    Interval,
    Json,
    Uuid,
    List,
    Struct,
    Map,
    Unknown,
}

impl Type {
    /// The family of a type as the engine's catalog prints it (`DECIMAL(15,2)`, `INTEGER[]`).
    pub fn of_name(name: &str) -> Self {
        let name = name.trim();
        if name.ends_with(']') {
            return Self::List;
        }
        let head = name.split('(').next().unwrap_or_default().trim();
        match &*in_capitals(head) {
            "BOOLEAN" | "BOOL" => Self::Boolean,
            "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT" | "HUGEINT" | "UTINYINT" | "USMALLINT" | "UINTEGER"
            | "UBIGINT" | "UHUGEINT" | "INT" => Self::Integer,
            "DECIMAL" | "NUMERIC" => Self::Decimal,
            "DOUBLE" | "FLOAT" | "REAL" => Self::Double,
            "VARCHAR" | "TEXT" | "STRING" | "CHAR" | "BPCHAR" => Self::Text,
            "BLOB" | "BYTEA" | "VARBINARY" | "BINARY" => Self::Blob,
            "DATE" => Self::Date,
            "TIME" => Self::Time,
            "TIMESTAMP" | "TIMESTAMP_S" | "TIMESTAMP_MS" | "TIMESTAMP_NS" | "DATETIME" => Self::Timestamp,
            "TIMESTAMP WITH TIME ZONE" | "TIMESTAMPTZ" => Self::TimestampTz,
            "INTERVAL" => Self::Interval,
            "JSON" | "JSONB" => Self::Json,
            "UUID" => Self::Uuid,
            "STRUCT" => Self::Struct,
            "MAP" => Self::Map,
            _ => Self::Unknown,
        }
    }

    /// Whether values of it have moments counted in nanoseconds, the first of which the engine cannot write as text.
    pub(crate) fn counts_nanoseconds(type_name: &str) -> bool {
        in_capitals(type_name).contains("TIMESTAMP_NS")
    }

    /// The family of a type as the statement spells it, warehouse names included.
    pub fn of_declared(data_type: &DataType) -> Self {
        match data_type {
            DataType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => Self::TimestampTz,
            DataType::Timestamp(..) | DataType::TimestampNtz(_) | DataType::Datetime(_) => Self::Timestamp,
            // without the type of its items it is the warehouse's, as VARIANT is
            DataType::JSON | DataType::JSONB | DataType::Array(ArrayElemTypeDef::None) => Self::Json,
            DataType::Array(_) => Self::List,
            DataType::Interval { .. } => Self::Interval,
            DataType::Struct(..) => Self::Struct,
            DataType::Map(..) => Self::Map,
            DataType::Custom(name, _) => Self::of_custom(&name.to_string()),
            DataType::Character(_)
            | DataType::CharacterVarying(_)
            | DataType::Nvarchar(_)
            | DataType::Varchar(_)
            | DataType::Char(_)
            | DataType::Text
            | DataType::String(_) => Self::Text,
            DataType::Double(_)
            | DataType::DoublePrecision
            | DataType::Float(_)
            | DataType::Float4
            | DataType::Float8
            | DataType::Float64
            | DataType::Real => Self::Double,
            DataType::TinyInt(_)
            | DataType::SmallInt(_)
            | DataType::Int(_)
            | DataType::Integer(_)
            | DataType::BigInt(_)
            | DataType::HugeInt
            | DataType::Int2(_)
            | DataType::Int4(_)
            | DataType::Int8(_)
            | DataType::Int64 => Self::Integer,
            DataType::Decimal(_) | DataType::Numeric(_) => Self::Decimal,
            DataType::Bool | DataType::Boolean => Self::Boolean,
            DataType::Binary(_) | DataType::Varbinary(_) | DataType::Blob(_) | DataType::Bytea => Self::Blob,
            DataType::Date => Self::Date,
            DataType::Time(_, TimezoneInfo::None) => Self::Time,
            DataType::Uuid => Self::Uuid,
            other => Self::of_name(&other.to_string()),
        }
    }

    fn of_custom(name: &str) -> Self {
        match name.to_ascii_uppercase().as_str() {
            "NUMBER" => Self::Decimal,
            "VARIANT" | "OBJECT" | "ARRAY" => Self::Json,
            "TIMESTAMP_NTZ" => Self::Timestamp,
            "TIMESTAMP_LTZ" | "TIMESTAMP_TZ" => Self::TimestampTz,
            other => Self::of_name(other),
        }
    }

    /// A point in time or of a day, or a span: nothing that must be read first.
    pub fn is_moment(self) -> bool {
        matches!(self, Self::Date | Self::Time | Self::Timestamp | Self::TimestampTz | Self::Interval)
    }

    pub fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Decimal | Self::Double)
    }
}

/// The name of a type in capital letters; the engine's catalog has it so already.
fn in_capitals(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        Cow::Owned(name.to_ascii_uppercase())
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::SnowflakeDialect;
    use sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn a_type_is_of_the_family_of_its_name() {
        let names = "BOOLEAN BOOL TINYINT SMALLINT INT INTEGER BIGINT HUGEINT DECIMAL(10,2) NUMERIC(5) NUMERIC DOUBLE \
                     FLOAT REAL VARCHAR VARCHAR(3) CHAR CHAR(3) TEXT STRING STRING(3) BLOB BYTEA BINARY BINARY(3) \
                     VARBINARY(3) DATE TIME TIME(3) JSON JSONB UUID";
        for name in names.split_whitespace() {
            let declared = Parser::new(&SnowflakeDialect).try_with_sql(name).unwrap().parse_data_type().unwrap();
            assert_ne!(Type::of_declared(&declared), Type::Unknown, "{name}");
            assert_eq!(Type::of_declared(&declared), Type::of_name(name), "{name}");
            assert_eq!(Type::of_name(&format!(" {} ", name.to_ascii_lowercase())), Type::of_name(name), "{name}");
        }
    }
}
