//! Rows in the form a copy has: text and CSV column by column, binary from the rows of the protocol, which are the same.

use std::ops::Range;

use arrow::array::RecordBatch;
use bytes::{BufMut, BytesMut};
use chrono_tz::Tz;

use super::super::reply;
use super::{CopyFormat, Options, data};
use crate::encode::pg_rows::{self, ColumnTexts, Field, Mismatch};

/// What a binary copy begins with: a mark that no transfer changes unseen, no flags, no extension.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// And what it ends with.
const TRAILER: &[u8] = &[0xff, 0xff];
/// Bytes that are looked at together.
const LOOK_BYTES: usize = 256;

#[derive(Debug)]
pub struct CopyEncoder {
    options: Options,
    /// What goes before the next row, in the same message: some clients look for both in the first.
    head: &'static [u8],
    /// The columns of the rows that were written last: their room is for the next ones.
    columns: Vec<ColumnTexts>,
}

impl CopyEncoder {
    pub fn new(options: Options) -> Self {
        let head = if options.format == CopyFormat::Binary { SIGNATURE } else { &[] };
        Self { options, head, columns: Vec::new() }
    }

    pub fn begin(&self, names: &[&str], out: &mut BytesMut) {
        if self.options.header && self.options.format != CopyFormat::Binary {
            reply::message(out, b'd', |out| {
                for (at, name) in names.iter().enumerate() {
                    self.separate(at, out);
                    self.value(Some(name.as_bytes()), false, out);
                }
                out.put_u8(b'\n');
            });
        }
    }

    pub fn end(&self, out: &mut BytesMut) {
        if self.options.format == CopyFormat::Binary {
            data(out, &[self.head, TRAILER].concat());
        }
    }

    /// Writes these rows of a batch, each as a `CopyData` message.
    pub fn write(
        &mut self,
        out: &mut BytesMut,
        batch: &RecordBatch,
        rows: Range<usize>,
        fields: &[Field],
        zone: Tz,
    ) -> Result<(), Mismatch> {
        if self.options.format == CopyFormat::Binary {
            let mut messages = BytesMut::new();
            pg_rows::write(&mut messages, batch, rows, fields, zone)?;
            self.binary(&messages, out);
            return Ok(());
        }
        let count = rows.len();
        pg_rows::texts(&mut self.columns, batch, rows, fields, zone)?;
        self.lines(&self.columns, count, out);
        Ok(())
    }

    /// Turns `DataRow` messages into `CopyData` messages.
    fn binary(&mut self, mut rows: &[u8], out: &mut BytesMut) {
        // A letter, the length with itself, the row.
        while let Some(([_, length @ ..], behind)) = rows.split_first_chunk::<5>() {
            let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
            let (row, next) = behind.split_at(length.saturating_sub(4).min(behind.len()));
            rows = next;
            let head = std::mem::take(&mut self.head);
            reply::message(out, b'd', |out| {
                out.put_slice(head);
                out.put_slice(row);
            });
        }
    }

    fn lines(&self, columns: &[ColumnTexts], rows: usize, out: &mut BytesMut) {
        let mut columns: Vec<_> =
            columns.iter().map(|column| (column.values(), self.is_plain(column.bytes()))).collect();
        for _ in 0..rows {
            reply::message(out, b'd', |out| {
                for (at, (values, is_plain)) in columns.iter_mut().enumerate() {
                    self.separate(at, out);
                    self.value(values.next().flatten(), *is_plain, out);
                }
                out.put_u8(b'\n');
            });
        }
    }

    /// Whether nothing in the texts of a column could be taken for something else. Of most columns that is so.
    fn is_plain(&self, bytes: &[u8]) -> bool {
        let (delimiter, quote) = (self.options.delimiter(), self.options.quote);
        if self.options.format == CopyFormat::Csv {
            !has_any(bytes, |byte| byte == delimiter || byte == quote || matches!(byte, b'\n' | b'\r'))
        } else {
            !has_any(bytes, |byte| byte == delimiter || is_escaped(byte))
        }
    }

    fn separate(&self, at: usize, line: &mut BytesMut) {
        if at > 0 {
            line.put_u8(self.options.delimiter());
        }
    }

    /// `is_plain`: it stands in a column of such texts.
    fn value(&self, value: Option<&[u8]>, is_plain: bool, line: &mut BytesMut) {
        match (value, self.options.format) {
            (None, _) => line.put_slice(self.options.null().as_bytes()),
            (Some(value), CopyFormat::Csv) if self.is_odd(value, is_plain) => self.quoted(value, line),
            (Some(value), CopyFormat::Csv) => line.put_slice(value),
            (Some(value), _) if is_plain => line.put_slice(value),
            (Some(value), _) => self.escaped(value, line),
        }
    }

    fn escaped(&self, value: &[u8], line: &mut BytesMut) {
        let delimiter = self.options.delimiter();
        let mut plain = 0;
        for (at, byte) in value.iter().enumerate() {
            let Some(letter) = escape(*byte).or_else(|| (*byte == delimiter).then_some(*byte)) else { continue };
            line.put_slice(value.get(plain..at).unwrap_or_default());
            line.put_slice(&[b'\\', letter]);
            plain = at + 1;
        }
        line.put_slice(value.get(plain..).unwrap_or_default());
    }

    /// Whether it could be taken for something else without quotes.
    fn is_odd(&self, value: &[u8], is_plain: bool) -> bool {
        value == self.options.null().as_bytes() || value == b"\\." || (!is_plain && !self.is_plain(value))
    }

    fn quoted(&self, value: &[u8], line: &mut BytesMut) {
        let (quote, escape) = (self.options.quote, self.options.escape());
        line.put_u8(quote);
        for byte in value {
            if *byte == quote || *byte == escape {
                line.put_u8(escape);
            }
            line.put_u8(*byte);
        }
        line.put_u8(quote);
    }
}

/// The letter that stands behind a backslash for a byte.
const fn escape(byte: u8) -> Option<u8> {
    match byte {
        b'\\' => Some(b'\\'),
        0x08 => Some(b'b'),
        0x0c => Some(b'f'),
        b'\n' => Some(b'n'),
        b'\r' => Some(b'r'),
        b'\t' => Some(b't'),
        0x0b => Some(b'v'),
        _ => None,
    }
}

/// Whether it has one: they stand behind one another, but for the backslash.
const fn is_escaped(byte: u8) -> bool {
    byte.wrapping_sub(0x08) < 6 || byte == b'\\'
}

/// Whether any of the bytes is so. It comes to no end before the last of a chunk, so that many are compared at a time.
fn has_any(bytes: &[u8], is_so: impl Fn(u8) -> bool) -> bool {
    bytes.chunks(LOOK_BYTES).any(|chunk| chunk.iter().fold(false, |found, byte| found | is_so(*byte)))
}

#[cfg(test)]
mod tests;
