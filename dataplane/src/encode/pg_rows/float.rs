//! Floats as PostgreSQL prints them.

use std::fmt::Write;

use bytes::BufMut;

use super::number;

/// A double as PostgreSQL prints it: the shortest digits that read back the same.
pub fn float8(value: f64, out: &mut Vec<u8>) {
    let scientific = Scientific::of(format_args!("{value:e}"));
    laid_out(value.is_nan(), value.is_infinite(), value.is_sign_negative(), scientific.as_str(), 15, out);
}

/// A real, likewise.
pub fn float4(value: f32, out: &mut Vec<u8>) {
    let scientific = Scientific::of(format_args!("{value:e}"));
    laid_out(value.is_nan(), value.is_infinite(), value.is_sign_negative(), scientific.as_str(), 6, out);
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
        assert_eq!(text(|out| float4(1e6, out)), "1e+06");
        assert_eq!(text(|out| float4(0.1, out)), "0.1");
    }

    proptest! {
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
