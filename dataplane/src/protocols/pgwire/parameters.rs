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
use crate::encode::pg_rows::{Format, number};

/// Type ids that a parameter may have. 0 and `unknown` take what their text says.
mod oid {
    pub const BOOL: u32 = 16;
    pub const BYTEA: u32 = 17;
    pub const INT8: u32 = 20;
    pub const INT2: u32 = 21;
    pub const INT4: u32 = 23;
    pub const OID: u32 = 26;
    pub const JSON: u32 = 114;
    pub const FLOAT4: u32 = 700;
    pub const FLOAT8: u32 = 701;
    pub const DATE: u32 = 1082;
    pub const TIME: u32 = 1083;
    pub const TIMESTAMP: u32 = 1114;
    pub const TIMESTAMPTZ: u32 = 1184;
    pub const INTERVAL: u32 = 1186;
    pub const NUMERIC: u32 = 1700;
    pub const UUID: u32 = 2950;
    pub const JSONB: u32 = 3802;
    /// Text under its several names: unspecified, name, text, unknown, bpchar, varchar.
    pub const TEXTS: [u32; 6] = [0, 19, 25, 705, 1042, 1043];
}

/// The value of parameter `index` (from 1).
pub fn value(index: usize, oid: u32, format: Format, bytes: Option<Bytes>) -> Result<Value, ErrorResponse> {
    let Some(bytes) = bytes else { return Ok(Value::Null) };
    let read = match format {
        Format::Text => {
            let text = std::str::from_utf8(&bytes).map_err(|_| ErrorResponse::encoding())?;
            from_text(oid, text)
        }
        Format::Binary => from_binary(oid, bytes)?,
    };
    read.ok_or_else(|| refused(index, oid, format))
}

fn refused(index: usize, oid: u32, format: Format) -> ErrorResponse {
    if !is_known(oid) {
        return ErrorResponse::unsupported(&format!("parameter ${index} of type {oid}"))
            .with_hint("cast the parameter to text in the statement");
    }
    let state = if format == Format::Binary { "22P03" } else { "22P02" };
    ErrorResponse::new(Code::ConversionFailed, format!("parameter ${index} is not a value of its type"))
        .with_state(state)
}

fn is_known(oid: u32) -> bool {
    use oid::{
        BOOL, BYTEA, DATE, FLOAT4, FLOAT8, INT2, INT4, INT8, INTERVAL, JSON, JSONB, NUMERIC, OID, TIME, TIMESTAMP,
        TIMESTAMPTZ, UUID,
    };
    let others = [
        BOOL,
        BYTEA,
        DATE,
        FLOAT4,
        FLOAT8,
        INT2,
        INT4,
        INT8,
        INTERVAL,
        JSON,
        JSONB,
        NUMERIC,
        OID,
        TIME,
        TIMESTAMP,
        TIMESTAMPTZ,
        UUID,
    ];
    others.contains(&oid) || oid::TEXTS.contains(&oid) || array::item(oid).is_some()
}

fn from_text(kind: u32, text: &str) -> Option<Value> {
    let trimmed = text.trim();
    match kind {
        oid::BOOL => boolean(trimmed).map(Value::Boolean),
        oid::INT2 | oid::INT4 | oid::INT8 | oid::OID => {
            trimmed.parse().map(Value::BigInt).ok().or_else(|| trimmed.parse().map(Value::HugeInt).ok())
        }
        oid::FLOAT4 | oid::FLOAT8 => trimmed.parse().map(Value::Double).ok(),
        oid::NUMERIC => numeric(trimmed),
        oid::BYTEA => hex::decode(trimmed.strip_prefix("\\x")?).map(Value::Blob).ok(),
        oid::DATE => date(trimmed).map(Value::Date),
        oid::TIME => time(trimmed).map(Value::Time),
        oid::TIMESTAMP => timestamp(trimmed).map(Value::Timestamp),
        oid::TIMESTAMPTZ => timestamp_tz(trimmed).map(Value::TimestampTz),
        oid::UUID => uuid::Uuid::parse_str(trimmed).ok().map(|id| Value::Uuid(id.to_string())),
        oid::JSON | oid::JSONB => {
            serde_json::from_str::<serde::de::IgnoredAny>(text).ok().map(|_| Value::Json(text.to_owned()))
        }
        // The engine reads an interval's words.
        oid::INTERVAL => Some(Value::Text(text.to_owned())),
        kind if oid::TEXTS.contains(&kind) => Some(Value::Text(text.to_owned())),
        kind => array::text(array::item(kind)?, text),
    }
}

fn from_binary(kind: u32, bytes: Bytes) -> Result<Option<Value>, ErrorResponse> {
    let fixed = |length: usize| {
        (bytes.len() == length).then(|| bytes.iter().fold(0_u64, |all, byte| (all << 8) | u64::from(*byte)))
    };
    let four = || fixed(4).and_then(|bits| u32::try_from(bits).ok());
    Ok(match kind {
        oid::BOOL => fixed(1).map(|bits| Value::Boolean(bits != 0)),
        oid::INT2 => {
            fixed(2).and_then(|bits| u16::try_from(bits).ok()).map(|bits| Value::BigInt(bits.cast_signed().into()))
        }
        oid::INT4 => four().map(|bits| Value::BigInt(bits.cast_signed().into())),
        oid::OID => four().map(|bits| Value::BigInt(bits.into())),
        oid::INT8 => fixed(8).map(|bits| Value::BigInt(bits.cast_signed())),
        oid::FLOAT4 => four().map(|bits| Value::Double(f32::from_bits(bits).into())),
        oid::FLOAT8 => fixed(8).map(|bits| Value::Double(f64::from_bits(bits))),
        oid::NUMERIC => number::from_binary(&bytes).map(Value::Decimal),
        oid::BYTEA => Some(Value::Blob(bytes.to_vec())),
        oid::DATE => four().map(|bits| Value::Date(day(bits.cast_signed()))),
        oid::TIME => fixed(8).map(|bits| Value::Time(bits.cast_signed())),
        oid::TIMESTAMP => fixed(8).map(|bits| Value::Timestamp(moment(bits.cast_signed()))),
        oid::TIMESTAMPTZ => fixed(8).map(|bits| Value::TimestampTz(moment(bits.cast_signed()))),
        oid::INTERVAL => interval(bytes),
        oid::UUID => uuid::Uuid::from_slice(&bytes).ok().map(|id| Value::Uuid(id.to_string())),
        oid::JSONB => bytes
            .strip_prefix(&[1])
            .and_then(|json| std::str::from_utf8(json).ok())
            .and_then(|json| from_text(kind, json)),
        kind => match array::item(kind) {
            Some(item) => array::binary(item, bytes)?,
            None => from_text(kind, std::str::from_utf8(&bytes).map_err(|_| ErrorResponse::encoding())?),
        },
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
            (oid::BOOL, "t", Value::Boolean(true)),
            (oid::INT4, " 42 ", Value::BigInt(42)),
            (oid::INT8, "9223372036854775808", Value::HugeInt(9_223_372_036_854_775_808)),
            (oid::NUMERIC, "-12.50", Value::Decimal("-12.50".to_owned())),
            (oid::NUMERIC, "1e3", Value::Double(1000.0)),
            (oid::BYTEA, "\\x00ff", Value::Blob(vec![0, 255])),
            (oid::DATE, "2000-01-01", Value::Date(EPOCH_DAYS)),
            (oid::TIME, "00:00:01.5", Value::Time(1_500_000)),
            (oid::TIMESTAMP, "2000-01-01T00:00:00", Value::Timestamp(EPOCH_MICROS)),
            (oid::TIMESTAMP, "2000-01-01 00:00:00+05:30", Value::Timestamp(EPOCH_MICROS)),
            (oid::TIMESTAMPTZ, "2000-01-01 01:00:00+01", Value::TimestampTz(EPOCH_MICROS)),
            (oid::TIMESTAMPTZ, "2000-01-01T00:00:00Z", Value::TimestampTz(EPOCH_MICROS)),
            (oid::JSON, "{\"a\":1}", Value::Json("{\"a\":1}".to_owned())),
        ];
        for (oid, written, expected) in cases {
            assert_eq!(text(oid, written), Ok(expected), "{written}");
        }
    }

    #[test]
    fn binaries_are_read_by_their_type() {
        let cases: Vec<(u32, Vec<u8>, Value)> = vec![
            (oid::INT2, vec![0xff, 0xff], Value::BigInt(-1)),
            (oid::INT4, vec![0x80, 0, 0, 0], Value::BigInt(i32::MIN.into())),
            (oid::FLOAT8, 1.5_f64.to_be_bytes().to_vec(), Value::Double(1.5)),
            (oid::DATE, vec![0, 0, 0, 1], Value::Date(EPOCH_DAYS + 1)),
            (oid::TIMESTAMP, i64::MIN.to_be_bytes().to_vec(), Value::Timestamp(-i64::MAX)),
            (oid::JSONB, b"\x01[1]".to_vec(), Value::Json("[1]".to_owned())),
            (25, b"a".to_vec(), Value::Text("a".to_owned())),
            (
                oid::INTERVAL,
                [[0; 7].as_slice(), &[5, 0, 0, 0, 2, 0, 0, 0, 1]].concat(),
                Value::Interval { months: 1, days: 2, micros: 5 },
            ),
        ];
        for (oid, bytes, expected) in cases {
            assert_eq!(binary(oid, &bytes), Ok(expected), "{bytes:?}");
        }
        assert_eq!(value(1, oid::INT4, Format::Binary, None), Ok(Value::Null));
    }

    #[test]
    fn what_is_not_of_its_type_is_refused() {
        for (oid, written) in [
            (oid::INT4, "1.5"),
            (oid::BOOL, "maybe"),
            (oid::DATE, "2024-02-30"),
            (oid::JSON, "{"),
            (oid::UUID, "x"),
            (oid::NUMERIC, "."),
        ] {
            assert_eq!(text(oid, written).unwrap_err().sqlstate, "22P02", "{written}");
        }
        assert_eq!(binary(oid::INT4, &[1]).unwrap_err().sqlstate, "22P03");
        assert_eq!(binary(25, &[0xff]).unwrap_err().sqlstate, "22021");
        assert_eq!(text(1007, "{1,x}").unwrap_err().sqlstate, "22P02");
        assert_eq!(text(600, "(1,2)").unwrap_err().sqlstate, "0A000");
    }
}
