//! Rows in the form a copy has: made from the rows of the protocol, which hold the same values.

use bytes::{Buf, BytesMut};

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
    pub fn rows(&mut self, mut rows: BytesMut, out: &mut BytesMut) {
        while rows.len() >= 7 {
            let length = usize::try_from(rows.get(1..5).map_or(0, |mut bytes| bytes.get_u32())).unwrap_or(0);
            let mut row = rows.split_to((length + 1).min(rows.len()));
            row.advance(5);
            if self.options.format == CopyFormat::Binary {
                data(out, &[std::mem::take(&mut self.head), &row].concat());
            } else {
                self.row(row);
                data(out, &self.line);
            }
        }
    }

    fn row(&mut self, mut row: BytesMut) {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        for at in 0..usize::from(row.get_u16()) {
            self.separate(at, &mut line);
            let length = usize::try_from(row.get_i32()).ok();
            match length {
                Some(length) => self.value(Some(&row.split_to(length)), &mut line),
                None => self.value(None, &mut line),
            }
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
        for byte in value {
            let letter = match byte {
                b'\\' => b'\\',
                0x08 => b'b',
                0x0c => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                0x0b => b'v',
                other if *other == self.options.delimiter() => *other,
                other => {
                    line.push(*other);
                    continue;
                }
            };
            line.extend_from_slice(&[b'\\', letter]);
        }
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
