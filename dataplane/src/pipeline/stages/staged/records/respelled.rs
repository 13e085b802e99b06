//! A CSV file that is written anew as its bytes come, where its reader would not take it as it is.
//!
//! Its values and records end by the signs that the reader knows, and white space around them is left out. A value that
//! these signs stand in is enclosed in quotes, so that it is one value still.

use engine::{FileFault, RECORD_BYTES_MAX};
use sql::{CsvRecords, CsvSpelling};

use super::MARK;

/// The records of a file on their way to their reader.
#[derive(Debug)]
pub(in crate::pipeline::stages::staged) struct RespelledCsv<'c> {
    /// Those of the file.
    spelling: &'c CsvSpelling,
    /// Those that the reader is told.
    signs: &'c CsvRecords,
    place: ValuePlace,
    /// Bytes that came, and may be the begin of a delimiter.
    held: Vec<u8>,
    /// A value without quotes, or what stands behind quotes.
    value: Vec<u8>,
    /// Lines that were written.
    lines: u64,
    has_begun: bool,
}

/// Where in a value the last byte was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValuePlace {
    Before,
    Bare,
    Quoted,
    /// Behind the sign that escapes, within quotes.
    Escaped,
    /// Behind the quote that closes.
    Closed,
    /// Behind more than white space behind that quote: the record fails.
    Beyond,
}

/// The end that stands next in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextEnd {
    None,
    Value,
    Record,
    /// It may be one, once more bytes have come.
    Unknown,
}

impl<'c> RespelledCsv<'c> {
    pub fn new(spelling: &'c CsvSpelling, signs: &'c CsvRecords) -> Self {
        let (held, value) = (Vec::new(), Vec::new());
        Self { spelling, signs, place: ValuePlace::Before, held, value, lines: 0, has_begun: false }
    }

    /// The bytes that are written for these; none are the end of the file.
    pub fn take(&mut self, part: &[u8]) -> Result<Vec<u8>, FileFault> {
        let is_last = part.is_empty();
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(part);
        let mut written = Vec::with_capacity(bytes.len() + bytes.len() / 8);
        let mut left = bytes.as_slice();
        if !self.has_begun {
            if !is_last && left.len() < MARK.len() && MARK.starts_with(left) {
                self.held = bytes;
                return Ok(written);
            }
            self.has_begun = true;
            left = left.strip_prefix(&MARK).unwrap_or(left);
        }
        while let Some((byte, behind)) = left.split_first() {
            if self.lines < self.signs.skipped {
                written.push(*byte);
                self.lines += u64::from(*byte == b'\n');
                left = behind;
                continue;
            }
            let taken = match self.next_end(left, is_last) {
                NextEnd::Unknown => {
                    self.held = left.to_vec();
                    return Ok(written);
                }
                NextEnd::Value => {
                    self.value_ends(&mut written)?;
                    written.push(self.signs.delimiter);
                    self.spelling.value_end.len()
                }
                NextEnd::Record => {
                    self.record_ends(&mut written)?;
                    self.spelling.record_end.as_ref().map_or(1, Vec::len)
                }
                NextEnd::None => {
                    self.within(*byte, &mut written)?;
                    1
                }
            };
            left = left.get(taken..).unwrap_or_default();
        }
        if is_last && self.place == ValuePlace::Bare {
            self.value_ends(&mut written)?;
        }
        Ok(written)
    }

    fn next_end(&self, left: &[u8], is_last: bool) -> NextEnd {
        if matches!(self.place, ValuePlace::Quoted | ValuePlace::Escaped) {
            return NextEnd::None;
        }
        let (of_value, of_record) = (&self.spelling.value_end, self.spelling.record_end.as_deref().unwrap_or(b"\n"));
        if !of_value.is_empty() && left.starts_with(of_value) {
            return NextEnd::Value;
        }
        if left.starts_with(of_record) {
            return NextEnd::Record;
        }
        let may_be = |end: &[u8]| left.len() < end.len() && end.starts_with(left);
        if !is_last && (may_be(of_value) || may_be(of_record)) { NextEnd::Unknown } else { NextEnd::None }
    }

    fn within(&mut self, byte: u8, written: &mut Vec<u8>) -> Result<(), FileFault> {
        let (quote, escape) = (self.spelling.quote, self.signs.escape);
        let (is_quote, is_white) = (Some(byte) == quote, self.spelling.trims && matches!(byte, b' ' | b'\t'));
        match self.place {
            ValuePlace::Before if is_white => {}
            ValuePlace::Before if is_quote => {
                written.push(byte);
                self.place = ValuePlace::Quoted;
            }
            ValuePlace::Before | ValuePlace::Bare => {
                self.value.push(byte);
                self.place = ValuePlace::Bare;
                if self.value.len() > RECORD_BYTES_MAX {
                    return Err(self.fault(&format!("it is longer than {} MiB", RECORD_BYTES_MAX >> 20)));
                }
            }
            ValuePlace::Quoted | ValuePlace::Escaped => {
                written.push(byte);
                self.lines += u64::from(byte == b'\n');
                self.place = match self.place {
                    ValuePlace::Quoted if Some(byte) == escape && !is_quote => ValuePlace::Escaped,
                    ValuePlace::Quoted if is_quote => ValuePlace::Closed,
                    _ => ValuePlace::Quoted,
                };
            }
            ValuePlace::Closed if is_quote && self.value.is_empty() && (escape.is_none() || escape == quote) => {
                written.push(byte);
                self.place = ValuePlace::Quoted;
            }
            ValuePlace::Closed if is_white || self.may_end_line(byte) => self.value.push(byte),
            ValuePlace::Closed | ValuePlace::Beyond => {
                let before = std::mem::take(&mut self.value);
                written.extend(before.into_iter().chain([byte]).map(|byte| self.kept_within(byte)));
                self.place = ValuePlace::Beyond;
            }
        }
        Ok(())
    }

    /// Whether it is the carriage return before the end of a line that ends a record.
    fn may_end_line(&self, byte: u8) -> bool {
        byte == b'\r' && self.spelling.record_end.is_none()
    }

    /// The byte of a record that fails, which must not become two records by it.
    fn kept_within(&self, byte: u8) -> u8 {
        if byte == b'\n' || byte == self.signs.delimiter { b' ' } else { byte }
    }

    fn record_ends(&mut self, written: &mut Vec<u8>) -> Result<(), FileFault> {
        if self.spelling.record_end.is_none() {
            self.value.pop_if(|last| *last == b'\r');
        }
        self.value_ends(written)?;
        written.push(b'\n');
        self.lines += 1;
        Ok(())
    }

    fn value_ends(&mut self, written: &mut Vec<u8>) -> Result<(), FileFault> {
        let mut value = std::mem::take(&mut self.value);
        if self.spelling.trims {
            while value.pop_if(|last| matches!(last, b' ' | b'\t')).is_some() {}
        }
        if self.has_signs(&value) {
            self.enclosed(&value, written)?;
        } else {
            written.extend_from_slice(&value);
        }
        self.place = ValuePlace::Before;
        Ok(())
    }

    /// Whether a value without quotes would be read otherwise as it is.
    fn has_signs(&self, value: &[u8]) -> bool {
        let delimiter = Some(self.signs.delimiter);
        // which encloses none of the file's own values
        let own_quote = self.signs.quote.filter(|_| self.spelling.quote.is_none());
        let is_line = |byte: u8| self.spelling.record_end.is_some() && matches!(byte, b'\n' | b'\r');
        value.iter().any(|byte| Some(*byte) == delimiter || Some(*byte) == own_quote || is_line(*byte))
    }

    fn enclosed(&mut self, value: &[u8], written: &mut Vec<u8>) -> Result<(), FileFault> {
        let (Some(quote), escape) = (self.signs.quote, self.signs.escape) else {
            return Err(self.fault("it has a sign that cannot be told from the file's own"));
        };
        if self.signs.escapes_unquoted && value.contains(&b'\\') {
            return Err(self.fault(
                "a backslash stands in a value without quotes: ESCAPE_UNENCLOSED_FIELD = NONE reads it as it is",
            ));
        }
        let is_escaped = |byte: &u8| *byte == quote || Some(*byte) == escape;
        if escape.is_some_and(|escape| escape != quote) && value.iter().any(is_escaped) {
            return Err(self.fault("a quote stands in a value without quotes"));
        }
        written.push(quote);
        for byte in value {
            written.push(*byte);
            if *byte == quote {
                written.push(quote);
            }
            self.lines += u64::from(*byte == b'\n');
        }
        written.push(quote);
        Ok(())
    }

    fn fault(&self, reason: &str) -> FileFault {
        FileFault { line: Some(self.lines + 1), reason: reason.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use sql::RecordWidth;

    use super::*;

    fn signs(delimiter: u8) -> CsvRecords {
        CsvRecords {
            delimiter,
            quote: Some(b'"'),
            escape: None,
            skipped: 0,
            nulls: vec![r"\N".to_owned()],
            escapes_unquoted: true,
            allows_blank: false,
            has_header: false,
            width: RecordWidth::Exact,
        }
    }

    fn respelled(spelling: &CsvSpelling, signs: &CsvRecords, text: &[u8], part: usize) -> Result<String, FileFault> {
        let mut respelled = RespelledCsv::new(spelling, signs);
        let mut written = Vec::new();
        for part in text.chunks(part).chain([&[][..]]) {
            written.extend(respelled.take(part)?);
        }
        Ok(String::from_utf8(written).unwrap())
    }

    #[test]
    fn white_space_around_values_and_their_quotes_is_left_out() {
        let quote = Some(b'"');
        let spelling = CsvSpelling { value_end: b"|".to_vec(), record_end: None, quote, trims: true };
        let signs = CsvRecords { skipped: 1, ..signs(b'|') };
        let text = b"\xef\xbb\xbf h | h \n| \"Hello world\" |\r\n|\" Hello world \"|\n a b |\t\\N |\"x\"\"\n y\" \n \n\"a\" b |c";
        let told = " h | h \n|\"Hello world\"|\n|\" Hello world \"|\na b|\\N|\"x\"\"\n y\"\n\n\"a\" b |c";
        for part in [1, 2, 7, text.len()] {
            assert_eq!(respelled(&spelling, &signs, text, part).as_deref(), Ok(told), "{part}");
        }
    }

    #[test]
    fn values_and_records_end_by_the_signs_of_the_reader() {
        let spelling =
            CsvSpelling { value_end: b"||".to_vec(), record_end: Some(b"|;".to_vec()), quote: None, trims: false };
        let signs = CsvRecords { escapes_unquoted: false, ..signs(0x1f) };
        let text = b"1||a|b|;2||c\nd|;3||\"e|;|;4||\x1f\\|";
        let told = "1\x1fa|b\n2\x1f\"c\nd\"\n3\x1f\"\"\"e\"\n\n4\x1f\"\x1f\\|\"";
        for part in [1, 2, 7, text.len()] {
            assert_eq!(respelled(&spelling, &signs, text, part).as_deref(), Ok(told), "{part}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_enclosed_is_told_by_its_line() {
        let spelling =
            CsvSpelling { value_end: b",".to_vec(), record_end: Some(b";".to_vec()), quote: Some(b'"'), trims: false };
        let told = respelled(&spelling, &signs(b','), b"1,a;2,\"b\nc\";3,\nd\\e;", 3).unwrap_err();
        assert_eq!((told.line, told.reason.contains("backslash")), (Some(4), true), "{told:?}");
        let kept = respelled(&spelling, &signs(b','), b"1,\"a\"b\nc,d;2;", 3);
        assert_eq!(kept.as_deref(), Ok("1,\"a\"b c,d\n2\n"));
    }
}
