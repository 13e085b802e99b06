//! Rows in the form a copy has: made from the rows of the protocol, which hold the same values.

use bytes::BytesMut;

use super::{CopyFormat, Options, data};

/// What a binary copy begins with: a mark that no transfer changes unseen, no flags, no extension.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// And what it ends with.
const TRAILER: &[u8] = &[0xff, 0xff];

#[derive(Debug)]
pub struct CopyEncoder {
    options: Options,
    /// What goes before the next row, in the same message: some clients look for both in the first.
    head: &'static [u8],
    line: Vec<u8>,
}

impl CopyEncoder {
    pub fn new(options: Options) -> Self {
        let head = if options.format == CopyFormat::Binary { SIGNATURE } else { &[] };
        Self { options, head, line: Vec::new() }
    }

    pub fn begin(&self, names: &[&str], out: &mut BytesMut) {
        if self.options.header && self.options.format != CopyFormat::Binary {
            let mut line = Vec::new();
            for (at, name) in names.iter().enumerate() {
                self.separate(at, &mut line);
                self.value(Some(name.as_bytes()), &mut line);
            }
            line.push(b'\n');
            data(out, &line);
        }
    }

    pub fn end(&self, out: &mut BytesMut) {
        if self.options.format == CopyFormat::Binary {
            data(out, &[self.head, TRAILER].concat());
        }
    }

    /// Turns `DataRow` messages into `CopyData` messages.
    pub fn rows(&mut self, mut rows: &[u8], out: &mut BytesMut) {
        // A letter, the length with itself, the row.
        while let Some(([_, length @ ..], behind)) = rows.split_first_chunk::<5>() {
            let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
            let (row, next) = behind.split_at(length.saturating_sub(4).min(behind.len()));
            rows = next;
            if self.options.format == CopyFormat::Binary {
                data(out, &[std::mem::take(&mut self.head), row].concat());
            } else {
                self.row(row);
                data(out, &self.line);
            }
        }
    }

    fn row(&mut self, row: &[u8]) {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        let (count, mut rest) = row.split_first_chunk::<2>().unwrap_or((&[0; 2], &[]));
        for at in 0..usize::from(u16::from_be_bytes(*count)) {
            self.separate(at, &mut line);
            let (length, behind) = rest.split_first_chunk::<4>().unwrap_or((&[0xff; 4], &[]));
            let length = usize::try_from(i32::from_be_bytes(*length)).ok();
            let (value, next) = behind.split_at(length.unwrap_or(0).min(behind.len()));
            self.value(length.map(|_| value), &mut line);
            rest = next;
        }
        line.push(b'\n');
        self.line = line;
    }

    fn separate(&self, at: usize, line: &mut Vec<u8>) {
        if at > 0 {
            line.push(self.options.delimiter());
        }
    }

    fn value(&self, value: Option<&[u8]>, line: &mut Vec<u8>) {
        match (value, self.options.format) {
            (None, _) => line.extend_from_slice(self.options.null().as_bytes()),
            (Some(value), CopyFormat::Csv) => self.quoted(value, line),
            (Some(value), _) => self.escaped(value, line),
        }
    }

    fn escaped(&self, value: &[u8], line: &mut Vec<u8>) {
        let delimiter = self.options.delimiter();
        let mut plain = 0;
        for (at, byte) in value.iter().enumerate() {
            let letter = match byte {
                b'\\' => b'\\',
                0x08 => b'b',
                0x0c => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                0x0b => b'v',
                other if *other == delimiter => *other,
                _ => continue,
            };
            line.extend_from_slice(value.get(plain..at).unwrap_or_default());
            line.extend_from_slice(&[b'\\', letter]);
            plain = at + 1;
        }
        line.extend_from_slice(value.get(plain..).unwrap_or_default());
    }

    /// In quotes where it could be taken for something else.
    fn quoted(&self, value: &[u8], line: &mut Vec<u8>) {
        let (quote, escape) = (self.options.quote, self.options.escape());
        let special = |byte: &u8| *byte == self.options.delimiter() || *byte == quote || matches!(byte, b'\n' | b'\r');
        if value != self.options.null().as_bytes() && value != b"\\." && !value.iter().any(special) {
            line.extend_from_slice(value);
            return;
        }
        line.push(quote);
        for byte in value {
            if *byte == quote || *byte == escape {
                line.push(escape);
            }
            line.push(*byte);
        }
        line.push(quote);
    }
}

#[cfg(test)]
mod tests {
    use bytes::BufMut;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::records::Records;
    use super::*;
    use crate::protocols::pgwire::{lex, reply};

    type Row = Vec<Option<Vec<u8>>>;

    /// As the protocol has it.
    fn messages(rows: &[Row]) -> BytesMut {
        let mut out = BytesMut::new();
        for row in rows {
            reply::message(&mut out, b'D', |out| {
                out.put_u16(u16::try_from(row.len()).unwrap());
                for value in row {
                    out.put_i32(value.as_ref().map_or(-1, |value| i32::try_from(value.len()).unwrap()));
                    out.put_slice(value.as_deref().unwrap_or_default());
                }
            });
        }
        out
    }

    /// What the `CopyData` messages hold.
    fn data_of(mut messages: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        while let [b'd', a, b, c, d, rest @ ..] = messages {
            let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
            all.extend_from_slice(&rest[..length]);
            messages = &rest[length..];
        }
        assert!(messages.is_empty());
        all
    }

    fn byte() -> impl Strategy<Value = u8> {
        let odd = prop::sample::select(b"\\N.\"\t\n\r\x08\x0b\x0c,;'".to_vec());
        prop_oneof![2 => odd, 1 => any::<u8>()]
    }

    proptest! {
        #[test]
        fn what_one_copy_writes_another_reads(
            rows in vec(vec(prop::option::of(vec(byte(), 0..8)), 1..4), 0..5),
            format in prop::sample::select(vec!["", "csv", "binary"]),
        ) {
            let tokens = lex::split(format).pop().map(|piece| piece.tokens).unwrap_or_default();
            let options = Options::read(&tokens).unwrap();
            let (mut encoder, mut out) = (CopyEncoder::new(options.clone()), BytesMut::new());
            encoder.rows(&messages(&rows), &mut out);
            encoder.end(&mut out);
            let mut records = Records::new(options);
            records.add(&data_of(&out)).map_err(|error| TestCaseError::fail(error.message))?;
            let mut read: Vec<Row> = Vec::new();
            while let Some(record) = records.last().map_err(|error| TestCaseError::fail(error.message))? {
                read.push(record.into_iter().map(|value| value.map(Vec::from)).collect());
            }
            prop_assert_eq!(read, rows);
        }
    }
}
