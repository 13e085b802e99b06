//! Formats of numbers: `TO_CHAR(x, '999,999.00')` as an expression of the engine, which has none.
//!
//! `9` and `0` are places of digits, zeros from the first `0` on; `,` and `G` part them, `.` or `D` begins the
//! fraction; `$`, `S`, `MI`, `B`, `FM` and text in `"` stand around. A place is kept for the sign; a number too long
//! shows `#`. What else the warehouse knows (`X`, `EEEE`, `TM`, `V`) is refused by name.

use std::fmt::Write as _;

use crate::ast::error::Error;
use crate::ast::quote;

/// Digits of a DECIMAL.
const DIGITS_MAX: usize = 38;

#[derive(Debug, Default)]
struct Format {
    before: String,
    /// What stands between the places of the whole digits: a place, or a comma.
    whole: Vec<NumberPart>,
    zeros: usize,
    fraction: Option<usize>,
    after: String,
    dollar: bool,
    blank_zero: bool,
    fills: bool,
    sign: Sign,
}

/// Its parts become a chain.
const FORMAT_BYTES_MAX: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberPart {
    Digit,
    Comma,
}

/// Where the sign stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Sign {
    /// Before the number, if it is negative.
    #[default]
    Minus,
    /// Before it, always.
    Leading,
    /// Behind it, always.
    Trailing,
    /// Behind it, if it is negative.
    TrailingMinus,
}

/// The engine's expression for the text of the number `x`.
pub(super) fn compile(format: &str) -> Result<String, Error> {
    let format = read(format)?;
    Ok(format.expression())
}

fn refused(format: &str) -> Error {
    Error::unsupported(format!("the number format {format}"))
}

fn read(text: &str) -> Result<Format, Error> {
    if text.len() > FORMAT_BYTES_MAX {
        return Err(Error::unsupported(format!("a number format of more than {FORMAT_BYTES_MAX} characters")));
    }
    let mut format = Format { fills: true, ..Format::default() };
    let mut rest = text;
    let mut is_zero = false;
    while let Some(first) = rest.chars().next() {
        let upper: String = rest.chars().take(2).collect::<String>().to_ascii_uppercase();
        let begun = !format.whole.is_empty() || format.fraction.is_some();
        let length = match (upper.as_str(), first.to_ascii_uppercase()) {
            ("FM", _) => {
                format.fills = !format.fills;
                2
            }
            ("MI", _) if begun => {
                format.sign = Sign::TrailingMinus;
                2
            }
            (_, 'S') => {
                format.sign = if begun { Sign::Trailing } else { Sign::Leading };
                1
            }
            (_, '$') if !begun => {
                format.dollar = true;
                1
            }
            (_, 'B') if !begun => {
                format.blank_zero = true;
                1
            }
            (_, '9' | '0') => {
                is_zero |= first == '0';
                digit(&mut format, is_zero);
                1
            }
            (_, ',' | 'G') if format.fraction.is_none() && !format.whole.is_empty() => {
                format.whole.push(NumberPart::Comma);
                1
            }
            (_, '.' | 'D') if format.fraction.is_none() => {
                format.fraction = Some(0);
                1
            }
            (_, '"') => {
                let inner = rest.get(1..).and_then(|inner| inner.split_once('"')).ok_or_else(|| refused(text))?.0;
                if begun { &mut format.after } else { &mut format.before }.push_str(inner);
                inner.len() + 2
            }
            _ => return Err(refused(text)),
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    let (digits, fraction) = (format.digits(), format.fraction.unwrap_or(0));
    // one place more than the number has: it may be rounded up
    if digits + fraction == 0 || digits + fraction >= DIGITS_MAX {
        return Err(refused(text));
    }
    Ok(format)
}

fn digit(format: &mut Format, is_zero: bool) {
    if let Some(places) = &mut format.fraction {
        *places += 1;
    } else {
        format.whole.push(NumberPart::Digit);
        format.zeros += usize::from(is_zero);
    }
}

impl Format {
    fn digits(&self) -> usize {
        self.whole.iter().filter(|part| **part == NumberPart::Digit).count()
    }

    fn width(&self) -> usize {
        self.whole.len() + self.fraction.map_or(0, |places| places + 1) + usize::from(self.dollar)
    }

    /// `v` is the rounded number, `p` its whole digits in their places.
    fn expression(&self) -> String {
        let (digits, scale) = (self.digits(), self.fraction.unwrap_or(0));
        let whole = "split_part(CAST(abs(v) AS VARCHAR), '.', 1)";
        let zeros = if self.zeros == 0 && self.blank_zero { 0 } else { self.zeros.max(1) };
        let shown = if zeros == 0 || digits == 0 { format!("ltrim({whole}, '0')") } else { whole.to_owned() };
        let padded = format!(
            "lpad(CASE WHEN len({shown}) < {zeros} THEN lpad({shown}, {zeros}, '0') ELSE {shown} END, {digits}, ' ')"
        );
        let number = self.around(&self.places());
        let blanks = self.around(&quote::text(&self.blanks()));
        // the number is made once: `v` and `p` are names for it
        format!(
            "list_transform(list_value(CAST(x AS DECIMAL(38, {scale}))), lambda v: \
             CASE WHEN v IS NULL THEN NULL WHEN len({shown}) > {digits} THEN {blanks} \
             ELSE list_transform(list_value({padded}), lambda p: {number})[1] END)[1]"
        )
    }

    /// The digits of `p` with what parts them, and the fraction of `v`.
    fn places(&self) -> String {
        let mut out = String::from("''");
        let mut at = 0;
        for part in &self.whole {
            match part {
                NumberPart::Digit => {
                    at += 1;
                    let _ = write!(out, " || substr(p, {at}, 1)");
                }
                NumberPart::Comma => {
                    let _ = write!(out, " || CASE WHEN substr(p, {at}, 1) = ' ' THEN ' ' ELSE ',' END");
                }
            }
        }
        if let Some(places) = self.fraction {
            out.push_str(if places > 0 { " || '.' || split_part(CAST(abs(v) AS VARCHAR), '.', 2)" } else { " || '.'" });
        }
        out
    }

    fn blanks(&self) -> String {
        let whole = self.whole.iter().map(|part| if *part == NumberPart::Digit { '#' } else { ',' });
        let fraction = self.fraction.map(|places| format!(".{}", "#".repeat(places))).unwrap_or_default();
        format!("{}{fraction}", whole.collect::<String>())
    }

    /// Sign, currency and what is written around the digits; as wide as the format says.
    fn around(&self, number: &str) -> String {
        let dollar = if self.dollar { "'$' || " } else { "" };
        let before = match self.sign {
            Sign::Minus => "CASE WHEN v < 0 THEN '-' ELSE '' END || ",
            Sign::Leading => "CASE WHEN v < 0 THEN '-' ELSE '+' END || ",
            Sign::Trailing | Sign::TrailingMinus => "",
        };
        let after = match (self.sign, self.fills) {
            (Sign::Trailing, _) => " || CASE WHEN v < 0 THEN '-' ELSE '+' END",
            (Sign::TrailingMinus, true) => " || CASE WHEN v < 0 THEN '-' ELSE ' ' END",
            (Sign::TrailingMinus, false) => " || CASE WHEN v < 0 THEN '-' ELSE '' END",
            (Sign::Minus | Sign::Leading, _) => "",
        };
        let made = format!("{before}{dollar}ltrim({number}){after}");
        let filled = if self.fills { format!("lpad({made}, {}, ' ')", self.width() + 1) } else { made };
        format!("{} || {filled} || {}", quote::text(&self.before), quote::text(&self.after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_read_from_left_to_right() {
        let format = read("FM$99,990.00\" EUR\"").unwrap();
        assert_eq!((format.digits(), format.zeros, format.fraction, format.width()), (5, 1, Some(2), 10));
        assert!(format.dollar && !format.fills);
        assert_eq!((format.blanks().as_str(), format.after.as_str()), ("##,###.##", " EUR"));
    }

    #[test]
    fn an_element_that_is_not_known_is_refused_with_its_format() {
        for format in ["XXX", "9.9EEEE", "TM9", "9V9", "", "\"open", "9.9.9"] {
            let message = compile(format).map_err(|error| error.message).unwrap_err();
            assert!(message.contains(format), "{message}");
        }
    }
}
