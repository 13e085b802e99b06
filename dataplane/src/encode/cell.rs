//! One value of a batch, as the text encodings see it.

use std::fmt::Write;

use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalDayTimeType, IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType, Time64MicrosecondType,
    Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use chrono::{DateTime, Datelike, NaiveDate};

/// A value, borrowed where it can be.
#[derive(Debug)]
pub enum Cell<'a> {
    Null,
    Boolean(bool),
    Integer(i128),
    /// Unscaled value and the digits behind the point.
    Decimal(i128, i8),
    Float(f32),
    Double(f64),
    Text(&'a str),
    Blob(&'a [u8]),
    /// Days since 1970.
    Date(i32),
    /// Nanoseconds since midnight.
    Time(i64),
    /// Seconds since 1970 and nanoseconds; in UTC when it has a zone.
    Timestamp {
        seconds: i64,
        nanos: u32,
        zoned: bool,
    },
    Interval {
        months: i32,
        days: i32,
        nanos: i64,
    },
    List(ArrayRef),
    Struct(&'a StructArray, usize),
    /// Keys and values of the entries.
    Map(ArrayRef, ArrayRef),
    /// A type that no encoding here knows.
    Unknown(&'a DataType),
}

/// The value of a row. A row beyond the array is NULL.
pub fn at(array: &dyn Array, row: usize) -> Cell<'_> {
    if row >= array.len() || array.is_null(row) {
        return Cell::Null;
    }
    match array.data_type() {
        DataType::Null => Cell::Null,
        DataType::Boolean => Cell::Boolean(array.as_boolean().value(row)),
        DataType::Int8 => Cell::Integer(array.as_primitive::<Int8Type>().value(row).into()),
        DataType::Int16 => Cell::Integer(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int32 => Cell::Integer(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => Cell::Integer(array.as_primitive::<Int64Type>().value(row).into()),
        DataType::UInt8 => Cell::Integer(array.as_primitive::<UInt8Type>().value(row).into()),
        DataType::UInt16 => Cell::Integer(array.as_primitive::<UInt16Type>().value(row).into()),
        DataType::UInt32 => Cell::Integer(array.as_primitive::<UInt32Type>().value(row).into()),
        DataType::UInt64 => Cell::Integer(array.as_primitive::<UInt64Type>().value(row).into()),
        DataType::Decimal128(_, scale) => Cell::Decimal(array.as_primitive::<Decimal128Type>().value(row), *scale),
        DataType::Float32 => Cell::Float(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Cell::Double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Cell::Text(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Cell::Text(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Cell::Text(array.as_string_view().value(row)),
        DataType::Binary => Cell::Blob(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Cell::Blob(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => Cell::Blob(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => Cell::Blob(array.as_fixed_size_binary().value(row)),
        DataType::Date32 => Cell::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Time64(TimeUnit::Microsecond) => {
            Cell::Time(array.as_primitive::<Time64MicrosecondType>().value(row).saturating_mul(1_000))
        }
        DataType::Time64(_) => Cell::Time(array.as_primitive::<Time64NanosecondType>().value(row)),
        DataType::Timestamp(unit, zone) => timestamp(array, row, *unit, zone.is_some()),
        DataType::Interval(unit) => interval(array, row, *unit),
        DataType::List(_) => Cell::List(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => Cell::List(array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => Cell::List(array.as_fixed_size_list().value(row)),
        DataType::Struct(_) => Cell::Struct(array.as_struct(), row),
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            Cell::Map(entries.column(0).clone(), entries.column(1).clone())
        }
        other => Cell::Unknown(other),
    }
}

fn timestamp(array: &dyn Array, row: usize, unit: TimeUnit, zoned: bool) -> Cell<'_> {
    let (value, a_second) = match unit {
        TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(row), 1),
        TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().value(row), 1_000),
        TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().value(row), 1_000_000),
        TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().value(row), 1_000_000_000),
    };
    let part = value.rem_euclid(a_second) * (1_000_000_000 / a_second);
    Cell::Timestamp { seconds: value.div_euclid(a_second), nanos: u32::try_from(part).unwrap_or(0), zoned }
}

fn interval(array: &dyn Array, row: usize, unit: IntervalUnit) -> Cell<'_> {
    match unit {
        IntervalUnit::YearMonth => {
            Cell::Interval { months: array.as_primitive::<IntervalYearMonthType>().value(row), days: 0, nanos: 0 }
        }
        IntervalUnit::DayTime => {
            let value = array.as_primitive::<IntervalDayTimeType>().value(row);
            Cell::Interval { months: 0, days: value.days, nanos: i64::from(value.milliseconds) * 1_000_000 }
        }
        IntervalUnit::MonthDayNano => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            Cell::Interval { months: value.months, days: value.days, nanos: value.nanoseconds }
        }
    }
}

/// An integer; nearly all fit in 64 bits, which are written several times faster.
pub fn integer(out: &mut String, value: i128) {
    let _ = match i64::try_from(value) {
        Ok(narrow) => write!(out, "{narrow}"),
        Err(_) => write!(out, "{value}"),
    };
}

/// A decimal with all its digits.
pub fn decimal(out: &mut String, unscaled: i128, scale: i8) {
    let Ok(scale @ 1..) = usize::try_from(scale) else { return integer(out, unscaled) };
    if unscaled < 0 {
        out.push('-');
    }
    let (digits, width) = (unscaled.unsigned_abs(), scale + 1);
    let _ = match u64::try_from(digits) {
        Ok(narrow) => write!(out, "{narrow:0width$}"),
        Err(_) => write!(out, "{digits:0width$}"),
    };
    out.insert(out.len() - scale, '.');
}

/// `YYYY-MM-DD`; the engine's infinities and what no calendar holds by their number.
pub fn date(out: &mut String, days: i32) {
    const INFINITE: i32 = i32::MAX;
    const UNIX_EPOCH_FROM_CE: i32 = 719_163;
    let day = days.checked_add(UNIX_EPOCH_FROM_CE).and_then(NaiveDate::from_num_days_from_ce_opt);
    let _ = match (days, day) {
        (INFINITE, _) => write!(out, "infinity"),
        (days, _) if days == -INFINITE => write!(out, "-infinity"),
        (_, Some(day)) => ymd(out, day),
        (days, None) => write!(out, "{days} days"),
    };
}

/// `YYYY-MM-DD`; a year of other than four digits as the calendar writes it.
fn ymd(out: &mut String, day: NaiveDate) -> std::fmt::Result {
    let Ok(year @ ..=9_999) = u32::try_from(day.year()) else {
        return write!(out, "{}", day.format("%Y-%m-%d"));
    };
    two(out, year / 100);
    two(out, year % 100);
    out.push('-');
    two(out, day.month());
    out.push('-');
    two(out, day.day());
    Ok(())
}

/// `HH:MM:SS`; of an interval the hours may be more.
fn clock(out: &mut String, seconds: i64) {
    match u32::try_from(seconds / 3_600) {
        Ok(hours @ ..=99) => two(out, hours),
        _ => {
            let _ = write!(out, "{:02}", seconds / 3_600);
        }
    }
    for part in [seconds / 60 % 60, seconds % 60] {
        out.push(':');
        two(out, u32::try_from(part).unwrap_or(0));
    }
}

/// A number below 100 in two digits.
fn two(out: &mut String, number: u32) {
    for digit in [number / 10 % 10, number % 10] {
        out.push(char::from_digit(digit, 10).unwrap_or('0'));
    }
}

/// `HH:MM:SS[.ffffff]`.
pub fn time(out: &mut String, nanos: i64) {
    clock(out, nanos.div_euclid(1_000_000_000));
    fraction(out, u32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap_or(0));
}

/// `YYYY-MM-DD HH:MM:SS[.ffffff]`, and `+00` when it is a moment.
pub fn timestamp_text(out: &mut String, seconds: i64, nanos: u32, zoned: bool) {
    // The engine's infinities are the largest numbers of microseconds.
    if seconds == i64::MAX / 1_000_000 || seconds == -(i64::MAX / 1_000_000) - 1 {
        out.push_str(if seconds > 0 { "infinity" } else { "-infinity" });
        return;
    }
    let Some(moment) = DateTime::from_timestamp(seconds, 0) else {
        let _ = write!(out, "{seconds} seconds");
        return;
    };
    let _ = ymd(out, moment.date_naive());
    out.push(' ');
    clock(out, seconds.rem_euclid(86_400));
    fraction(out, nanos);
    if zoned {
        out.push_str("+00");
    }
}

fn fraction(out: &mut String, nanos: u32) {
    match nanos {
        0 => {}
        nanos if nanos % 1_000 == 0 => {
            let _ = write!(out, ".{:06}", nanos / 1_000);
        }
        nanos => {
            let _ = write!(out, ".{nanos:09}");
        }
    }
}

/// As PostgreSQL prints it: `1 year 2 mons 3 days 04:05:06.7`.
pub fn interval_text(out: &mut String, months: i32, days: i32, nanos: i64) {
    let start = out.len();
    let part = |out: &mut String, count: i32, one: &str, many: &str| {
        if count != 0 {
            let gap = if out.len() > start { " " } else { "" };
            let _ = write!(out, "{gap}{count} {}", if count == 1 { one } else { many });
        }
    };
    part(out, months / 12, "year", "years");
    part(out, months % 12, "mon", "mons");
    part(out, days, "day", "days");
    if nanos != 0 || out.len() == start {
        let gap = if out.len() > start { " " } else { "" };
        out.push_str(gap);
        if nanos < 0 {
            out.push('-');
        }
        time(out, nanos.saturating_abs());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_written_as_their_digits_say(wide: i128, narrow: i64, scale in 0_i8..=38) {
            for unscaled in [wide, i128::from(narrow), i128::from(narrow % 1_000)] {
                prop_assert_eq!(text(|out| integer(out, unscaled)), unscaled.to_string());
                let places = usize::try_from(scale).unwrap();
                let digits = format!("{:0>width$}", unscaled.unsigned_abs().to_string(), width = places + 1);
                let (whole, behind) = digits.split_at(digits.len() - places);
                let sign = if unscaled < 0 { "-" } else { "" };
                let point = if scale > 0 { "." } else { "" };
                prop_assert_eq!(text(|out| decimal(out, unscaled, scale)), format!("{sign}{whole}{point}{behind}"));
            }
        }

        #[test]
        fn days_and_moments_are_written_as_the_calendar_writes_them(days in -5_000_000..5_000_000_i32, of_day in 0..86_400_i64) {
            let day = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap() + chrono::Duration::days(days.into());
            prop_assert_eq!(text(|out| date(out, days)), day.format("%Y-%m-%d").to_string());
            let seconds = i64::from(days) * 86_400 + of_day;
            let moment = DateTime::from_timestamp(seconds, 0).unwrap();
            let expected = moment.format("%Y-%m-%d %H:%M:%S").to_string();
            prop_assert_eq!(text(|out| timestamp_text(out, seconds, 0, false)), expected);
            prop_assert_eq!(text(|out| time(out, of_day * 1_000_000_000)), moment.format("%H:%M:%S").to_string());
        }
    }

    fn text(write: impl Fn(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn decimals_keep_all_digits() {
        let cases =
            [(0, 2, "0.00"), (5, 2, "0.05"), (-5, 2, "-0.05"), (12345, 3, "12.345"), (7, 0, "7"), (-100, 1, "-10.0")];
        for (unscaled, scale, expected) in cases {
            assert_eq!(text(|out| decimal(out, unscaled, scale)), expected);
        }
        assert_eq!(text(|out| decimal(out, i128::MAX, 38)), "1.70141183460469231731687303715884105727");
    }

    #[test]
    fn dates_and_times_are_written_as_the_engine_writes_them() {
        assert_eq!(text(|out| date(out, 0)), "1970-01-01");
        assert_eq!(text(|out| date(out, -1)), "1969-12-31");
        assert_eq!(text(|out| date(out, i32::MAX)), "infinity");
        assert_eq!(text(|out| time(out, 3_723_000_001_000)), "01:02:03.000001");
        assert_eq!(text(|out| timestamp_text(out, 0, 500_000_000, true)), "1970-01-01 00:00:00.500000+00");
        assert_eq!(text(|out| timestamp_text(out, -1, 0, false)), "1969-12-31 23:59:59");
    }

    #[test]
    fn intervals_name_only_what_they_have() {
        let cases = [
            (14, 3, 14_706_000_000_000, "1 year 2 mons 3 days 04:05:06"),
            (0, 1, 0, "1 day"),
            (0, 0, 0, "00:00:00"),
            (0, 0, -1_000_000_000, "-00:00:01"),
            (-12, 0, 0, "-1 years"),
        ];
        for (months, days, nanos, expected) in cases {
            assert_eq!(text(|out| interval_text(out, months, days, nanos)), expected);
        }
    }
}
