//! The records of a CSV file that can be read, each with its line before its values; those that cannot are counted.
//!
//! The engine's reader would give up at the first of these, and say lines of what it was given. So it is given none of
//! them, and the line of each record as one more value: a sign that is no value of NULL, and digits behind it.

mod plain_record;

use std::io::Write;

use engine::{FileFault, RECORD_BYTES_MAX};
use sql::{CsvRecords, RecordWidth};

use super::doubtful::DoubtfulRecords;
use super::{ByteUse, MARK, Place, RecordScan, UNCLOSED};
use crate::pipeline::stages::staged::FAULTS_MAX;

/// Bytes that the line of a record and its number take before it.
const LINE_BYTES_MAX: usize = 48;
/// Signs that a line may begin with.
const SIGNS: [char; 4] = ['#', 'L', '@', '_'];

/// The records of a file, by number, and the first faults of those that fail.
#[derive(Debug, Default)]
pub(in crate::pipeline::stages::staged) struct SiftedRecords {
    /// Those that were let through, without the one that names the values.
    pub records: u64,
    /// The most values that one of them has, without its line.
    pub values: usize,
    pub failed: u64,
    /// The first ones of these.
    pub faults: Vec<FileFault>,
    /// Of those that were let through, where they were looked for.
    pub doubtful: Option<DoubtfulRecords>,
}

/// The records of a file on their way to the engine.
#[derive(Debug)]
pub(in crate::pipeline::stages::staged) struct RecordSift<'c> {
    scan: RecordScan<'c>,
    sign: char,
    /// So many values a record has to have, once that is known.
    width: Option<usize>,
    /// Bytes of the record that has begun, while nothing is wrong with it.
    record: Vec<u8>,
    /// Its first line.
    line: u64,
    fault: Option<FileFault>,
    /// The last byte outside of quotes was a carriage return.
    is_returned: bool,
    /// The record that names the values has been.
    is_headed: bool,
    /// Bytes of [`MARK`] that the file begins with.
    marked: usize,
    /// Records behind so many are passed over.
    most: Option<u64>,
    /// The number of a record in its file stands behind its line.
    is_numbered: bool,
    sifted: SiftedRecords,
}

impl<'c> RecordSift<'c> {
    /// None where a line cannot be told from a value.
    pub fn new(signs: &'c CsvRecords, width: Option<usize>) -> Option<Self> {
        let own = [Some(signs.delimiter), signs.quote, signs.escape];
        if own.iter().flatten().any(u8::is_ascii_digit) {
            return None;
        }
        let is_free = |sign: &char| {
            !own.iter().flatten().any(|byte| char::from(*byte) == *sign)
                && !signs.nulls.iter().any(|null| null.starts_with(*sign))
        };
        let sign = SIGNS.into_iter().find(is_free)?;
        let is_headed = !signs.has_header;
        Some(Self {
            scan: RecordScan::new(signs),
            sign,
            width,
            record: Vec::new(),
            line: 1,
            fault: None,
            is_returned: false,
            is_headed,
            marked: 0,
            most: None,
            is_numbered: false,
            sifted: SiftedRecords::default(),
        })
    }

    /// The same of no more records than these.
    pub fn first(self, most: Option<u64>) -> Self {
        Self { most, ..self }
    }

    /// The same, with the number of each record behind its line.
    pub fn numbered(self) -> Self {
        Self { is_numbered: true, ..self }
    }

    /// The same, which looks for those that may fail.
    pub fn doubting(mut self, doubtful: Option<DoubtfulRecords>) -> Self {
        self.sifted.doubtful = doubtful;
        self
    }

    /// What stands before a line, and before a number.
    pub fn sign(&self) -> char {
        self.sign
    }

    /// The bytes that the engine is given in place of these; none are the end of the file.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<u8>, FileFault> {
        let mut given = Vec::with_capacity(bytes.len() + bytes.len() / 8);
        let mut left = bytes;
        while let Some((byte, behind)) = left.split_first() {
            if let Some(taken) = self.plain_record(left) {
                self.ends(&mut given)?;
                left = left.get(taken..).unwrap_or_default();
                continue;
            }
            self.next(*byte, &mut given)?;
            let (plain, rest) = behind.split_at_checked(self.plain(behind)).unwrap_or((&[][..], behind));
            self.record.extend_from_slice(plain);
            left = rest;
        }
        if bytes.is_empty() {
            self.end(&mut given)?;
        }
        Ok(given)
    }

    pub fn into_records(self) -> SiftedRecords {
        self.sifted
    }

    /// How many of the next bytes are of a value with which nothing is wrong, nor becomes wrong by them.
    fn plain(&self, bytes: &[u8]) -> usize {
        if self.fault.is_some() || self.is_returned {
            return 0;
        }
        let room = (RECORD_BYTES_MAX - LINE_BYTES_MAX).saturating_sub(self.record.len());
        self.scan.plain(bytes).min(room)
    }

    fn next(&mut self, byte: u8, given: &mut Vec<u8>) -> Result<(), FileFault> {
        if let Some(expected) = MARK.get(self.marked) {
            if byte == *expected {
                self.marked += 1;
                return Ok(());
            }
            if self.marked > 0 {
                self.fails(self.scan.fault("it is not UTF-8".to_owned()));
            }
            self.marked = MARK.len();
        }
        match self.scan.used(byte) {
            ByteUse::Skipped => self.line = self.scan.lines + 1,
            ByteUse::EndsRecord => self.ends(given)?,
            ByteUse::WithinRecord => self.within(byte),
        }
        Ok(())
    }

    /// A record ends with its line.
    fn ends(&mut self, given: &mut Vec<u8>) -> Result<(), FileFault> {
        self.ended(given)?;
        self.scan.lines += 1;
        self.line = self.scan.lines + 1;
        Ok(())
    }

    /// A byte that ends no record.
    fn within(&mut self, byte: u8) {
        let before = self.scan.place;
        let is_quoted = matches!(before, Place::Quoted | Place::Escaped);
        if self.is_returned && !is_quoted {
            self.fails(self.scan.fault("a carriage return stands in a value without quotes".to_owned()));
        }
        self.is_returned = byte == b'\r' && !is_quoted;
        match self.scan.behind(byte) {
            Ok(place) => self.scan.place = place,
            Err(fault) => {
                self.fails(fault);
                let is_between = byte == self.scan.signs.delimiter && before != Place::Backslash;
                self.scan.place = if is_between { Place::Between } else { Place::Value };
            }
        }
        if before == Place::Closed && self.scan.place == Place::Value {
            self.fails(self.scan.fault("a text stands behind a quote that closes".to_owned()));
        }
        if self.record.len() >= RECORD_BYTES_MAX - LINE_BYTES_MAX {
            self.fails(self.scan.fault(format!("it is longer than {} MiB", RECORD_BYTES_MAX >> 20)));
        }
        self.scan.length = 1;
        if self.fault.is_some() {
            self.scan.values = 1;
        } else {
            self.record.push(byte);
        }
    }

    /// The first fault of a record counts.
    fn fails(&mut self, fault: FileFault) {
        if self.fault.is_none() {
            self.fault = Some(fault);
            self.record.clear();
        }
    }

    fn ended(&mut self, given: &mut Vec<u8>) -> Result<(), FileFault> {
        let (place, values) = (self.scan.place, self.scan.values);
        let met = self.sifted.records + self.sifted.failed;
        if self.is_headed && self.most.is_some_and(|most| met >= most) {
            self.begins();
            return Ok(());
        }
        match place {
            Place::Blank if self.fault.is_none() && self.scan.signs.allows_blank => {
                self.begins();
                return Ok(());
            }
            Place::Blank => self.fails(self.scan.blank()),
            Place::Backslash => self.fails(self.scan.escaped()),
            Place::Quoted | Place::Escaped => self.fails(self.scan.fault(UNCLOSED.to_owned())),
            Place::Between | Place::Value | Place::Closed | Place::Null => {}
        }
        if let Some(width) = self.width.filter(|width| *width != values) {
            self.fails(self.scan.fault(format!("it has {values} values for {width} columns")));
        }
        if std::str::from_utf8(&self.record).is_err() {
            self.fails(self.scan.fault("it is not UTF-8".to_owned()));
        }
        let is_header = !self.is_headed;
        match self.fault.take() {
            Some(fault) if is_header => return Err(fault), // the columns of no record are known
            Some(fault) => {
                self.sifted.failed += 1;
                if self.sifted.faults.len() < FAULTS_MAX {
                    self.sifted.faults.push(fault);
                }
            }
            None => {
                self.give(given);
                self.sifted.values = self.sifted.values.max(values);
                self.sifted.records += u64::from(!is_header);
            }
        }
        if is_header {
            self.is_headed = true;
            self.width = (self.scan.signs.width == RecordWidth::Exact).then_some(values);
        }
        self.begins();
        Ok(())
    }

    fn give(&mut self, given: &mut Vec<u8>) {
        if self.is_returned {
            self.record.pop();
        }
        let from = given.len();
        let _ = write!(given, "{}{}", self.sign, self.line); // into memory, which takes all of it
        if self.is_numbered {
            let number = self.sifted.records + self.sifted.failed + 1;
            let _ = write!(given, "{}{number}", self.sign);
        }
        given.push(self.scan.signs.delimiter);
        given.extend_from_slice(&self.record);
        given.push(b'\n');
        if let Some(doubtful) = &mut self.sifted.doubtful {
            let own = given.get(from..).unwrap_or_default();
            if self.is_headed { doubtful.take(&self.record, own) } else { doubtful.head(own) }
        }
    }

    fn begins(&mut self) {
        self.record.clear();
        (self.scan.place, self.scan.length, self.scan.values) = (Place::Blank, 0, 1);
        (self.fault, self.is_returned) = (None, false);
    }

    /// The bytes have ended.
    fn end(&mut self, given: &mut Vec<u8>) -> Result<(), FileFault> {
        if self.scan.length > 0 || self.fault.is_some() { self.ended(given) } else { Ok(()) }
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
            nulls: vec![r"\N".to_owned()],
            escapes_unquoted: true,
            allows_blank: false,
            has_header: false,
            width: RecordWidth::Exact,
        }
    }

    fn sifted(signs: &CsvRecords, width: Option<usize>, bytes: &[u8]) -> (String, SiftedRecords) {
        let mut sift = RecordSift::new(signs, width).unwrap();
        let mut given = Vec::new();
        for part in bytes.chunks(3).chain([&[][..]]) {
            given.extend(sift.take(part).unwrap());
        }
        (String::from_utf8(given).unwrap(), sift.into_records())
    }

    #[test]
    fn each_record_has_its_line_and_those_that_cannot_be_read_are_left_out() {
        for (text, given, failed, line) in [
            (&b"\xef\xbb\xbf1,a\r\n2,b"[..], "#1,1,a\n#2,2,b\n", 0, None),
            (&b"1,\"a\nb\"\n2,b\n"[..], "#1,1,\"a\nb\"\n#3,2,b\n", 0, None),
            (&b"1,a\n\n2\n3,b,c\n4,d\n"[..], "#1,1,a\n#5,4,d\n", 3, Some(2)),
            (&b"1,a\\t\n2,\"b\"c\n3,\xff\n4,d\n"[..], "#4,4,d\n", 3, Some(1)),
            (&b"\xef\xbb1,a\n4,\\N\n5,a\rb\n"[..], "#2,4,\\N\n", 2, Some(1)),
            (&b"1,a\n2,\"b\n3,c\n"[..], "#1,1,a\n", 1, Some(4)),
        ] {
            let (told, records) = sifted(&signs(), Some(2), text);
            assert_eq!((told.as_str(), records.failed), (given, failed), "{text:?}");
            assert_eq!(records.faults.first().and_then(|fault| fault.line), line, "{text:?}");
        }
        let long = "x".repeat(RECORD_BYTES_MAX + 5);
        let (told, records) = sifted(&signs(), Some(1), format!("{long}\ny\n").as_bytes());
        assert_eq!((told.as_str(), records.failed, records.records), ("#2,y\n", 1, 1));
    }

    #[test]
    fn bytes_are_sifted_together_as_they_are_one_by_one() {
        const BYTES: [u8; 8] = *b"aN,\"\\\r\n\xff";
        let own = signs();
        for number in 0..BYTES.len().pow(5) {
            let mut text: Vec<u8> = (0..5).map(|place| BYTES[number / BYTES.len().pow(place) % BYTES.len()]).collect();
            text.extend(b"aa\n1,2\n");
            let told = |part: usize| {
                let mut sift = RecordSift::new(&own, Some(2)).unwrap();
                let mut given = Vec::new();
                for part in text.chunks(part).chain([&[][..]]) {
                    given.extend(sift.take(part).unwrap());
                }
                let records = sift.into_records();
                (given, records.records, records.values, records.failed, records.faults)
            };
            assert_eq!(told(text.len()), told(1), "{text:?}");
        }
    }

    #[test]
    fn a_header_says_how_many_values_a_record_has() {
        let headed = CsvRecords { has_header: true, ..signs() };
        let (told, records) = sifted(&headed, None, b"id,note\n1,a\n2\n");
        assert_eq!((told.as_str(), records.records, records.failed), ("#1,id,note\n#2,1,a\n", 1, 1));
        let mut broken = RecordSift::new(&headed, None).unwrap();
        assert!(broken.take(b"id\\,note\n").is_err());
    }

    #[test]
    fn a_record_has_its_number_among_all_where_that_is_asked_for() {
        let own = signs();
        let mut sift = RecordSift::new(&own, Some(2)).unwrap().numbered();
        let mut given = sift.take(b"1,\"a\nb\"\n2\n3,c\n").unwrap();
        given.extend(sift.take(b"").unwrap());
        assert_eq!(String::from_utf8(given).unwrap(), "#1#1,1,\"a\nb\"\n#4#3,3,c\n");
    }

    #[test]
    fn records_behind_the_first_ones_are_passed_over() {
        let headed = CsvRecords { has_header: true, ..signs() };
        let mut sift = RecordSift::new(&headed, None).unwrap().first(Some(2));
        let mut given = sift.take(b"id,note\n1,a\n2\n3,c\n\n").unwrap();
        given.extend(sift.take(b"").unwrap());
        assert_eq!(String::from_utf8(given).unwrap(), "#1,id,note\n#2,1,a\n");
        let records = sift.into_records();
        assert_eq!((records.records, records.failed), (1, 1));
    }

    #[test]
    fn a_line_is_no_value() {
        let nulls = vec!["#1".to_owned(), "L".to_owned()];
        let (told, _) = sifted(&CsvRecords { nulls, delimiter: b'@', ..signs() }, None, b"1\n");
        assert_eq!(told, "_1@1\n");
        assert!(RecordSift::new(&CsvRecords { delimiter: b'7', ..signs() }, None).is_none());
    }
}
