//! The records of a CSV file as its bytes come: each within its bounds, counted, and none that would be read otherwise.
//!
//! The engine's reader leaves out a record that is longer than its buffer, and blank lines, without a word, and knows no
//! escape outside of quotes. So each is refused here by its line, and the rows that are read are compared with the count.

mod doubtful;
mod respelled;
mod sifted;
mod sure_value;

use engine::{FileFault, RECORD_BYTES_MAX};
use sql::CsvRecords;

pub(super) use doubtful::DoubtfulRecords;
pub(super) use respelled::RespelledCsv;
pub(super) use sifted::{RecordSift, SiftedRecords};

/// As many values as a record may have.
const VALUES_MAX: usize = 1_600;

/// The mark that a file in UTF-8 may begin with, which is no part of its first value.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

const UNCLOSED: &str = "a quote is not closed";

/// Totals of a file's records.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RecordTotals {
    pub records: u64,
    /// The most values that a record has.
    pub values: usize,
}

/// The records so far.
#[derive(Debug)]
pub(super) struct RecordScan<'c> {
    signs: &'c CsvRecords,
    /// By byte, whether it may be one of the signs.
    is_sign: [bool; 256],
    place: Place,
    /// Bytes of the record that has begun.
    length: usize,
    values: usize,
    /// Lines that have ended.
    lines: u64,
    totals: RecordTotals,
}

/// Where in a record the last byte was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing of the record is there yet.
    Blank,
    /// A value has not begun.
    Between,
    Value,
    Quoted,
    /// Behind the quote that closes.
    Closed,
    /// Behind the sign that escapes, within quotes.
    Escaped,
    /// Behind a backslash with which a value begins.
    Backslash,
    /// Behind `\N`.
    Null,
}

/// The use of a byte in the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteUse {
    /// Its line is passed over.
    Skipped,
    EndsRecord,
    WithinRecord,
}

impl<'c> RecordScan<'c> {
    pub fn new(signs: &'c CsvRecords) -> Self {
        let totals = RecordTotals { records: 0, values: 0 };
        let mut is_sign = [false; 256];
        let all = [Some(signs.delimiter), signs.quote, signs.escape, Some(b'\\'), Some(b'\r'), Some(b'\n')];
        for byte in all.into_iter().flatten() {
            if let Some(is_sign) = is_sign.get_mut(usize::from(byte)) {
                *is_sign = true;
            }
        }
        Self { signs, is_sign, place: Place::Blank, length: 0, values: 1, lines: 0, totals }
    }

    pub fn take(&mut self, bytes: &[u8]) -> Result<(), FileFault> {
        let mut left = bytes;
        while let Some((byte, behind)) = left.split_first() {
            self.next(*byte)?;
            let plain = self.plain(behind);
            self.longer(plain)?;
            left = behind.get(plain..).unwrap_or_default();
        }
        Ok(())
    }

    /// How many bytes that come next are of the same value as the last one, whatever they are: most bytes of a file.
    fn plain(&self, bytes: &[u8]) -> usize {
        if !matches!(self.place, Place::Value | Place::Quoted) {
            return 0;
        }
        let is_plain = |byte: &&u8| self.is_sign.get(usize::from(**byte)) == Some(&false);
        bytes.iter().take_while(is_plain).count()
    }

    fn longer(&mut self, bytes: usize) -> Result<(), FileFault> {
        self.length += bytes;
        if self.length > RECORD_BYTES_MAX {
            return Err(self.fault(format!("it is longer than {} MiB", RECORD_BYTES_MAX >> 20)));
        }
        Ok(())
    }

    fn next(&mut self, byte: u8) -> Result<(), FileFault> {
        match self.used(byte) {
            ByteUse::Skipped => return Ok(()),
            ByteUse::EndsRecord => {
                self.ended()?;
                self.lines += 1;
                return Ok(());
            }
            ByteUse::WithinRecord => {}
        }
        self.longer(1)?;
        self.place = self.behind(byte)?;
        Ok(())
    }

    /// What the byte is, by where the last one was. The line that a record ends with is counted once it has ended.
    fn used(&mut self, byte: u8) -> ByteUse {
        let is_end = byte == b'\n';
        let is_skipped = self.lines < self.signs.skipped;
        if is_end && !is_skipped && !matches!(self.place, Place::Quoted | Place::Escaped) {
            return ByteUse::EndsRecord;
        }
        self.lines += u64::from(is_end);
        if is_skipped { ByteUse::Skipped } else { ByteUse::WithinRecord }
    }

    fn behind(&mut self, byte: u8) -> Result<Place, FileFault> {
        let CsvRecords { delimiter, quote, escape, escapes_unquoted, .. } = *self.signs;
        let is_quote = Some(byte) == quote;
        if byte == delimiter && !matches!(self.place, Place::Quoted | Place::Escaped | Place::Backslash) {
            self.values += 1;
            if self.values > VALUES_MAX {
                return Err(self.fault(format!("it has more than {VALUES_MAX} values")));
            }
            return Ok(Place::Between);
        }
        Ok(match self.place {
            Place::Blank if byte == b'\r' => Place::Blank,
            Place::Blank | Place::Between if is_quote => Place::Quoted,
            Place::Quoted if Some(byte) == escape && !is_quote => Place::Escaped,
            Place::Quoted if is_quote => Place::Closed,
            Place::Quoted | Place::Escaped => Place::Quoted,
            // a quote that is written twice
            Place::Closed if is_quote && (escape.is_none() || escape == quote) => Place::Quoted,
            Place::Blank | Place::Between if byte == b'\\' && escapes_unquoted => Place::Backslash,
            Place::Backslash if byte == b'N' => Place::Null,
            Place::Null if byte == b'\r' => Place::Null,
            Place::Backslash | Place::Null => return Err(self.escaped()),
            Place::Value if byte == b'\\' && escapes_unquoted => return Err(self.escaped()),
            Place::Closed if byte == b'\r' => Place::Closed,
            Place::Blank | Place::Between | Place::Value | Place::Closed => Place::Value,
        })
    }

    fn escaped(&self) -> FileFault {
        self.fault(
            "a backslash stands in a value without quotes: ESCAPE_UNENCLOSED_FIELD = NONE reads it as it is".to_owned(),
        )
    }

    fn ended(&mut self) -> Result<(), FileFault> {
        match self.place {
            Place::Backslash => return Err(self.escaped()),
            Place::Blank if !self.signs.allows_blank => return Err(self.blank()),
            Place::Blank => {}
            _ => {
                self.totals.records += 1;
                self.totals.values = self.totals.values.max(self.values);
            }
        }
        (self.place, self.length, self.values) = (Place::Blank, 0, 1);
        Ok(())
    }

    /// The bytes have ended.
    pub fn end(mut self) -> Result<RecordTotals, FileFault> {
        if matches!(self.place, Place::Quoted | Place::Escaped) {
            return Err(self.fault(UNCLOSED.to_owned()));
        }
        if self.length > 0 {
            self.ended()?;
        }
        Ok(self.totals)
    }

    fn blank(&self) -> FileFault {
        self.fault("it is blank: SKIP_BLANK_LINES = TRUE leaves it out".to_owned())
    }

    fn fault(&self, reason: String) -> FileFault {
        FileFault { line: Some(self.lines + 1), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs() -> CsvRecords {
        CsvRecords {
            delimiter: b',',
            quote: Some(b'"'),
            escape: None,
            skipped: 0,
            nulls: Vec::new(),
            escapes_unquoted: true,
            allows_blank: false,
            has_header: false,
            width: sql::RecordWidth::Exact,
        }
    }

    fn counted(signs: &CsvRecords, text: &str) -> Result<RecordTotals, FileFault> {
        let mut scan = RecordScan::new(signs);
        text.as_bytes().chunks(3).try_for_each(|part| scan.take(part))?;
        scan.end()
    }

    #[test]
    fn records_and_their_values_are_counted_as_the_signs_say() {
        let blank = CsvRecords { allows_blank: true, skipped: 1, ..signs() };
        let escaping = CsvRecords { escape: Some(b'\\'), ..signs() };
        for (signs, text, records, values) in [
            (signs(), "1,2\n3,4", 2, 2),
            (signs(), "", 0, 0),
            (signs(), "\"a\n,\"\"b\",2\r\n\\N,x,\\N\n", 2, 3),
            (blank, "id,\"name\n1,2,3\n\r\n\n4\n", 2, 3),
            (escaping, "\"a\\\",\n\",2\n", 1, 2),
            (CsvRecords { quote: None, ..signs() }, "\"a,2\nc\n", 2, 2),
            (signs(), "a\"b,2\nc\n", 2, 2),
        ] {
            assert_eq!(counted(&signs, text).unwrap(), RecordTotals { records, values }, "{text:?}");
        }
    }

    #[test]
    fn bytes_are_counted_together_as_they_are_one_by_one() {
        const BYTES: [u8; 8] = *b"aN,\"\\\r\n'";
        let one_by_one = |signs: &CsvRecords, text: &[u8]| {
            let mut scan = RecordScan::new(signs);
            text.iter().try_for_each(|byte| scan.next(*byte))?;
            scan.end()
        };
        let together = |signs: &CsvRecords, text: &[u8]| {
            let mut scan = RecordScan::new(signs);
            scan.take(text)?;
            scan.end()
        };
        let escaping = CsvRecords { escape: Some(b'\''), skipped: 1, allows_blank: true, ..signs() };
        let plain = CsvRecords { quote: None, escapes_unquoted: false, ..signs() };
        for number in 0..BYTES.len().pow(5) {
            let mut text: Vec<u8> = (0..5).map(|place| BYTES[number / BYTES.len().pow(place) % BYTES.len()]).collect();
            text.extend(b"aa\n1");
            for signs in [&signs(), &escaping, &plain] {
                assert_eq!(together(signs, &text), one_by_one(signs, &text), "{signs:?}: {text:?}");
            }
        }
    }

    #[test]
    fn what_would_be_read_otherwise_is_refused_by_its_line() {
        for (text, line, reason) in [
            ("1\n\n2\n", 2, "it is blank"),
            ("1\na\\tb\n", 2, "a backslash stands"),
            ("1\n\\,\n", 2, "a backslash stands"),
            ("\\\n", 1, "a backslash stands"),
            ("\\Nx\n", 1, "a backslash stands"),
            ("1\n2\n\"3\n", 4, "a quote is not closed"),
        ] {
            let fault = counted(&signs(), text).unwrap_err();
            assert_eq!((fault.line, fault.reason.starts_with(reason)), (Some(line), true), "{text:?}: {fault:?}");
        }
        let as_it_is = CsvRecords { escapes_unquoted: false, ..signs() };
        assert_eq!(counted(&as_it_is, "a\\b,\\\n").unwrap(), RecordTotals { records: 1, values: 2 });
        let long = "x".repeat(RECORD_BYTES_MAX + 1);
        assert!(counted(&signs(), &long).unwrap_err().reason.contains("longer than 4 MiB"));
    }
}
