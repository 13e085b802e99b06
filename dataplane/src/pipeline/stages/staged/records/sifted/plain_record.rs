//! Records whose values have neither quotes nor escapes: most of a file, of which no byte need be looked at by itself.

use std::io::BufRead;

use engine::RECORD_BYTES_MAX;

use super::super::{MARK, Place, VALUES_MAX};
use super::{LINE_BYTES_MAX, RecordSift};

impl RecordSift<'_> {
    /// Takes the record with which these bytes begin, if it is such a one and they have its end: how many bytes it has.
    ///
    /// All of it is taken as if its bytes had come one by one, but for the end of its line. Of any other nothing is taken.
    pub(super) fn plain_record(&mut self, bytes: &[u8]) -> Option<usize> {
        let signs = self.scan.signs;
        let is_behind_head = self.marked == MARK.len() && self.is_headed && self.scan.lines >= signs.skipped;
        let has_begun = self.scan.place != Place::Blank || !self.record.is_empty() || self.fault.is_some();
        if !is_behind_head || has_begun || self.is_returned || self.most.is_some() {
            return None;
        }
        let mut unread = bytes;
        let taken = unread.read_until(b'\n', &mut self.record).unwrap_or_default(); // from memory, which does not fail
        let is_ended = self.record.pop_if(|last| *last == b'\n').is_some();
        self.record.pop_if(|last| *last == b'\r');
        let values = 1 + self.record.iter().map(|byte| usize::from(*byte == signs.delimiter)).sum::<usize>();
        let others = [signs.quote, Some(b'\r'), signs.escapes_unquoted.then_some(b'\\')];
        let is_plain = !others.iter().flatten().any(|byte| self.record.contains(byte));
        let is_within = self.record.len() < RECORD_BYTES_MAX - LINE_BYTES_MAX && values <= VALUES_MAX;
        if !is_ended || self.record.is_empty() || !is_plain || !is_within {
            self.record.clear();
            return None;
        }
        (self.scan.place, self.scan.length, self.scan.values) = (Place::Value, 1, values);
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use sql::{CsvRecords, RecordWidth};

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
            width: RecordWidth::Any,
        }
    }

    #[test]
    fn a_record_is_plain_where_no_byte_of_it_is_a_sign_but_its_delimiters() {
        let own = signs();
        for (text, taken) in [
            ("1,a\n2", Some(4)),
            ("1,a\r\n", Some(5)),
            (",\n", Some(2)),
            ("1,a", None),
            ("\n", None),
            ("\r\n", None),
            ("1,\"a\"\n", None),
            ("1,\\N\n", None),
            ("1\r,a\n", None),
        ] {
            let mut sift = RecordSift::new(&own, None).unwrap();
            sift.take(b"0,x\n").unwrap();
            assert_eq!(sift.plain_record(text.as_bytes()), taken, "{text:?}");
        }
    }

    #[test]
    fn plain_records_are_sifted_as_those_that_come_byte_by_byte() {
        let blank = CsvRecords { allows_blank: true, skipped: 1, escapes_unquoted: false, ..signs() };
        let headed = CsvRecords { has_header: true, quote: None, width: RecordWidth::Exact, ..signs() };
        let text = b"id,note\r\n1,a\n\n2,\"b\nc\"\n3,d\r\n4\n5,\\N\n6,e\\t\n7,\xff\n8,f\rg\n\r\n,\n9,h";
        for signs in [&signs(), &blank, &headed] {
            for most in [None, Some(3)] {
                let sifted = |part: usize| {
                    let mut sift = RecordSift::new(signs, None).unwrap().first(most);
                    let mut given = Vec::new();
                    for part in text.chunks(part).chain([&[][..]]) {
                        given.extend(sift.take(part).unwrap());
                    }
                    let records = sift.into_records();
                    let counts = (records.records, records.values, records.failed);
                    (String::from_utf8(given).unwrap(), counts, records.faults)
                };
                assert_eq!(sifted(text.len()), sifted(1), "{signs:?}");
                assert_eq!(sifted(7), sifted(1), "{signs:?}");
            }
        }
    }
}
