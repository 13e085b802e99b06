//! Days, times of day and moments, in PostgreSQL's text (ISO) and binary (counted from 2000-01-01)
//! forms. The engine counts from 1970-01-01 and has infinities of its own at the ends of its range.

use bytes::BufMut;
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Offset, TimeZone, Timelike};
use chrono_tz::Tz;

use super::number;

pub const DAY_MICROS: i64 = 86_400_000_000;
/// Days from 1970-01-01 to 2000-01-01.
pub const EPOCH_DAYS: i32 = 10_957;
pub const EPOCH_MICROS: i64 = 10_957 * DAY_MICROS;

/// Days since 1970 as text.
pub fn date(days: i32, out: &mut Vec<u8>) {
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

/// Days since 1970, binary.
pub fn date_binary(days: i32, out: &mut Vec<u8>) {
    out.put_i32(match days {
        i32::MAX => i32::MAX,
        days if days == -i32::MAX => i32::MIN,
        days => days.saturating_sub(EPOCH_DAYS),
    });
}

/// Microseconds since midnight as text.
pub fn time(micros: i64, out: &mut Vec<u8>) {
    let whole = micros.div_euclid(1_000_000);
    let [hours, minutes, seconds] = [whole / 3600, whole / 60 % 60, whole % 60].map(two);
    out.put_slice(&[hours[0], hours[1], b':', minutes[0], minutes[1], b':', seconds[0], seconds[1]]);
    fraction(micros.rem_euclid(1_000_000), out);
}

/// Microseconds since 1970 as text, without a zone.
pub fn timestamp(micros: i64, out: &mut Vec<u8>) {
    if let Some(moment) = finite(micros, out) {
        stamp(moment, out);
        era(moment.date(), out);
    }
}

/// Microseconds since 1970 as text in this zone, with its offset.
pub fn timestamp_tz(micros: i64, zone: Tz, out: &mut Vec<u8>) {
    let Some(utc) = finite(micros, out) else { return };
    let zone = zone.offset_from_utc_datetime(&utc).fix();
    let Some(there) = utc.checked_add_offset(zone) else {
        return out.put_slice(micros.to_string().as_bytes()); // the calendar ends on the way there
    };
    stamp(there, out);
    offset(zone.local_minus_utc(), out);
    era(there.date(), out);
}

/// Microseconds since 1970, binary.
pub fn timestamp_binary(micros: i64, out: &mut Vec<u8>) {
    out.put_i64(match micros {
        i64::MAX => i64::MAX,
        micros if micros == -i64::MAX => i64::MIN,
        micros => micros.saturating_sub(EPOCH_MICROS),
    });
}

/// The moment, unless it is infinite or beyond the calendar, which is written at once.
fn finite(micros: i64, out: &mut Vec<u8>) -> Option<NaiveDateTime> {
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

fn stamp(moment: NaiveDateTime, out: &mut Vec<u8>) {
    ymd(moment.date(), out);
    out.put_u8(b' ');
    let micros = i64::from(moment.num_seconds_from_midnight()) * 1_000_000 + i64::from(moment.nanosecond() / 1000);
    time(micros, out);
}

fn ymd(date: NaiveDate, out: &mut Vec<u8>) {
    let (_, year) = date.year_ce();
    let [month, day] = [date.month(), date.day()].map(|part| two(part.into()));
    if year < 10_000 {
        let [century, of_it] = [year / 100, year % 100].map(|part| two(part.into()));
        out.put_slice(&[century[0], century[1], of_it[0], of_it[1]]);
    } else {
        number::integer(year.into(), out);
    }
    out.put_slice(&[b'-', month[0], month[1], b'-', day[0], day[1]]);
}

fn era(date: NaiveDate, out: &mut Vec<u8>) {
    if !date.year_ce().0 {
        out.put_slice(b" BC");
    }
}

fn offset(seconds: i32, out: &mut Vec<u8>) {
    out.put_u8(if seconds < 0 { b'-' } else { b'+' });
    let seconds = i64::from(seconds.abs());
    out.put_slice(&two(seconds / 3600));
    for part in [seconds / 60 % 60, seconds % 60] {
        if seconds % 3600 != 0 && (part != 0 || seconds % 60 != 0) {
            out.put_u8(b':');
            out.put_slice(&two(part));
        }
    }
}

/// A number below 100 in two digits.
fn two(number: i64) -> [u8; 2] {
    let digit = |digit: i64| b'0' + u8::try_from(digit % 10).unwrap_or(0);
    [digit(number / 10), digit(number)]
}

/// `.ffffff` without zeros at its end.
pub fn fraction(micros: i64, out: &mut Vec<u8>) {
    if micros == 0 {
        return;
    }
    let (mut text, mut rest) = (*b".000000", micros);
    for place in text.iter_mut().skip(1).rev() {
        *place += u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    let zeros = text.iter().rev().take_while(|digit| **digit == b'0').count();
    out.put_slice(text.get(..text.len() - zeros).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn micros(text: &str) -> i64 {
        NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f").unwrap().and_utc().timestamp_micros()
    }

    #[test]
    fn dates_and_their_infinities() {
        let cases = [
            (0, "1970-01-01"),
            (i32::MAX, "infinity"),
            (-i32::MAX, "-infinity"),
            (-719_163, "0001-12-31 BC"),
            (19_782, "2024-02-29"),
        ];
        for (days, expected) in cases {
            assert_eq!(text(|out| date(days, out)), expected);
        }
    }

    #[test]
    fn times_drop_zeros_behind_the_point() {
        for (micros, expected) in
            [(0, "00:00:00"), (1, "00:00:00.000001"), (DAY_MICROS, "24:00:00"), (45_296_500_000, "12:34:56.5")]
        {
            assert_eq!(text(|out| time(micros, out)), expected);
        }
    }

    #[test]
    fn a_moment_is_shown_in_the_sessions_zone() {
        let moment = micros("2024-07-01 22:30:00.25");
        let cases = [
            (Tz::UTC, "2024-07-01 22:30:00.25+00"),
            (Tz::Europe__Berlin, "2024-07-02 00:30:00.25+02"),
            (Tz::Asia__Kolkata, "2024-07-02 04:00:00.25+05:30"),
            (Tz::America__New_York, "2024-07-01 18:30:00.25-04"),
        ];
        for (zone, expected) in cases {
            assert_eq!(text(|out| timestamp_tz(moment, zone, out)), expected);
        }
        assert_eq!(
            text(|out| timestamp_tz(micros("1880-01-01 00:00:00"), Tz::Europe__Berlin, out)),
            "1880-01-01 00:53:28+00:53:28"
        );
    }

    #[test]
    fn a_moment_is_told_as_is_where_the_calendar_ends_before_its_zone() {
        let [first, last] = [NaiveDateTime::MIN, NaiveDateTime::MAX].map(|moment| moment.and_utc().timestamp_micros());
        for (moment, zone) in [(first, Tz::America__New_York), (last, Tz::Asia__Kolkata)] {
            assert_eq!(text(|out| timestamp_tz(moment, zone, out)), moment.to_string());
        }
        assert_eq!(text(|out| timestamp_tz(last, Tz::UTC, out)), "262142-12-31 23:59:59.999999+00");
    }

    #[test]
    fn binary_counts_from_2000() {
        let mut out = Vec::new();
        date_binary(EPOCH_DAYS + 1, &mut out);
        timestamp_binary(EPOCH_MICROS - 1, &mut out);
        timestamp_binary(-i64::MAX, &mut out);
        assert_eq!(out, [[0, 0, 0, 1].as_slice(), &(-1_i64).to_be_bytes(), &i64::MIN.to_be_bytes()].concat());
    }
}
