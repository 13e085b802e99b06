//! Amounts as Kubernetes writes them: `500m`, `2Gi`, `1e3`.
//!
//! The API server rewrites them (`1024Mi` comes back as `1Gi`), so they are compared by value;
//! compared as text, an environment would be applied again for ever.

use std::cmp::Ordering;

/// An exact amount, in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity(i128);

const ONE: i128 = 1_000_000_000;

impl Quantity {
    /// Nothing for what is not a quantity, and for what Kubernetes could not hold either.
    pub fn parse(text: &str) -> Option<Self> {
        let split = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-')).unwrap_or(text.len());
        let (number, suffix) = text.split_at_checked(split)?;
        let (numerator, denominator) = factor(suffix)?;
        let scaled = decimal(number)?.checked_mul(numerator)?;
        // as Kubernetes does: what is finer than the unit is rounded up
        let amount = scaled.div_euclid(denominator) + i128::from(scaled.rem_euclid(denominator) != 0);
        (amount.checked_abs()? <= i128::from(i64::MAX).checked_mul(ONE)?).then_some(Self(amount))
    }

    /// Rounded up; nothing below zero.
    pub fn ceil(self) -> u64 {
        u64::try_from(self.0.max(0).div_euclid(ONE) + i128::from(self.0.max(0).rem_euclid(ONE) != 0))
            .unwrap_or(u64::MAX)
    }
}

/// The larger of two texts; one that cannot be read is smaller than one that can.
pub fn larger<'a>(a: &'a str, b: &'a str) -> &'a str {
    match Quantity::parse(a).cmp(&Quantity::parse(b)) {
        Ordering::Less => b,
        Ordering::Equal | Ordering::Greater => a,
    }
}

/// Billionths of a plain decimal number.
fn decimal(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) || digits.len() > 32 {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction: i128 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    Some(sign * whole.checked_mul(ONE)?.checked_add(fraction)?)
}

/// What a suffix multiplies by, as numerator and denominator.
fn factor(suffix: &str) -> Option<(i128, i128)> {
    Some(match suffix {
        "" => (1, 1),
        "n" => (1, ONE),
        "u" => (1, 1_000_000),
        "m" => (1, 1_000),
        "k" => (1_000, 1),
        "M" => (1_000_000, 1),
        "G" => (ONE, 1),
        "T" => (1_000 * ONE, 1),
        "P" => (1_000_000 * ONE, 1),
        "E" => (ONE * ONE, 1),
        "Ki" => (1 << 10, 1),
        "Mi" => (1 << 20, 1),
        "Gi" => (1 << 30, 1),
        "Ti" => (1 << 40, 1),
        "Pi" => (1 << 50, 1),
        "Ei" => (1 << 60, 1),
        exponent => {
            let power: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            let factor = 10_i128.checked_pow(power.unsigned_abs())?;
            if power < 0 { (1, factor) } else { (factor, 1) }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_amount_in_other_words_is_equal() {
        for (a, b) in [("1024Mi", "1Gi"), ("0.5", "500m"), ("1e3", "1k"), ("1.5Gi", "1536Mi"), ("2E-1", "200m")] {
            assert_eq!(Quantity::parse(a), Quantity::parse(b), "{a} {b}");
            assert!(Quantity::parse(a).is_some(), "{a}");
        }
    }

    #[test]
    fn an_amount_is_rounded_up_to_whole_units() {
        for (text, whole) in [("500m", 1), ("2", 2), ("2001m", 3), ("1Ki", 1024), ("-3", 0), ("0", 0)] {
            assert_eq!(Quantity::parse(text).unwrap().ceil(), whole, "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in ["", ".", "Gi", "1gi", "1 Gi", "1.2.3", "--1", "1e", "1e99", "99999999999999999999", "٣"] {
            assert_eq!(Quantity::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_larger_text_wins() {
        assert_eq!(larger("1Gi", "1000Mi"), "1Gi");
        assert_eq!(larger("nonsense", "1"), "1");
    }
}
