//! An encoder that writes value by value, to which the one that writes column by column is held.

use std::fmt::Write;
use std::ops::Range;

use arrow::array::RecordBatch;
use bytes::{BufMut, BytesMut};
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Offset, TimeZone, Timelike};
use chrono_tz::Tz;

use super::super::interval::Interval;
use super::super::number::Decimal;
use super::super::value::{ColumnValues, interval as interval_at};
use super::super::{EncodedColumn, Field, columns, patch};

/// Rows as `DataRow` messages.
pub fn write(out: &mut BytesMut, batch: &RecordBatch, rows: Range<usize>, fields: &[Field], zone: Tz) {
    let columns = columns(batch, fields, zone).unwrap();
    for row in rows {
        out.put_u8(b'D');
        let start = out.len();
        out.put_u32(0);
        out.put_u16(u16::try_from(columns.len()).unwrap());
        for (column, is_binary) in &columns {
            if column.is_null(row) {
                out.put_i32(-1);
                continue;
            }
            let mut value = BytesMut::new();
            if *is_binary {
                let mut binary = Vec::new();
                column.binary(row, &mut binary);
                value.put_slice(&binary);
            } else {
                text(column, row, &mut value);
            }
            out.put_u32(u32::try_from(value.len()).unwrap());
            out.put_slice(&value);
        }
        let length = out.len() - start;
        patch(out, start, length);
    }
}

fn text(column: &EncodedColumn<'_>, row: usize, out: &mut BytesMut) {
    match &column.values {
        ColumnValues::Bool(values) => out.put_u8(if values.value(row) { b't' } else { b'f' }),
        ColumnValues::Integer(values, _) => integer(values.at(row), out),
        ColumnValues::Real(values) => float4(values.value(row), out),
        ColumnValues::Double(values) => float8(values.value(row), out),
        ColumnValues::Decimal(values, scale) => decimal(Decimal { digits: values.value(row), scale: *scale }, out),
        ColumnValues::Bytes(values) => {
            out.put_slice(b"\\x");
            out.put_slice(hex::encode(values.value(row)).as_bytes());
        }
        ColumnValues::Date(values) => date(values.value(row), out),
        ColumnValues::Time(values) => time(values.at(row), out),
        ColumnValues::Timestamp(values) => timestamp(values.at(row), out),
        ColumnValues::TimestampTz(values, zone) => timestamp_tz(values.at(row), *zone, out),
        ColumnValues::Interval(values) => interval(interval_at(values, row), out),
        // All others are nothing but their bytes, or made of the values above.
        _ => {
            let mut text = Vec::new();
            column.text(row, &mut text);
            out.put_slice(&text);
        }
    }
}

/// The digits of an integer.
fn integer(value: i128, out: &mut BytesMut) {
    if value < 0 {
        out.put_u8(b'-');
    }
    digits(value.unsigned_abs(), 1, out);
}

/// The digits of a number, at least `least` of them.
fn digits(value: u128, least: usize, out: &mut BytesMut) {
    let mut buffer = [b'0'; 40];
    let mut start = buffer.len();
    let mut put = |digit: u8| {
        start -= 1;
        if let Some(place) = buffer.get_mut(start) {
            *place = b'0' + digit;
        }
    };
    let mut count = 0;
    // Division of 64 bits is several times faster than of 128, and nearly always enough.
    let mut wide = value;
    while wide > u128::from(u64::MAX) {
        put(u8::try_from(wide % 10).unwrap_or(0));
        wide /= 10;
        count += 1;
    }
    let mut narrow = u64::try_from(wide).unwrap_or(u64::MAX);
    while narrow > 0 || count < least {
        put(u8::try_from(narrow % 10).unwrap_or(0));
        narrow /= 10;
        count += 1;
    }
    out.put_slice(buffer.get(start..).unwrap_or_default());
}

/// Plain notation: `-12.50`.
fn decimal(Decimal { digits: unscaled, scale }: Decimal, out: &mut BytesMut) {
    if unscaled < 0 {
        out.put_u8(b'-');
    }
    let at = out.len();
    digits(unscaled.unsigned_abs(), usize::from(scale) + 1, out);
    if scale > 0 {
        let point = out.len() - usize::from(scale);
        out.put_u8(0);
        if let Some(tail) = out.get_mut(at..) {
            let from = point - at;
            let end = tail.len();
            tail.copy_within(from..end - 1, from + 1);
            if let Some(place) = tail.get_mut(from) {
                *place = b'.';
            }
        }
    }
}

/// A double as PostgreSQL prints it: the shortest digits that read back the same.
fn float8(value: f64, out: &mut BytesMut) {
    float(value.is_nan(), value.is_infinite(), value.is_sign_negative(), &format!("{value:e}"), 15, out);
}

/// A real, likewise.
fn float4(value: f32, out: &mut BytesMut) {
    float(value.is_nan(), value.is_infinite(), value.is_sign_negative(), &format!("{value:e}"), 6, out);
}

/// Lays out `d.ddde±x`: plain from 1e-4 up to 15 (6) places, with an exponent beyond.
fn float(nan: bool, infinite: bool, negative: bool, scientific: &str, plain_max: i32, out: &mut BytesMut) {
    if nan {
        return out.put_slice(b"NaN");
    }
    if infinite {
        return out.put_slice(if negative { b"-Infinity" } else { b"Infinity" });
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mantissa = mantissa.trim_start_matches('-');
    if negative {
        out.put_u8(b'-');
    }
    if exponent < -4 || exponent >= plain_max {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{mantissa}e{sign}{:02}", exponent.abs());
        return;
    }
    // One digit before the point.
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let Ok(places) = usize::try_from(exponent) else {
        out.put_slice(b"0.");
        out.put_bytes(b'0', usize::try_from(-exponent - 1).unwrap_or(0));
        out.put_slice(first.as_bytes());
        return out.put_slice(rest.as_bytes());
    };
    out.put_slice(first.as_bytes());
    let (whole, behind) = rest.split_at_checked(places).unwrap_or((rest, ""));
    out.put_slice(whole.as_bytes());
    out.put_bytes(b'0', places - whole.len());
    if !behind.is_empty() {
        out.put_u8(b'.');
        out.put_slice(behind.as_bytes());
    }
}

/// Days since 1970 as text.
fn date(days: i32, out: &mut BytesMut) {
    match days {
        i32::MAX => out.put_slice(b"infinity"),
        days if days == -i32::MAX => out.put_slice(b"-infinity"),
        days => match NaiveDate::from_epoch_days(days) {
            Some(date) => {
                ymd(date, out);
                era(date, out);
            }
            // Beyond what a calendar here reaches, as is.
            None => out.put_slice(days.to_string().as_bytes()),
        },
    }
}

/// Microseconds since midnight as text.
fn time(micros: i64, out: &mut BytesMut) {
    let seconds = micros.div_euclid(1_000_000);
    two(seconds / 3600, out);
    out.put_u8(b':');
    two(seconds / 60 % 60, out);
    out.put_u8(b':');
    two(seconds % 60, out);
    fraction(micros.rem_euclid(1_000_000), out);
}

/// Microseconds since 1970 as text, without a zone.
fn timestamp(micros: i64, out: &mut BytesMut) {
    if let Some(moment) = finite(micros, out) {
        stamp(moment, out);
        era(moment.date(), out);
    }
}

/// Microseconds since 1970 as text in this zone, with its offset.
fn timestamp_tz(micros: i64, zone: Tz, out: &mut BytesMut) {
    let Some(utc) = finite(micros, out) else { return };
    let there = zone.from_utc_datetime(&utc);
    stamp(there.naive_local(), out);
    offset(there.offset().fix().local_minus_utc(), out);
    era(there.date_naive(), out);
}

/// The moment, unless it is infinite or beyond the calendar, which is written at once.
fn finite(micros: i64, out: &mut BytesMut) -> Option<NaiveDateTime> {
    if micros == i64::MAX {
        out.put_slice(b"infinity");
        return None;
    }
    if micros == -i64::MAX {
        out.put_slice(b"-infinity");
        return None;
    }
    let moment = DateTime::from_timestamp_micros(micros);
    if moment.is_none() {
        out.put_slice(micros.to_string().as_bytes());
    }
    moment.map(|moment| moment.naive_utc())
}

fn stamp(moment: NaiveDateTime, out: &mut BytesMut) {
    ymd(moment.date(), out);
    out.put_u8(b' ');
    let micros = i64::from(moment.num_seconds_from_midnight()) * 1_000_000 + i64::from(moment.nanosecond() / 1000);
    time(micros, out);
}

fn ymd(date: NaiveDate, out: &mut BytesMut) {
    let (_, year) = date.year_ce();
    if year < 10_000 {
        two(i64::from(year / 100), out);
        two(i64::from(year % 100), out);
    } else {
        out.put_slice(year.to_string().as_bytes());
    }
    out.put_u8(b'-');
    two(i64::from(date.month()), out);
    out.put_u8(b'-');
    two(i64::from(date.day()), out);
}

fn era(date: NaiveDate, out: &mut BytesMut) {
    if !date.year_ce().0 {
        out.put_slice(b" BC");
    }
}

fn offset(seconds: i32, out: &mut BytesMut) {
    out.put_u8(if seconds < 0 { b'-' } else { b'+' });
    let seconds = i64::from(seconds.abs());
    two(seconds / 3600, out);
    for part in [seconds / 60 % 60, seconds % 60] {
        if seconds % 3600 != 0 && (part != 0 || seconds % 60 != 0) {
            out.put_u8(b':');
            two(part, out);
        }
    }
}

fn two(number: i64, out: &mut BytesMut) {
    let digit = |digit: i64| b'0' + u8::try_from(digit % 10).unwrap_or(0);
    out.put_slice(&[digit(number / 10), digit(number)]);
}

/// `.ffffff` without zeros at its end.
fn fraction(micros: i64, out: &mut BytesMut) {
    if micros == 0 {
        return;
    }
    let text = format!(".{micros:06}");
    out.put_slice(text.trim_end_matches('0').as_bytes());
}

/// `1 year 2 mons -3 days +04:05:06.7`.
fn interval(value: Interval, out: &mut BytesMut) {
    let start = out.len();
    let parts = [(value.months / 12, "year", "years"), (value.months % 12, "mon", "mons"), (value.days, "day", "days")];
    let mut negative = false;
    for (number, one, many) in parts {
        if number != 0 {
            let space = if out.len() > start { " " } else { "" };
            let plus = if negative && number > 0 { "+" } else { "" };
            let unit = if number == 1 { one } else { many };
            out.put_slice(format!("{space}{plus}{number} {unit}").as_bytes());
            negative = number < 0;
        }
    }
    if value.micros != 0 || out.len() == start {
        if out.len() > start {
            out.put_u8(b' ');
        }
        interval_time(value, negative, out);
    }
}

fn interval_time(value: Interval, negative: bool, out: &mut BytesMut) {
    if value.micros < 0 {
        out.put_u8(b'-');
    } else if negative {
        out.put_u8(b'+');
    }
    let micros = value.micros.unsigned_abs();
    let seconds = micros / 1_000_000;
    let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    out.put_slice(text.as_bytes());
    fraction(i64::try_from(micros % 1_000_000).unwrap_or(0), out);
}
