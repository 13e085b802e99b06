//! Rows in the form a copy has: text, CSV and binary, each value with what stands behind it in its line.

use std::ops::Range;

use arrow::array::RecordBatch;
use bytes::{BufMut, BytesMut};
use chrono_tz::Tz;

use super::{CopyFormat, Options, data};
use crate::encode::pg_rows::{self, Field, Mismatch, PieceForm};
use crate::encode::pieces::{self, ColumnPieces, RowHead, TextFrame, has_any};

/// What a binary copy begins with: a mark that no transfer changes unseen, no flags, no extension.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// And what it ends with.
const TRAILER: &[u8] = &[0xff, 0xff];

#[derive(Debug)]
pub struct CopyEncoder {
    options: Options,
    /// What goes before the next row, in the same message: some clients look for both in the first.
    head: &'static [u8],
    /// The columns of the rows that were written last: their room is for the next ones.
    columns: Vec<ColumnPieces>,
}

impl CopyEncoder {
    pub fn new(options: Options) -> Self {
        let head = if options.format == CopyFormat::Binary { SIGNATURE } else { &[] };
        Self { options, head, columns: Vec::new() }
    }

    pub fn begin(&self, names: &[&str], out: &mut BytesMut) {
        if self.options.header && self.options.format != CopyFormat::Binary {
            let mut line = Vec::new();
            for (at, name) in names.iter().enumerate() {
                CopyPiece::new(&self.options, at, names.len()).text(&mut line, name.as_bytes(), false);
            }
            data(out, &line);
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
        let count = rows.len();
        if self.options.format == CopyFormat::Binary {
            pg_rows::values(&mut self.columns, batch, rows, fields, zone)?;
        } else {
            let form_of = |at| CopyPiece::new(&self.options, at, fields.len());
            pg_rows::texts(&mut self.columns, batch, rows, fields, zone, form_of)?;
        }
        self.put(count, out);
        pieces::give_back(&mut self.columns);
        Ok(())
    }

    /// Writes so many rows, of which the columns are here.
    fn put(&mut self, count: usize, out: &mut BytesMut) {
        if self.options.format != CopyFormat::Binary {
            return pieces::rows(out, &self.columns, count, RowHead::Message(b'd'));
        }
        let start = out.len();
        pieces::rows(out, &self.columns, count, RowHead::counted(b'd', self.columns.len()));
        if count > 0 && !self.head.is_empty() {
            let rows = out.split_off(start);
            self.begun(&rows, out);
        }
    }

    /// Appends the first rows, the first of them behind the head.
    fn begun(&mut self, rows: &[u8], out: &mut BytesMut) {
        let head = std::mem::take(&mut self.head);
        if let Some(([kind, length @ ..], behind)) = rows.split_first_chunk::<5>() {
            out.put_u8(*kind);
            out.put_u32(u32::from_be_bytes(*length).saturating_add(u32::try_from(head.len()).unwrap_or(0)));
            out.put_slice(head);
            out.put_slice(behind);
        }
    }
}

/// How the values of a column stand in their lines.
struct CopyPiece<'a> {
    options: &'a Options,
    /// What stands behind each: the sign between two, or the end of the line.
    behind: u8,
    /// No sign that means something stands in a number or a moment, and none of them is written as NULL is.
    is_usual: bool,
}

impl<'a> CopyPiece<'a> {
    /// Of the column at this place among so many.
    fn new(options: &'a Options, at: usize, width: usize) -> Self {
        let behind = if at + 1 < width { options.delimiter() } else { b'\n' };
        let null = options.null().as_bytes();
        let is_usual = !is_simple(options.delimiter())
            && (options.format != CopyFormat::Csv
                || (!is_simple(options.quote) && (null.is_empty() || !null.iter().copied().all(is_simple))));
        Self { options, behind, is_usual }
    }

    fn escaped(&self, value: &[u8], line: &mut Vec<u8>) {
        let delimiter = self.options.delimiter();
        let mut plain = 0;
        for (at, byte) in value.iter().enumerate() {
            let Some(letter) = escape(*byte).or_else(|| (*byte == delimiter).then_some(*byte)) else { continue };
            line.extend_from_slice(value.get(plain..at).unwrap_or_default());
            line.extend_from_slice(&[b'\\', letter]);
            plain = at + 1;
        }
        line.extend_from_slice(value.get(plain..).unwrap_or_default());
    }

    /// Whether it could be taken for something else without quotes.
    fn is_odd(&self, value: &[u8], is_plain: bool) -> bool {
        value == self.options.null().as_bytes() || value == b"\\." || (!is_plain && !self.is_plain(value))
    }

    fn quoted(&self, value: &[u8], line: &mut Vec<u8>) {
        let (quote, escape) = (self.options.quote, self.options.escape());
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

impl PieceForm for CopyPiece<'_> {
    fn null(&self, line: &mut Vec<u8>) {
        line.extend_from_slice(self.options.null().as_bytes());
        line.push(self.behind);
    }

    fn simple(&self, line: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        if self.is_usual {
            write(line);
            line.push(self.behind);
        } else {
            let mut value = Vec::new();
            write(&mut value);
            self.text(line, &value, false);
        }
    }

    fn text(&self, line: &mut Vec<u8>, value: &[u8], is_plain: bool) {
        match self.options.format {
            CopyFormat::Csv if self.is_odd(value, is_plain) => self.quoted(value, line),
            CopyFormat::Csv => line.extend_from_slice(value),
            _ if is_plain => line.extend_from_slice(value),
            _ => self.escaped(value, line),
        }
        line.push(self.behind);
    }

    /// Of most columns that is so.
    fn is_plain(&self, texts: &[u8]) -> bool {
        let (delimiter, quote) = (self.options.delimiter(), self.options.quote);
        if self.options.format == CopyFormat::Csv {
            !has_any(texts, |byte| byte == delimiter || byte == quote || matches!(byte, b'\n' | b'\r'))
        } else {
            !has_any(texts, |byte| byte == delimiter || is_escaped(byte))
        }
    }

    /// In CSV a text may be NULL's, or the end of the copy.
    fn frame(&self) -> Option<TextFrame> {
        (self.options.format != CopyFormat::Csv).then_some(TextFrame::Sign(self.behind))
    }
}

/// Whether it may stand in a number or a moment.
const fn is_simple(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b':' | b' ')
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

#[cfg(test)]
mod tests;
