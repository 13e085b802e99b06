//! Floats as PostgreSQL prints them.

use std::fmt::Write;

use bytes::BufMut;

use super::number;

/// Two decimals of no more digits are never the same double, or the same real.
const DOUBLE_DIGITS: usize = 15;
const REAL_DIGITS: usize = 6;

/// A double as PostgreSQL prints it: the shortest digits that read back the same.
pub fn float8(value: f64, out: &mut Vec<u8>) {
    if let Some(text) = plain(value, &mut zmij::Buffer::new()) {
        return put_plain(text, out);
    }
    let scientific = Scientific::of(format_args!("{value:e}"));
    laid_out(value.is_nan(), value.is_infinite(), value.is_sign_negative(), scientific.as_str(), 15, out);
}

/// A real, likewise.
pub fn float4(value: f32, out: &mut Vec<u8>) {
    let is_plain = value == 0.0 || (1e-4..1e6).contains(&value.abs());
    if is_plain && let Some(text) = fewest(value, REAL_DIGITS, &mut zmij::Buffer::new()) {
        return put_plain(text, out);
    }
    let scientific = Scientific::of(format_args!("{value:e}"));
    laid_out(value.is_nan(), value.is_infinite(), value.is_sign_negative(), scientific.as_str(), 6, out);
}

/// A double by the fewest digits that read back the same, with a point; none for one that is very small or large.
pub fn plain(value: f64, buffer: &mut zmij::Buffer) -> Option<&str> {
    let is_plain = value == 0.0 || (1e-4..1e15).contains(&value.abs());
    if is_plain { fewest(value, DOUBLE_DIGITS, buffer) } else { None }
}

/// The text of a finite float; none where another with as few digits may be equally near to it.
///
/// Both have more than `digits`. That of zmij is the one with the even last digit, which can be 2 alone, and that of the
/// standard library the other. All other floats have the same digits by both.
fn fewest<F: zmij::Float>(value: F, digits: usize, buffer: &mut zmij::Buffer) -> Option<&str> {
    let text = buffer.format_finite(value);
    let may_be_halfway = text.len() > digits + 1 && text.ends_with('2');
    (!may_be_halfway).then_some(text)
}

/// PostgreSQL writes no point behind a whole number.
fn put_plain(text: &str, out: &mut Vec<u8>) {
    out.put_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
}

/// A float as `d.ddde±x`, in a place of its own: the longest has 24 letters.
struct Scientific {
    letters: [u8; 32],
    length: usize,
}

impl Scientific {
    fn of(value: std::fmt::Arguments<'_>) -> Self {
        let mut scientific = Self { letters: [0; 32], length: 0 };
        let _ = scientific.write_fmt(value);
        scientific
    }

    fn as_str(&self) -> &str {
        self.letters.get(..self.length).and_then(|letters| std::str::from_utf8(letters).ok()).unwrap_or_default()
    }
}

impl Write for Scientific {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.letters.get_mut(self.length..end).ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Lays out `d.ddde±x`: plain from 1e-4 up to 15 (6) places, with an exponent beyond.
fn laid_out(nan: bool, infinite: bool, negative: bool, scientific: &str, plain_max: i32, out: &mut Vec<u8>) {
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
        out.put_slice(mantissa.as_bytes());
        out.put_slice(if exponent < 0 { b"e-" } else { b"e+" });
        out.put_slice(if exponent.abs() < 10 { b"0" } else { b"" });
        return number::integer(i128::from(exponent.abs()), out);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_print_as_postgresql_prints_them() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123_456.789, "123456.789"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (1.234_567_890_123_456_8e17, "1.2345678901234568e+17"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, expected) in cases {
            assert_eq!(text(|out| float8(value, out)), expected);
        }
        for (value, expected) in [(1e6, "1e+06"), (999_999.0, "999999"), (-0.1, "-0.1"), (1e-4, "0.0001"), (0.0, "0")] {
            assert_eq!(text(|out| float4(value, out)), expected);
        }
    }

    /// The same by the standard library alone.
    fn by_exponent(value: f64) -> String {
        let scientific = Scientific::of(format_args!("{value:e}"));
        text(|out| laid_out(false, false, value.is_sign_negative(), scientific.as_str(), 15, out))
    }

    #[test]
    fn a_float_halfway_between_two_texts_has_that_of_the_standard_library() {
        for value in [2e14 + 0.125, 2e14 + 0.375, 2e14 + 0.625, 2e14 + 0.875, 6e14 + 0.25, 6e14 + 0.75, 3e13 + 0.0625] {
            assert_eq!(text(|out| float8(value, out)), by_exponent(value));
        }
    }

    proptest! {
        #[test]
        fn floats_have_the_digits_of_the_standard_library(
            digits in -20_000_000_000_000_000..20_000_000_000_000_000_i64,
            places in 0..21,
        ) {
            let decimal = format!("{digits}e-{places}");
            let (double, real): (f64, f32) = (decimal.parse().unwrap(), decimal.parse().unwrap());
            for value in [double, f64::from_bits(double.to_bits() + 1)] {
                prop_assert_eq!(text(|out| float8(value, out)), by_exponent(value));
            }
            let scientific = Scientific::of(format_args!("{real:e}"));
            let expected = text(|out| laid_out(false, false, real.is_sign_negative(), scientific.as_str(), 6, out));
            prop_assert_eq!(text(|out| float4(real, out)), expected);
        }

        #[test]
        fn a_float_reads_back(bits: u64, mantissa in -1_000_000..1_000_000_i32, exponent in -12..20_i32) {
            // Random bits are hardly ever of a size that is written plainly.
            for value in [f64::from_bits(bits), f64::from(mantissa) * 10_f64.powi(exponent)] {
                prop_assume!(value.is_finite());
                let written = text(|out| float8(value, out));
                prop_assert_eq!(written.parse::<f64>().unwrap().to_bits(), value.to_bits());
                let is_plain = value == 0.0 || (1e-4..1e15).contains(&value.abs());
                prop_assert_eq!(!written.contains('e'), is_plain, "{}", written);
            }
        }
    }
}
