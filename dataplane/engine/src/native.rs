//! Numbers and types as the C API lays them out.

use duckdb::ffi as c;

use crate::error::{Error, Kind};
use crate::types::Shape;

/// The shape of a type that has no parts.
pub fn simple(id: c::duckdb_type) -> Shape {
    match id {
        c::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN => Shape::Plain("BOOLEAN"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_TINYINT => Shape::Plain("TINYINT"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT => Shape::Plain("SMALLINT"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER => Shape::Plain("INTEGER"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT => Shape::Plain("BIGINT"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_HUGEINT => Shape::Plain("HUGEINT"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT => Shape::Plain("UTINYINT"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT => Shape::Plain("USMALLINT"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER => Shape::Plain("UINTEGER"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT => Shape::Plain("UBIGINT"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_FLOAT => Shape::Plain("FLOAT"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE => Shape::Plain("DOUBLE"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR => Shape::Plain("VARCHAR"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_BLOB => Shape::Plain("BLOB"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_DATE => Shape::Plain("DATE"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_TIME => Shape::Plain("TIME"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_TIME_NS => Shape::Plain("TIME_NS"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP => Shape::Plain("TIMESTAMP"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_S => Shape::Plain("TIMESTAMP_S"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_MS => Shape::Plain("TIMESTAMP_MS"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_NS => Shape::Plain("TIMESTAMP_NS"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ => Shape::Plain("TIMESTAMP WITH TIME ZONE"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_INTERVAL => Shape::Plain("INTERVAL"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_UUID => Shape::Plain("UUID"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_SQLNULL => Shape::Plain("NULL"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_GEOMETRY => Shape::Plain("GEOMETRY"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_UHUGEINT => Shape::Opaque("UHUGEINT"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_BIT => Shape::Opaque("BIT"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_BIGNUM => Shape::Opaque("BIGNUM"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_TIME_TZ => Shape::Opaque("TIME WITH TIME ZONE"),
        c::DUCKDB_TYPE_DUCKDB_TYPE_VARIANT => Shape::Opaque("VARIANT"),
        _ => Shape::Plain("UNKNOWN"),
    }
}

/// How a vector has the values of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueLayout {
    /// One behind the other, of so many bytes each.
    Fixed(usize),
    /// Each as a `duckdb_string_t`.
    Texts,
    /// In a way that is left to the engine.
    Other,
}

impl ValueLayout {
    /// That of a type of this number; of a decimal it is that of the type that has its digits.
    pub fn of(id: c::duckdb_type) -> Self {
        match id {
            c::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN
            | c::DUCKDB_TYPE_DUCKDB_TYPE_TINYINT
            | c::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT => Self::Fixed(1),
            c::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT | c::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT => Self::Fixed(2),
            c::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER
            | c::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER
            | c::DUCKDB_TYPE_DUCKDB_TYPE_FLOAT
            | c::DUCKDB_TYPE_DUCKDB_TYPE_DATE => Self::Fixed(4),
            c::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT
            | c::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT
            | c::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE
            | c::DUCKDB_TYPE_DUCKDB_TYPE_TIME
            | c::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP
            | c::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_S
            | c::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_MS
            | c::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_NS
            | c::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ => Self::Fixed(8),
            c::DUCKDB_TYPE_DUCKDB_TYPE_HUGEINT => Self::Fixed(16),
            c::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR | c::DUCKDB_TYPE_DUCKDB_TYPE_BLOB => Self::Texts,
            _ => Self::Other,
        }
    }
}

pub fn huge(value: i128) -> c::duckdb_hugeint {
    let [lower, upper] = halves(value.to_le_bytes());
    c::duckdb_hugeint { lower, upper: upper.cast_signed() }
}

fn halves(bytes: [u8; 16]) -> [u64; 2] {
    let value = u128::from_le_bytes(bytes);
    [u64::try_from(value & u128::from(u64::MAX)).unwrap_or(0), u64::try_from(value >> 64).unwrap_or(0)]
}

/// `-12.50` as its digits and how many of them stand behind the point.
pub fn decimal(text: &str) -> Result<c::duckdb_decimal, Error> {
    let bad = || Error::new(Kind::InvalidInput, "a decimal parameter is digits with at most one point, 38 at most");
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) || fraction.len() > 38 {
        return Err(bad());
    }
    let significant = all.trim_start_matches('0').len().max(fraction.len()).max(1);
    let width = u8::try_from(significant).ok().filter(|w| *w <= 38).ok_or_else(bad)?;
    let scale = u8::try_from(fraction.len()).map_err(|_| bad())?;
    let value: i128 = all.parse().map_err(|_| bad())?;
    Ok(c::duckdb_decimal { width, scale, value: huge(sign * value) })
}

pub fn uuid(text: &str) -> Result<c::duckdb_uhugeint, Error> {
    let bad = || Error::new(Kind::InvalidInput, "a UUID parameter is 32 hexadecimal digits, with or without dashes");
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    if digits.len() != 32 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(bad());
    }
    let [lower, upper] = halves(u128::from_str_radix(&digits, 16).map_err(|_| bad())?.to_le_bytes());
    Ok(c::duckdb_uhugeint { lower, upper })
}
