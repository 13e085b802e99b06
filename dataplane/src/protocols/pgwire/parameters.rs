//! Bound values: bytes in text or binary form, by the type the statement wants, to values of the
//! engine.

mod array;
mod interval;
mod moment;

use bytes::Bytes;
use contract::Code;
use engine::Value;

use super::failure::ErrorResponse;
use super::message::MessageFields;
use crate::encode::pg_rows::moment::{EPOCH_DAYS, EPOCH_MICROS};
use crate::encode::pg_rows::scalar::{ParameterType, PgScalar};
use crate::encode::pg_rows::{Format, number};

pub use moment::SessionClock;

/// The value of parameter `index` (from 1).
pub fn value(
    index: usize,
    oid: u32,
    format: Format,
    bytes: Option<Bytes>,
    clock: &SessionClock,
) -> Result<Value, ErrorResponse> {
    let Some(bytes) = bytes else { return Ok(Value::Null) };
    let Some(kind) = ParameterType::of(oid) else {
        return Err(ErrorResponse::unsupported(&format!("parameter ${index} of type {oid}"))
            .with_hint("cast the parameter to text in the statement"));
    };
    let read = match (format, kind) {
        (Format::Binary, ParameterType::One(kind)) => from_binary(kind, bytes, clock)?,
        (Format::Binary, ParameterType::ArrayOf(item)) => array::binary(item, bytes, clock)?,
        (Format::Text, ParameterType::One(kind)) => from_text(kind, text(&bytes)?, clock),
        (Format::Text, ParameterType::ArrayOf(item)) => array::text(item, text(&bytes)?, clock),
    };
    let value = read.ok_or_else(|| refused(index, format))?;
    let (ParameterType::One(scalar) | ParameterType::ArrayOf(scalar)) = kind;
    if fits(&value, scalar) { Ok(value) } else { Err(out_of_range(index)) }
}

/// The engine's name of a type; none where a value is what its text says.
pub fn engine_type(oid: u32) -> Option<String> {
    match ParameterType::of(oid)? {
        ParameterType::One(PgScalar::Numeric) => Some("DECIMAL(38,10)".to_owned()),
        ParameterType::One(scalar) => engine_scalar(scalar).map(str::to_owned),
        ParameterType::ArrayOf(item) => engine_scalar(item).map(|item| format!("{item}[]")),
    }
}

/// The same of one that has no digits to keep.
fn engine_scalar(scalar: PgScalar) -> Option<&'static str> {
    Some(match scalar {
        PgScalar::Bool => "BOOLEAN",
        PgScalar::Int2 => "SMALLINT",
        PgScalar::Int4 => "INTEGER",
        PgScalar::Int8 | PgScalar::Oid => "BIGINT",
        PgScalar::Float4 => "FLOAT",
        PgScalar::Float8 => "DOUBLE",
        PgScalar::Bytea => "BLOB",
        PgScalar::Date => "DATE",
        PgScalar::Time => "TIME",
        PgScalar::Timestamp => "TIMESTAMP",
        PgScalar::TimestampTz => "TIMESTAMP WITH TIME ZONE",
        PgScalar::Interval => "INTERVAL",
        PgScalar::Uuid => "UUID",
        PgScalar::Json | PgScalar::Jsonb => "JSON",
        PgScalar::Text | PgScalar::Name | PgScalar::Numeric => return None,
    })
}

/// The types that values are bound as: a number has the digits that it has, so only one that is NULL is told its type.
pub fn bound_types(oids: &[u32], values: &[Value]) -> Vec<Option<String>> {
    let is_told = |oid: u32, value: &Value| oid != PgScalar::Numeric.oid() || *value == Value::Null;
    let kind = |(oid, value): (&u32, &Value)| engine_type(*oid).filter(|_| is_told(*oid, value));
    oids.iter().zip(values).map(kind).collect()
}

/// Whether a number, or each of an array, is one of its type: what it is bound as holds more.
fn fits(value: &Value, kind: PgScalar) -> bool {
    let range = match kind {
        PgScalar::Int2 => i128::from(i16::MIN)..=i128::from(i16::MAX),
        PgScalar::Int4 => i128::from(i32::MIN)..=i128::from(i32::MAX),
        PgScalar::Oid => 0..=i128::from(u32::MAX),
        _ => i128::MIN..=i128::MAX,
    };
    match value {
        Value::BigInt(number) => range.contains(&i128::from(*number)),
        Value::HugeInt(number) => range.contains(number),
        Value::Double(number) if kind == PgScalar::Float4 => !number.is_finite() || number.abs() <= f64::from(f32::MAX),
        Value::List(items) => items.iter().all(|one| fits(one, kind)),
        _ => true,
    }
}

fn out_of_range(index: usize) -> ErrorResponse {
    ErrorResponse::new(Code::ConversionFailed, format!("parameter ${index} is out of range for its type"))
        .with_state("22003")
}

fn text(bytes: &[u8]) -> Result<&str, ErrorResponse> {
    std::str::from_utf8(bytes).map_err(|_| ErrorResponse::encoding())
}

fn refused(index: usize, format: Format) -> ErrorResponse {
    let state = if format == Format::Binary { "22P03" } else { "22P02" };
    ErrorResponse::new(Code::ConversionFailed, format!("parameter ${index} is not a value of its type"))
        .with_state(state)
}

fn from_text(kind: PgScalar, text: &str, clock: &SessionClock) -> Option<Value> {
    let trimmed = text.trim();
    match kind {
        PgScalar::Bool => boolean(trimmed).map(Value::Boolean),
        PgScalar::Int2 | PgScalar::Int4 | PgScalar::Int8 | PgScalar::Oid => {
            trimmed.parse().map(Value::BigInt).ok().or_else(|| trimmed.parse().map(Value::HugeInt).ok())
        }
        PgScalar::Float4 | PgScalar::Float8 => trimmed.parse().map(Value::Double).ok(),
        PgScalar::Numeric => numeric(trimmed),
        PgScalar::Bytea => hex::decode(trimmed.strip_prefix("\\x")?).map(Value::Blob).ok(),
        PgScalar::Date => moment::date(trimmed, clock).map(Value::Date),
        PgScalar::Time => moment::time(trimmed, clock).map(Value::Time),
        PgScalar::Timestamp => moment::timestamp(trimmed, clock).map(Value::Timestamp),
        PgScalar::TimestampTz => moment::timestamp_tz(trimmed, clock).map(Value::TimestampTz),
        PgScalar::Uuid => uuid::Uuid::parse_str(trimmed).ok().map(|id| Value::Uuid(id.to_string())),
        PgScalar::Json | PgScalar::Jsonb => {
            // whole, so that the engine's cast of it never fails
            serde_json::from_str::<serde_json::Value>(text).ok().map(|_| Value::Json(text.to_owned()))
        }
        PgScalar::Interval => interval::read(trimmed),
        PgScalar::Text | PgScalar::Name => Some(Value::Text(text.to_owned())),
    }
}

fn from_binary(kind: PgScalar, bytes: Bytes, clock: &SessionClock) -> Result<Option<Value>, ErrorResponse> {
    let fixed = |length: usize| {
        (bytes.len() == length).then(|| bytes.iter().fold(0_u64, |all, byte| (all << 8) | u64::from(*byte)))
    };
    let four = || fixed(4).and_then(|bits| u32::try_from(bits).ok());
    Ok(match kind {
        PgScalar::Bool => fixed(1).map(|bits| Value::Boolean(bits != 0)),
        PgScalar::Int2 => {
            fixed(2).and_then(|bits| u16::try_from(bits).ok()).map(|bits| Value::BigInt(bits.cast_signed().into()))
        }
        PgScalar::Int4 => four().map(|bits| Value::BigInt(bits.cast_signed().into())),
        PgScalar::Oid => four().map(|bits| Value::BigInt(bits.into())),
        PgScalar::Int8 => fixed(8).map(|bits| Value::BigInt(bits.cast_signed())),
        PgScalar::Float4 => four().map(|bits| Value::Double(f32::from_bits(bits).into())),
        PgScalar::Float8 => fixed(8).map(|bits| Value::Double(f64::from_bits(bits))),
        PgScalar::Numeric => number::from_binary(&bytes).map(Value::Decimal),
        PgScalar::Bytea => Some(Value::Blob(bytes.to_vec())),
        PgScalar::Date => four().map(|bits| Value::Date(day(bits.cast_signed()))),
        PgScalar::Time => fixed(8).map(|bits| Value::Time(bits.cast_signed())),
        PgScalar::Timestamp => fixed(8).map(|bits| Value::Timestamp(micros(bits.cast_signed()))),
        PgScalar::TimestampTz => fixed(8).map(|bits| Value::TimestampTz(micros(bits.cast_signed()))),
        PgScalar::Interval => span(bytes),
        PgScalar::Uuid => uuid::Uuid::from_slice(&bytes).ok().map(|id| Value::Uuid(id.to_string())),
        PgScalar::Jsonb => bytes
            .strip_prefix(&[1])
            .and_then(|json| std::str::from_utf8(json).ok())
            .and_then(|json| from_text(kind, json, clock)),
        PgScalar::Json | PgScalar::Text | PgScalar::Name => from_text(kind, text(&bytes)?, clock),
    })
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "on" | "1" => Some(true),
        "f" | "false" | "n" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Plain notation; an exponent moves the point.
fn numeric(text: &str) -> Option<Value> {
    /// Digits that any decimal may have; what is longer fits none.
    const DIGITS_MAX: usize = 76;
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => ("-", size),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match size.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (size, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole, fraction].concat();
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if exponent == 0 {
        return Some(Value::Decimal(format!("{sign}{mantissa}")));
    }
    let point = i32::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let places = usize::try_from(point.unsigned_abs()).ok()?;
    if places > DIGITS_MAX || all.len() > DIGITS_MAX {
        return None;
    }
    let plain = match usize::try_from(point) {
        Ok(point) if point >= all.len() => format!("{all:0<point$}"),
        Ok(point) => all.split_at_checked(point).map(|(whole, fraction)| format!("{whole}.{fraction}"))?,
        Err(_) => format!("0.{}{all}", "0".repeat(places)),
    };
    Some(Value::Decimal(format!("{sign}{plain}")))
}

/// Days since 1970 from days since 2000; the infinities are the engine's.
fn day(days: i32) -> i32 {
    match days {
        i32::MAX => i32::MAX,
        i32::MIN => -i32::MAX,
        days => days.saturating_add(EPOCH_DAYS),
    }
}

fn micros(micros: i64) -> i64 {
    match micros {
        i64::MAX => i64::MAX,
        i64::MIN => -i64::MAX,
        micros => micros.saturating_add(EPOCH_MICROS),
    }
}

fn span(bytes: Bytes) -> Option<Value> {
    let mut fields = MessageFields(bytes);
    let (high, low) = (fields.u32().ok()?, fields.u32().ok()?);
    let micros = ((u64::from(high) << 32) | u64::from(low)).cast_signed();
    let (days, months) = (fields.u32().ok()?.cast_signed(), fields.u32().ok()?.cast_signed());
    fields.end().ok().map(|()| Value::Interval { months, days, micros })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: SessionClock = SessionClock { now: chrono::DateTime::UNIX_EPOCH, zone: chrono_tz::Tz::UTC };

    fn text(oid: u32, text: &str) -> Result<Value, ErrorResponse> {
        value(1, oid, Format::Text, Some(Bytes::copy_from_slice(text.as_bytes())), &CLOCK)
    }

    fn binary(oid: u32, bytes: &[u8]) -> Result<Value, ErrorResponse> {
        value(1, oid, Format::Binary, Some(Bytes::copy_from_slice(bytes)), &CLOCK)
    }

    #[test]
    fn texts_are_read_by_their_type() {
        let cases = [
            (0, "1", Value::Text("1".to_owned())),
            (PgScalar::Bool.oid(), "t", Value::Boolean(true)),
            (PgScalar::Int4.oid(), " 42 ", Value::BigInt(42)),
            (PgScalar::Int8.oid(), "9223372036854775808", Value::HugeInt(9_223_372_036_854_775_808)),
            (PgScalar::Numeric.oid(), "-12.50", Value::Decimal("-12.50".to_owned())),
            (PgScalar::Numeric.oid(), "1e3", Value::Decimal("1000".to_owned())),
            (PgScalar::Numeric.oid(), "-12.5E-3", Value::Decimal("-0.0125".to_owned())),
            (PgScalar::Numeric.oid(), "1.25e1", Value::Decimal("12.5".to_owned())),
            (PgScalar::Interval.oid(), "1 day", Value::Interval { months: 0, days: 1, micros: 0 }),
            (PgScalar::Bytea.oid(), "\\x00ff", Value::Blob(vec![0, 255])),
            (PgScalar::Date.oid(), "2000-01-01", Value::Date(EPOCH_DAYS)),
            (PgScalar::Time.oid(), "00:00:01.5", Value::Time(1_500_000)),
            (PgScalar::Timestamp.oid(), "2000-01-01T00:00:00", Value::Timestamp(EPOCH_MICROS)),
            (PgScalar::Timestamp.oid(), "2000-01-01 00:00:00+05:30", Value::Timestamp(EPOCH_MICROS)),
            (PgScalar::TimestampTz.oid(), "2000-01-01 01:00:00+01", Value::TimestampTz(EPOCH_MICROS)),
            (PgScalar::TimestampTz.oid(), "2000-01-01T00:00:00Z", Value::TimestampTz(EPOCH_MICROS)),
            (PgScalar::Json.oid(), "{\"a\":1}", Value::Json("{\"a\":1}".to_owned())),
        ];
        for (oid, written, expected) in cases {
            assert_eq!(text(oid, written), Ok(expected), "{written}");
        }
    }

    #[test]
    fn binaries_are_read_by_their_type() {
        let cases: Vec<(u32, Vec<u8>, Value)> = vec![
            (PgScalar::Int2.oid(), vec![0xff, 0xff], Value::BigInt(-1)),
            (PgScalar::Int4.oid(), vec![0x80, 0, 0, 0], Value::BigInt(i32::MIN.into())),
            (PgScalar::Float8.oid(), 1.5_f64.to_be_bytes().to_vec(), Value::Double(1.5)),
            (PgScalar::Date.oid(), vec![0, 0, 0, 1], Value::Date(EPOCH_DAYS + 1)),
            (PgScalar::Timestamp.oid(), i64::MIN.to_be_bytes().to_vec(), Value::Timestamp(-i64::MAX)),
            (PgScalar::Jsonb.oid(), b"\x01[1]".to_vec(), Value::Json("[1]".to_owned())),
            (25, b"a".to_vec(), Value::Text("a".to_owned())),
            (
                PgScalar::Interval.oid(),
                [[0; 7].as_slice(), &[5, 0, 0, 0, 2, 0, 0, 0, 1]].concat(),
                Value::Interval { months: 1, days: 2, micros: 5 },
            ),
        ];
        for (oid, bytes, expected) in cases {
            assert_eq!(binary(oid, &bytes), Ok(expected), "{bytes:?}");
        }
        assert_eq!(value(1, PgScalar::Int4.oid(), Format::Binary, None, &CLOCK), Ok(Value::Null));
    }

    #[test]
    fn what_is_not_of_its_type_is_refused() {
        for (oid, written) in [
            (PgScalar::Int4.oid(), "1.5"),
            (PgScalar::Bool.oid(), "maybe"),
            (PgScalar::Date.oid(), "2024-02-30"),
            (PgScalar::Json.oid(), "{"),
            (PgScalar::Uuid.oid(), "x"),
            (PgScalar::Numeric.oid(), "."),
        ] {
            assert_eq!(text(oid, written).unwrap_err().sqlstate, "22P02", "{written}");
        }
        for (oid, written) in [
            (PgScalar::Int2.oid(), "32768"),
            (PgScalar::Int4.oid(), "-2147483649"),
            (PgScalar::Oid.oid(), "-1"),
            (1007, "{1,2147483648}"),
        ] {
            assert_eq!(text(oid, written).unwrap_err().sqlstate, "22003", "{written}");
        }
        assert_eq!(binary(PgScalar::Int4.oid(), &[1]).unwrap_err().sqlstate, "22P03");
        assert_eq!(binary(25, &[0xff]).unwrap_err().sqlstate, "22021");
        assert_eq!(text(1007, "{1,x}").unwrap_err().sqlstate, "22P02");
        assert_eq!(text(600, "(1,2)").unwrap_err().sqlstate, "0A000");
    }
}
