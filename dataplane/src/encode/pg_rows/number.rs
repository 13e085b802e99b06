//! Numbers: integers and exact decimals as digits, `numeric` in its binary form (digits to the base of 10,000), and back.

use std::fmt::Write;

use bytes::BufMut;

/// An exact decimal: `digits / 10^scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    pub digits: i128,
    pub scale: u8,
}

const GROUP: u128 = 10_000;
const EIGHT: u64 = 100_000_000;
const SIXTEEN: u128 = 10_000_000_000_000_000;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;

/// The digits of an integer.
pub fn integer(value: i128, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    digits(value.unsigned_abs(), out);
}

/// The digits of a number, eight at a time. Division of 64 bits is several times faster than of 128.
fn digits(value: u128, out: &mut Vec<u8>) {
    match u64::try_from(value) {
        Ok(value @ ..EIGHT) => eight(value, 0, out),
        Ok(value) => {
            digits(u128::from(value / EIGHT), out);
            eight(value % EIGHT, 8, out);
        }
        Err(_) => {
            digits(value / SIXTEEN, out);
            padded(value % SIXTEEN, 16, out);
        }
    }
}

/// The last so many digits of a number, with zeros before it.
fn padded(value: u128, places: usize, out: &mut Vec<u8>) {
    if places > 16 {
        padded(value / SIXTEEN, places - 16, out);
        return padded(value % SIXTEEN, 16, out);
    }
    let value = u64::try_from(value % SIXTEEN).unwrap_or(0);
    if places > 8 {
        eight(value / EIGHT, places - 8, out);
        eight(value % EIGHT, 8, out);
    } else {
        eight(value % EIGHT, places, out);
    }
}

/// The digits of a number below 10^8, and at least so many: by halves, all at once in one register.
fn eight(value: u64, least: usize, out: &mut Vec<u8>) {
    // two numbers of four digits, four of two, eight of one, the first of them in the lowest bits
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = tens | ((twos - tens * 10) << 8);
    let most = if least == 0 { 7 } else { 8 - least.min(8) };
    let zeros = usize::try_from(ones.trailing_zeros() / 8).unwrap_or(0).min(most);
    let text = (ones | u64::from_le_bytes([b'0'; 8])) >> (8 * zeros);
    // all eight bytes, which is one move, and those that are none of its digits off again
    let end = out.len() + 8 - zeros;
    out.extend_from_slice(&text.to_le_bytes());
    out.truncate(end);
}

impl Decimal {
    /// Plain notation: `-12.50`.
    pub fn text(self, out: &mut Vec<u8>) {
        if self.digits < 0 {
            out.push(b'-');
        }
        let (value, places) = (self.digits.unsigned_abs(), usize::from(self.scale));
        if places == 0 {
            return digits(value, out);
        }
        let (whole, behind) = match (u64::try_from(value), 10_u64.checked_pow(self.scale.into())) {
            (Ok(value), Some(one)) => (u128::from(value / one), u128::from(value % one)),
            _ => match 10_u128.checked_pow(self.scale.into()) {
                Some(one) => (value / one, value % one),
                None => (0, value),
            },
        };
        digits(whole, out);
        out.push(b'.');
        padded(behind, places, out);
    }

    /// PostgreSQL's `numeric`: number of groups, weight of the first, sign, scale, groups.
    pub fn binary(self, out: &mut Vec<u8>) {
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
    fn integers_print_as_their_digits() {
        let around = |power: u32| [-1, 0, 1].map(|step| 10_i128.pow(power) + step);
        for value in (0..=38).flat_map(around).chain([i128::MAX, i128::from(u64::MAX), i128::from(u64::MAX) + 1]) {
            for value in [value, -value, -value - 1] {
                assert_eq!(text(|out| integer(value, out)), value.to_string());
            }
        }
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
            (100_000_001, 8, "1.00000001"),
            (10_000_000_000_000_000, 16, "1.0000000000000000"),
            (i128::MAX, 19, "17014118346046923173.1687303715884105727"),
        ];
        for (digits, scale, expected) in cases {
            assert_eq!(text(|out| Decimal { digits, scale }.text(out)), expected);
        }
    }

    #[test]
    fn a_binary_numeric_is_laid_out_as_postgresql_does() {
        let mut out = Vec::new();
        Decimal { digits: 123_456_789, scale: 2 }.binary(&mut out);
        assert_eq!(out, [0, 3, 0, 1, 0, 0, 0, 2, 0, 123, 0x11, 0xd7, 0x22, 0xc4]);
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
            let mut out = Vec::new();
            decimal.binary(&mut out);
            prop_assert_eq!(from_binary(&out), Some(text(|out| decimal.text(out))));
        }
    }
}
