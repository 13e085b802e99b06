//! Numbers: integers and exact decimals as digits, floats as PostgreSQL prints them, `numeric` in
//! its binary form (digits to the base of 10,000), and back.

use std::fmt::Write;

use bytes::{BufMut, BytesMut};

/// An exact decimal: `digits / 10^scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    pub digits: i128,
    pub scale: u8,
}

const GROUP: u128 = 10_000;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;

/// The digits of an integer.
pub fn integer(value: i128, out: &mut BytesMut) {
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

impl Decimal {
    /// Plain notation: `-12.50`.
    pub fn text(self, out: &mut BytesMut) {
        if self.digits < 0 {
            out.put_u8(b'-');
        }
        let at = out.len();
        digits(self.digits.unsigned_abs(), usize::from(self.scale) + 1, out);
        if self.scale > 0 {
            let point = out.len() - usize::from(self.scale);
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

    /// PostgreSQL's `numeric`: number of groups, weight of the first, sign, scale, groups.
    pub fn binary(self, out: &mut BytesMut) {
        let scale = usize::from(self.scale);
        // Digits behind the point are filled up to whole groups.
        let fill = (4 - scale % 4) % 4;
        let mut groups = Vec::with_capacity(12);
        let mut rest = self.digits.unsigned_abs();
        // The lowest group takes what is left of the last four places behind the point.
        if fill > 0 {
            let cut = 10_u128.pow(u32::try_from(4 - fill).unwrap_or(0));
            groups.push(rest % cut * 10_u128.pow(u32::try_from(fill).unwrap_or(0)));
            rest /= cut;
        }
        while rest > 0 {
            groups.push(rest % GROUP);
            rest /= GROUP;
        }
        let behind = (scale + fill) / 4;
        let weight = i16::try_from(groups.len()).unwrap_or(i16::MAX) - i16::try_from(behind).unwrap_or(0) - 1;
        let zeros = groups.iter().take_while(|group| **group == 0).count();
        let kept = groups.get(zeros..).unwrap_or_default();
        out.put_u16(u16::try_from(kept.len()).unwrap_or(0));
        out.put_i16(if kept.is_empty() { 0 } else { weight });
        out.put_u16(if self.digits < 0 { NEGATIVE } else { 0 });
        out.put_u16(u16::from(self.scale));
        kept.iter().rev().for_each(|group| out.put_u16(u16::try_from(*group).unwrap_or(0)));
    }
}

/// `numeric` in binary to plain notation; nothing if it is no number or not well-formed.
pub fn from_binary(bytes: &[u8]) -> Option<String> {
    let mut words =
        bytes.chunks_exact(2).map(|pair| pair.iter().fold(0_u16, |word, byte| (word << 8) | u16::from(*byte)));
    let (count, weight, sign, scale) = (words.next()?, words.next()?.cast_signed(), words.next()?, words.next()?);
    let groups: Vec<u16> = words.collect();
    let fits = groups.len() == usize::from(count)
        && bytes.len().is_multiple_of(2)
        && groups.iter().all(|group| *group < 10_000);
    if !fits || sign == NAN || !matches!(sign, 0 | NEGATIVE) || scale > 0x3FFF {
        return None;
    }
    let group = |at: i32| usize::try_from(at).ok().and_then(|at| groups.get(at)).copied().unwrap_or(0);
    let weight = i32::from(weight);
    let mut text = String::from(if sign == NEGATIVE { "-" } else { "" });
    let digits = |from: i32, to: i32| {
        (from..=to).fold(String::new(), |mut digits, at| {
            let _ = write!(digits, "{:04}", group(at));
            digits
        })
    };
    let whole = digits(0, weight);
    let whole = whole.trim_start_matches('0');
    text.push_str(if whole.is_empty() { "0" } else { whole });
    if scale > 0 {
        let places = usize::from(scale);
        let behind = digits(weight + 1, weight + i32::try_from(places.div_ceil(4)).ok()?);
        text.push('.');
        text.push_str(behind.get(..places)?);
    }
    Some(text)
}

/// A double as PostgreSQL prints it: the shortest digits that read back the same.
pub fn float8(value: f64, out: &mut BytesMut) {
    let scientific = Scientific::of(format_args!("{value:e}"));
    float(value.is_nan(), value.is_infinite(), value.is_sign_negative(), scientific.as_str(), 15, out);
}

/// A real, likewise.
pub fn float4(value: f32, out: &mut BytesMut) {
    let scientific = Scientific::of(format_args!("{value:e}"));
    float(value.is_nan(), value.is_infinite(), value.is_sign_negative(), scientific.as_str(), 6, out);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(write: impl FnOnce(&mut BytesMut)) -> String {
        let mut out = BytesMut::new();
        write(&mut out);
        String::from_utf8(out.to_vec()).unwrap()
    }

    #[test]
    fn decimals_print_plainly() {
        let cases = [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (-5, 2, "-0.05"),
            (1250, 2, "12.50"),
            (i128::MIN, 0, "-170141183460469231731687303715884105728"),
            (99, 38, "0.00000000000000000000000000000000000099"),
        ];
        for (digits, scale, expected) in cases {
            assert_eq!(text(|out| Decimal { digits, scale }.text(out)), expected);
        }
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

    #[test]
    fn a_binary_numeric_is_laid_out_as_postgresql_does() {
        let mut out = BytesMut::new();
        Decimal { digits: 123_456_789, scale: 2 }.binary(&mut out);
        assert_eq!(out.as_ref(), [0, 3, 0, 1, 0, 0, 0, 2, 0, 123, 0x11, 0xd7, 0x22, 0xc4]);
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for bytes in [
            &b""[..],
            b"\x00\x01\x00\x00\x00\x00",
            b"\x00\x00\x00\x00\xc0\x00\x00\x00",
            b"\x00\x01\x00\x00\x00\x00\x00\x00\x27\x10",
        ] {
            assert_eq!(from_binary(bytes), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn a_decimal_reads_back_from_binary(digits: i128, scale in 0_u8..=38) {
            let decimal = Decimal { digits, scale };
            let mut out = BytesMut::new();
            decimal.binary(&mut out);
            prop_assert_eq!(from_binary(&out), Some(text(|out| decimal.text(out))));
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
