//! Bound values: bytes in text or binary form, by the type the statement wants, to values of the
//! engine.

mod array;

use bytes::Bytes;
use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use contract::Code;
use engine::Value;

use super::failure::ErrorResponse;
use super::message::MessageFields;
use crate::encode::pg_rows::moment::{EPOCH_DAYS, EPOCH_MICROS};
use crate::encode::pg_rows::scalar::{ParameterType, PgScalar};
use crate::encode::pg_rows::{Format, number};

/// The value of parameter `index` (from 1).
pub fn value(index: usize, oid: u32, format: Format, bytes: Option<Bytes>) -> Result<Value, ErrorResponse> {
    let Some(bytes) = bytes else { return Ok(Value::Null) };
    let Some(kind) = ParameterType::of(oid) else {
        return Err(ErrorResponse::unsupported(&format!("parameter ${index} of type {oid}"))
            .with_hint("cast the parameter to text in the statement"));
    };
    let read = match (format, kind) {
        (Format::Binary, ParameterType::One(kind)) => from_binary(kind, bytes)?,
        (Format::Binary, ParameterType::ArrayOf(item)) => array::binary(item, bytes)?,
        (Format::Text, ParameterType::One(kind)) => from_text(kind, text(&bytes)?),
        (Format::Text, ParameterType::ArrayOf(item)) => array::text(item, text(&bytes)?),
    };
    read.ok_or_else(|| refused(index, format))
}

fn text(bytes: &[u8]) -> Result<&str, ErrorResponse> {
    std::str::from_utf8(bytes).map_err(|_| ErrorResponse::encoding())
}

fn refused(index: usize, format: Format) -> ErrorResponse {
    let state = if format == Format::Binary { "22P03" } else { "22P02" };
    ErrorResponse::new(Code::ConversionFailed, format!("parameter ${index} is not a value of its type"))
        .with_state(state)
}

fn from_text(kind: PgScalar, text: &str) -> Option<Value> {
    let trimmed = text.trim();
    match kind {
        PgScalar::Bool => boolean(trimmed).map(Value::Boolean),
        PgScalar::Int2 | PgScalar::Int4 | PgScalar::Int8 | PgScalar::Oid => {
            trimmed.parse().map(Value::BigInt).ok().or_else(|| trimmed.parse().map(Value::HugeInt).ok())
        }
        PgScalar::Float4 | PgScalar::Float8 => trimmed.parse().map(Value::Double).ok(),
        PgScalar::Numeric => numeric(trimmed),
        PgScalar::Bytea => hex::decode(trimmed.strip_prefix("\\x")?).map(Value::Blob).ok(),
        PgScalar::Date => date(trimmed).map(Value::Date),
        PgScalar::Time => time(trimmed).map(Value::Time),
        PgScalar::Timestamp => timestamp(trimmed).map(Value::Timestamp),
        PgScalar::TimestampTz => timestamp_tz(trimmed).map(Value::TimestampTz),
        PgScalar::Uuid => uuid::Uuid::parse_str(trimmed).ok().map(|id| Value::Uuid(id.to_string())),
        PgScalar::Json | PgScalar::Jsonb => {
            serde_json::from_str::<serde::de::IgnoredAny>(text).ok().map(|_| Value::Json(text.to_owned()))
        }
        // The engine reads an interval's words.
        PgScalar::Interval | PgScalar::Text => Some(Value::Text(text.to_owned())),
    }
}

fn from_binary(kind: PgScalar, bytes: Bytes) -> Result<Option<Value>, ErrorResponse> {
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
        PgScalar::Timestamp => fixed(8).map(|bits| Value::Timestamp(moment(bits.cast_signed()))),
        PgScalar::TimestampTz => fixed(8).map(|bits| Value::TimestampTz(moment(bits.cast_signed()))),
        PgScalar::Interval => interval(bytes),
        PgScalar::Uuid => uuid::Uuid::from_slice(&bytes).ok().map(|id| Value::Uuid(id.to_string())),
        PgScalar::Jsonb => bytes
            .strip_prefix(&[1])
            .and_then(|json| std::str::from_utf8(json).ok())
            .and_then(|json| from_text(kind, json)),
        PgScalar::Json | PgScalar::Text => from_text(kind, text(&bytes)?),
    })
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "on" | "1" => Some(true),
        "f" | "false" | "n" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Plain notation goes as it is; an exponent makes it a double.
fn numeric(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits.bytes().filter(|byte| *byte == b'.').count() <= 1;
    if plain {
        return Some(Value::Decimal(text.trim_start_matches('+').to_owned()));
    }
    text.parse().ok().map(Value::Double)
}

fn date(text: &str) -> Option<i32> {
    match text {
        "infinity" => Some(i32::MAX),
        "-infinity" => Some(-i32::MAX),
        text => NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().map(|date| date.to_epoch_days()),
    }
}

fn time(text: &str) -> Option<i64> {
    let time =
        NaiveTime::parse_from_str(text, "%H:%M:%S%.f").or_else(|_| NaiveTime::parse_from_str(text, "%H:%M")).ok()?;
    Some(i64::from(time.num_seconds_from_midnight()) * 1_000_000 + i64::from(time.nanosecond() / 1_000))
}

fn infinite(text: &str) -> Option<i64> {
    match text {
        "infinity" => Some(i64::MAX),
        "-infinity" => Some(-i64::MAX),
        _ => None,
    }
}

/// An offset says nothing of it, as PostgreSQL has it: drivers send one with whatever they take for a timestamp.
fn timestamp(text: &str) -> Option<i64> {
    let spaced = text.replacen('T', " ", 1);
    let read = || {
        NaiveDateTime::parse_from_str(&spaced, "%Y-%m-%d %H:%M:%S%.f")
            .or_else(|_| NaiveDateTime::parse_from_str(&spaced, "%Y-%m-%d %H:%M"))
    };
    infinite(text)
        .or_else(|| read().ok().map(|moment| moment.and_utc().timestamp_micros()))
        .or_else(|| with_offset(&spaced).map(|moment| moment.naive_local().and_utc().timestamp_micros()))
        .or_else(|| date(text).map(|days| i64::from(days) * 86_400_000_000))
}

/// With an offset; without one it is UTC.
fn timestamp_tz(text: &str) -> Option<i64> {
    let spaced = text.replacen('T', " ", 1);
    with_offset(&spaced).map(|moment| moment.timestamp_micros()).or_else(|| timestamp(text))
}

fn with_offset(spaced: &str) -> Option<DateTime<FixedOffset>> {
    DateTime::parse_from_str(&spaced.replace('Z', "+00:00"), "%Y-%m-%d %H:%M:%S%.f%#z").ok()
}

/// Days since 1970 from days since 2000; the infinities are the engine's.
fn day(days: i32) -> i32 {
    match days {
        i32::MAX => i32::MAX,
        i32::MIN => -i32::MAX,
        days => days.saturating_add(EPOCH_DAYS),
    }
}

fn moment(micros: i64) -> i64 {
    match micros {
        i64::MAX => i64::MAX,
        i64::MIN => -i64::MAX,
        micros => micros.saturating_add(EPOCH_MICROS),
    }
}

fn interval(bytes: Bytes) -> Option<Value> {
    let mut fields = MessageFields(bytes);
    let (high, low) = (fields.u32().ok()?, fields.u32().ok()?);
    let micros = ((u64::from(high) << 32) | u64::from(low)).cast_signed();
    let (days, months) = (fields.u32().ok()?.cast_signed(), fields.u32().ok()?.cast_signed());
    fields.end().ok().map(|()| Value::Interval { months, days, micros })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(oid: u32, text: &str) -> Result<Value, ErrorResponse> {
        value(1, oid, Format::Text, Some(Bytes::copy_from_slice(text.as_bytes())))
    }

    fn binary(oid: u32, bytes: &[u8]) -> Result<Value, ErrorResponse> {
        value(1, oid, Format::Binary, Some(Bytes::copy_from_slice(bytes)))
    }

    #[test]
    fn texts_are_read_by_their_type() {
        let cases = [
            (0, "1", Value::Text("1".to_owned())),
            (PgScalar::Bool.oid(), "t", Value::Boolean(true)),
            (PgScalar::Int4.oid(), " 42 ", Value::BigInt(42)),
            (PgScalar::Int8.oid(), "9223372036854775808", Value::HugeInt(9_223_372_036_854_775_808)),
            (PgScalar::Numeric.oid(), "-12.50", Value::Decimal("-12.50".to_owned())),
            (PgScalar::Numeric.oid(), "1e3", Value::Double(1000.0)),
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
        assert_eq!(value(1, PgScalar::Int4.oid(), Format::Binary, None), Ok(Value::Null));
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
        assert_eq!(binary(PgScalar::Int4.oid(), &[1]).unwrap_err().sqlstate, "22P03");
        assert_eq!(binary(25, &[0xff]).unwrap_err().sqlstate, "22021");
        assert_eq!(text(1007, "{1,x}").unwrap_err().sqlstate, "22P02");
        assert_eq!(text(600, "(1,2)").unwrap_err().sqlstate, "0A000");
    }
}
