//! Doubles, days and moments as the text encodings write them: the usual ones by their digits.
//!
//! To format one takes many times longer. The others are written as a value by itself is (`cell`).

use std::io::Write;
use std::ops::RangeInclusive;

use super::cell::{self, Cell};
use super::json;
use super::pg_rows::float;
use super::pg_rows::moment::{self, DAY_MICROS};

/// Days since 1970 of the years 1 to 9999.
const FOUR_DIGIT_YEARS: RangeInclusive<i32> = -719_162..=2_932_896;
const SECOND_MICROS: i64 = 1_000_000;

/// A double by the fewest digits that read back the same; one that is no number stands in what is `around` it.
pub fn double(value: f64, around: &[u8], out: &mut Vec<u8>) {
    if let Some(text) = float::plain(value, &mut zmij::Buffer::new()) {
        out.extend_from_slice(text.as_bytes());
    } else if value.is_finite() {
        let _ = write!(out, "{value:?}"); // into memory, which takes all of it
    } else {
        enclosed(around, out, |text| json::text(text, &Cell::Double(value)));
    }
}

/// A day, with what is `around` it.
pub fn day(days: i32, around: &[u8], out: &mut Vec<u8>) {
    if !FOUR_DIGIT_YEARS.contains(&days) {
        return enclosed(around, out, |text| cell::date(text, days));
    }
    out.extend_from_slice(around);
    moment::date(days, out);
    out.extend_from_slice(around);
}

/// Microseconds since 1970 as a day and a time, with what is `around` them.
pub fn timestamp(micros: i64, is_zoned: bool, around: &[u8], out: &mut Vec<u8>) {
    let (days, of_day) = (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS));
    let part = of_day % SECOND_MICROS;
    let Some(days) = i32::try_from(days).ok().filter(|days| FOUR_DIGIT_YEARS.contains(days)) else {
        let seconds = micros.div_euclid(SECOND_MICROS);
        let nanos = u32::try_from(part * 1_000).unwrap_or(0);
        return enclosed(around, out, |text| cell::timestamp_text(text, seconds, nanos, is_zoned));
    };
    out.extend_from_slice(around);
    moment::date(days, out);
    out.push(b' ');
    moment::time(of_day - part, out);
    if part > 0 {
        let _ = write!(out, ".{part:06}");
    }
    if is_zoned {
        out.extend_from_slice(b"+00");
    }
    out.extend_from_slice(around);
}

fn enclosed(around: &[u8], out: &mut Vec<u8>, write: impl FnOnce(&mut String)) {
    let mut text = String::new();
    write(&mut text);
    for part in [around, text.as_bytes(), around] {
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = b"before".to_vec();
        write(&mut out);
        String::from_utf8(out).unwrap().split_off("before".len())
    }

    proptest! {
        #[test]
        fn doubles_have_the_fewest_digits_that_read_back(
            bits: u64,
            digits in -20_000_000_000_000_000..20_000_000_000_000_000_i64,
            places in 0..8_i32,
        ) {
            let decimal: f64 = format!("{digits}e-{places}").parse().unwrap();
            let near = f64::from_bits(decimal.to_bits() + 1);
            let values = [f64::from_bits(bits), decimal, near, -decimal];
            for value in values.into_iter().filter(|value| value.is_finite()) {
                prop_assert_eq!(text(|out| double(value, b"'", out)), format!("{value:?}"));
            }
        }

        #[test]
        fn days_and_moments_are_written_as_each_by_itself(
            days: i32,
            near in -720_000..2_940_000_i32,
            micros: i64,
            is_zoned: bool,
        ) {
            for days in [days, near] {
                let mut expected = String::new();
                cell::date(&mut expected, days);
                prop_assert_eq!(text(|out| day(days, b"", out)), expected);
            }
            for micros in [micros, i64::from(near) * DAY_MICROS + micros % DAY_MICROS, micros % 1_000 * SECOND_MICROS] {
                let mut expected = String::from("'");
                let nanos = u32::try_from(micros.rem_euclid(SECOND_MICROS) * 1_000).unwrap();
                cell::timestamp_text(&mut expected, micros.div_euclid(SECOND_MICROS), nanos, is_zoned);
                prop_assert_eq!(text(|out| timestamp(micros, is_zoned, b"'", out)), expected + "'");
            }
        }
    }

    #[test]
    fn a_value_at_the_end_of_a_range_is_written_as_any_other() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.25, "0.25"),
            (-1.05, "-1.05"),
            (12.0, "12.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-5"),
            (99_999_999_999.999_9, "99999999999.9999"),
            (1e16, "1e16"),
            (f64::MAX, "1.7976931348623157e308"),
            (f64::NAN, "\"NaN\""),
            (f64::NEG_INFINITY, "\"-Infinity\""),
        ] {
            assert_eq!(text(|out| double(value, b"\"", out)), expected);
        }
        for (days, expected) in [(-719_162, "0001-01-01"), (2_932_896, "9999-12-31"), (i32::MAX, "infinity")] {
            assert_eq!(text(|out| day(days, b"", out)), expected);
        }
        for (micros, expected) in [(0, "1970-01-01 00:00:00"), (-500_000, "1969-12-31 23:59:59.500000")] {
            assert_eq!(text(|out| timestamp(micros, false, b"", out)), expected);
        }
    }
}
