//! Types of data.

use sqlparser::ast::{
    ArrayElemTypeDef, BinaryLength, CharacterLength, DataType, ExactNumberInfo, ObjectName, StructField, TimezoneInfo,
};

use super::{Printer, Style, absent};
use crate::ast::error::Error;
use crate::ast::names;
use crate::bind::types::offset::WrittenOffset;

/// Types of the engine that the parser has no word for.
const ENGINE: [&str; 10] = [
    "TIMESTAMP_S",
    "TIMESTAMP_MS",
    "TIMESTAMP_US",
    "TIMESTAMP_NS",
    "TIMESTAMPTZ",
    "TIMETZ",
    "HUGEINT",
    "UHUGEINT",
    "UTINYINT",
    "USMALLINT",
];
/// Types of the warehouse and of PostgreSQL, which the dialect turns into the engine's.
const WAREHOUSE: [&str; 15] = [
    "NUMBER",
    "VARIANT",
    "OBJECT",
    "ARRAY",
    "TIMESTAMP_NTZ",
    "TIMESTAMPNTZ",
    "TIMESTAMP_LTZ",
    "TIMESTAMPLTZ",
    "TIMESTAMP_TZ",
    "BYTEINT",
    "STRING",
    "MAP",
    "VECTOR",
    "NAME",
    "BPCHAR",
];

impl Printer<'_> {
    pub(super) fn data_type(&mut self, data_type: &DataType) -> Result<(), Error> {
        let word = match data_type {
            DataType::Array(elem) => return self.array(elem),
            DataType::Struct(fields, _) => return self.fields("STRUCT(", fields),
            DataType::Map(key, value, _) => {
                self.put("MAP(");
                self.data_type(key)?;
                self.put(", ");
                self.data_type(value)?;
                ")"
            }
            // what the dialect knows of an offset is nothing to the engine
            written if WrittenOffset::of_type(written).is_some() => "TIMESTAMP WITH TIME ZONE",
            DataType::Custom(name, modifiers) => return self.custom(name, modifiers),
            DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => {
                self.decimal(*info);
                return Ok(());
            }
            DataType::Float(ExactNumberInfo::None | ExactNumberInfo::Precision(_)) => "FLOAT",
            DataType::Char(None) | DataType::Character(None) => "CHAR",
            DataType::Varchar(length)
            | DataType::Char(length)
            | DataType::Character(length)
            | DataType::CharacterVarying(length)
            | DataType::CharVarying(length)
            | DataType::Nvarchar(length) => return self.varchar(length.as_ref()),
            DataType::String(Some(length)) => return self.done(&format!("VARCHAR({length})")),
            DataType::Text | DataType::String(None) => "VARCHAR",
            DataType::Blob(None)
            | DataType::Bytea
            | DataType::Binary(_)
            | DataType::Varbinary(None | Some(BinaryLength::IntegerLength { .. } | BinaryLength::Max)) => "BLOB",
            DataType::Bit(None) => "BIT",
            DataType::Boolean | DataType::Bool => "BOOLEAN",
            DataType::TinyInt(None) => "TINYINT",
            DataType::SmallInt(None) | DataType::Int2(None) => "SMALLINT",
            DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => "INTEGER",
            DataType::BigInt(None) | DataType::Int8(None) => "BIGINT",
            DataType::HugeInt => "HUGEINT",
            DataType::UHugeInt => "UHUGEINT",
            DataType::UTinyInt => "UTINYINT",
            DataType::USmallInt => "USMALLINT",
            DataType::UBigInt => "UBIGINT",
            DataType::Real | DataType::Float4 => "REAL",
            DataType::Double(ExactNumberInfo::None) | DataType::DoublePrecision | DataType::Float8 => "DOUBLE",
            DataType::Date => "DATE",
            DataType::Time(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => "TIME",
            DataType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) | DataType::Datetime(_) => {
                "TIMESTAMP"
            }
            DataType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => "TIMESTAMP WITH TIME ZONE",
            DataType::TimestampNtz(_) if self.style != Style::Engine => "TIMESTAMP_NTZ",
            DataType::Interval { fields: None, precision: None } => "INTERVAL",
            DataType::JSON | DataType::JSONB => "JSON",
            DataType::Uuid => "UUID",
            other => return Err(Error::unsupported_type(other.to_string())),
        };
        self.done(word)
    }

    fn array(&mut self, elem: &ArrayElemTypeDef) -> Result<(), Error> {
        match elem {
            ArrayElemTypeDef::SquareBracket(inner, size) => {
                self.data_type(inner)?;
                match size {
                    Some(size) => self.formatted(format_args!("[{size}]")),
                    None => self.put("[]"),
                }
                Ok(())
            }
            ArrayElemTypeDef::None => {
                self.warehouse_only("ARRAY without a type")?;
                self.done("ARRAY")
            }
            ArrayElemTypeDef::AngleBracket(_) | ArrayElemTypeDef::Parenthesis(_) | ArrayElemTypeDef::Qualified(..) => {
                Err(Error::unsupported_type("this form of ARRAY"))
            }
        }
    }

    fn fields(&mut self, open: &str, fields: &[StructField]) -> Result<(), Error> {
        self.put(open);
        self.list(fields, |p, StructField { field_name, field_type, options }| {
            absent(options.is_none(), "options of a field")?;
            let Some(name) = field_name else {
                return Err(Error::unsupported_type("STRUCT with a nameless field"));
            };
            p.ident(name);
            p.put(" ");
            p.data_type(field_type)
        })?;
        self.done(")")
    }

    fn decimal(&mut self, info: ExactNumberInfo) {
        match info {
            ExactNumberInfo::None => self.put("DECIMAL(38, 0)"),
            ExactNumberInfo::Precision(precision) => self.formatted(format_args!("DECIMAL({precision}, 0)")),
            ExactNumberInfo::PrecisionAndScale(precision, scale) => {
                self.formatted(format_args!("DECIMAL({precision}, {scale})"));
            }
        }
    }

    /// The length is the warehouse's: a cast of the engine's has none (`dialect::types`).
    fn varchar(&mut self, length: Option<&CharacterLength>) -> Result<(), Error> {
        match length {
            None | Some(CharacterLength::Max) => self.put("VARCHAR"),
            Some(CharacterLength::IntegerLength { length, unit }) => {
                absent(unit.is_none(), "the unit of a length")?;
                self.formatted(format_args!("VARCHAR({length})"));
            }
        }
        Ok(())
    }

    fn custom(&mut self, name: &ObjectName, modifiers: &[String]) -> Result<(), Error> {
        let Some(ident) = names::single(name) else {
            return Err(Error::unsupported_type(name.to_string()));
        };
        let upper = ident.value.to_ascii_uppercase();
        let known = ENGINE.contains(&upper.as_str()) && modifiers.is_empty();
        let translated = self.style != Style::Engine && WAREHOUSE.contains(&upper.as_str());
        if !known && !translated && upper != "UINTEGER" && upper != "BIT" {
            return Err(Error::unsupported_type(ident.value.clone()));
        }
        self.put(&upper);
        if !modifiers.is_empty() {
            let element = |word: &String| match upper.as_str() {
                "VECTOR" => ["FLOAT", "INT"].contains(&word.to_ascii_uppercase().as_str()),
                "MAP" => word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'),
                _ => false,
            };
            if !modifiers.iter().all(|m| element(m) || m.chars().all(|c| c.is_ascii_digit())) {
                return Err(Error::unsupported_type(ident.value.clone()));
            }
            self.put(&format!("({})", modifiers.join(", ")));
        }
        Ok(())
    }
}
