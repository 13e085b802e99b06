//! How a CSV file is written that its reader does not take as it is: with other delimiters, or with white space.

use crate::ast::error::Error;
use crate::catalog::file_format::OptionValue;
use crate::catalog::file_reading::CsvRecords;

/// Stands between values whose own delimiter is not one character of ASCII.
const BETWEEN: u8 = 0x1f;
/// Encloses a value that has to be where a file has no sign for that.
const OWN_QUOTE: u8 = b'"';
/// As many characters as a delimiter may have, as documented.
const DELIMITER_CHARS_MAX: usize = 20;

/// The signs of a file that is written anew for its reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CsvSpelling {
    /// Ends a value; none where a record has one value.
    pub value_end: Vec<u8>,
    /// Ends a record; none where a line does.
    pub record_end: Option<Vec<u8>>,
    pub quote: Option<u8>,
    /// White space around a value, and around its quotes, is none of it.
    pub trims: bool,
}

impl CsvSpelling {
    /// Whether it is an option of them, which is kept then.
    pub(crate) fn takes(&mut self, name: &str, value: &OptionValue) -> Result<bool, Error> {
        match (name, value) {
            ("FIELD_DELIMITER", OptionValue::Text(text)) if text.eq_ignore_ascii_case("NONE") => {
                self.value_end = Vec::new();
            }
            ("FIELD_DELIMITER", OptionValue::Text(text)) => self.value_end = delimiter(name, text)?,
            ("RECORD_DELIMITER", OptionValue::Text(text)) if text.eq_ignore_ascii_case("NONE") => {
                return Err(refused(name));
            }
            ("RECORD_DELIMITER", OptionValue::Text(text)) => {
                let end = delimiter(name, text)?;
                self.record_end = (!matches!(end.as_slice(), b"\n" | b"\r\n")).then_some(end);
            }
            ("TRIM_SPACE", OptionValue::Flag(flag)) => self.trims = *flag,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// These, where a file is to be written anew; the reader is told `signs` in either case.
    pub(crate) fn beside(mut self, signs: &mut CsvRecords) -> Result<Option<Self>, Error> {
        self.quote = signs.quote;
        signs.delimiter = match self.value_end.as_slice() {
            [byte] if byte.is_ascii() => *byte,
            _ => BETWEEN,
        };
        self.checked()?;
        if signs.quote == Some(signs.delimiter) {
            return Err(Error::syntax("FIELD_DELIMITER and FIELD_OPTIONALLY_ENCLOSED_BY differ"));
        }
        let has_own_ends = self.record_end.is_some() || self.value_end != [signs.delimiter];
        if has_own_ends {
            signs.quote = signs.quote.or(Some(OWN_QUOTE));
            let is_odd = |byte: u8| matches!(byte, b'\n' | b'\r' | BETWEEN) || Some(byte) == signs.quote;
            if signs.nulls.iter().any(|null| null.bytes().any(is_odd)) {
                return Err(refused("NULL_IF"));
            }
        }
        Ok((has_own_ends || self.trims).then_some(self))
    }

    /// Whether each sign can be told from the others.
    fn checked(&self) -> Result<(), Error> {
        let is_odd = |byte: &u8| *byte == 0 || Some(*byte) == self.quote;
        if self.value_end.iter().any(|byte| is_odd(byte) || matches!(byte, b'\n' | b'\r')) {
            let differ = Error::syntax("FIELD_DELIMITER and FIELD_OPTIONALLY_ENCLOSED_BY differ");
            let is_quote = matches!(self.value_end.as_slice(), [byte] if Some(*byte) == self.quote);
            return Err(if is_quote { differ } else { refused("FIELD_DELIMITER") });
        }
        let Some(end) = &self.record_end else { return Ok(()) };
        if end.iter().any(is_odd) {
            return Err(refused("RECORD_DELIMITER"));
        }
        if is_part(&self.value_end, end) || is_part(end, &self.value_end) {
            return Err(Error::syntax("FIELD_DELIMITER and RECORD_DELIMITER are no part of each other"));
        }
        Ok(())
    }
}

fn is_part(part: &[u8], whole: &[u8]) -> bool {
    !part.is_empty() && whole.windows(part.len()).any(|window| window == part)
}

fn refused(name: &str) -> Error {
    Error::unsupported(format!("this {name} of a file that is read"))
}

/// The bytes of a delimiter, some of which may be written as escapes, or all of them as `0x…`.
fn delimiter(name: &str, text: &str) -> Result<Vec<u8>, Error> {
    let bytes = match text.strip_prefix("0x") {
        Some(digits) => hex(digits),
        None if text.len() == 1 => Some(text.as_bytes().to_vec()),
        None => unescaped(text),
    };
    let is_fit = |bytes: &Vec<u8>| {
        let text = std::str::from_utf8(bytes);
        text.is_ok_and(|text| (1..=DELIMITER_CHARS_MAX).contains(&text.chars().count()))
    };
    bytes.filter(is_fit).ok_or_else(|| refused(name))
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    digits.as_bytes().chunks(2).map(byte).collect()
}

/// The byte of two hexadecimal digits.
fn byte(digits: &[u8]) -> Option<u8> {
    let are_digits = digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| are_digits)?;
    u8::from_str_radix(text, 16).ok()
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let (kind, behind) = rest.split_first()?;
        rest = behind;
        bytes.push(match kind {
            b't' => b'\t',
            b'n' => b'\n',
            b'r' => b'\r',
            b'\\' => b'\\',
            b'x' => {
                let (digits, behind) = rest.split_at_checked(2)?;
                rest = behind;
                byte(digits)?
            }
            _ => return None,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_read_as_it_is_written() {
        for (text, bytes) in [
            ("|", &b"|"[..]),
            ("\\", &b"\\"[..]),
            (r"\\", &b"\\"[..]),
            (r"\t", &b"\t"[..]),
            ("0x7c7C", &b"||"[..]),
            (r"\xC2\xA2", "¢".as_bytes()),
            (r"|\n", &b"|\n"[..]),
            ("¢", "¢".as_bytes()),
        ] {
            assert_eq!(delimiter("FIELD_DELIMITER", text).as_deref(), Ok(bytes), "{text}");
        }
        for text in ["", r"\q", r"a\", r"\x7", "0x7", r"\xC2", "123456789012345678901"] {
            assert!(delimiter("FIELD_DELIMITER", text).is_err(), "{text}");
        }
    }
}
