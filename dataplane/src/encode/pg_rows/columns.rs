//! A column's values in some rows, written in one go: its type is looked at once, and not at each value.

use std::ops::Range;

use arrow::array::StringArray;
use arrow::buffer::NullBuffer;

use super::number::Decimal;
use super::value::{ColumnValues, EncodedColumn, Integers, Width, interval};
use super::{float, moment, number, patch};
use crate::encode::pieces::{ColumnPieces, TextFrame, between};

/// How a value's text stands in a row.
pub trait PieceForm {
    fn null(&self, out: &mut Vec<u8>);

    /// A text that is not empty, of letters, digits and what stands in numbers and moments: `-`, `+`, `.`, `:`, a space.
    fn simple(&self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>));

    /// Any text. `is_plain`: it stands among texts of which [`PieceForm::is_plain`] told so.
    fn text(&self, out: &mut Vec<u8>, text: &[u8], is_plain: bool);

    /// Whether nothing in these texts, all in one piece, could be taken for something else.
    fn is_plain(&self, texts: &[u8]) -> bool;

    /// What stands around each text of those; none where it has to be looked at.
    fn frame(&self) -> Option<TextFrame>;
}

/// As the protocol has it: the length, then the value.
pub(super) struct WireForm;

impl PieceForm for WireForm {
    fn null(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0xff; 4]);
    }

    fn simple(&self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        write(out);
        let length = out.len() - at - 4;
        patch(out, at, length);
    }

    fn text(&self, out: &mut Vec<u8>, text: &[u8], _: bool) {
        // Texts are far below 4 GB: an array's offsets are of 31 bits.
        out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
        out.extend_from_slice(text);
    }

    fn is_plain(&self, _: &[u8]) -> bool {
        true
    }

    fn frame(&self) -> Option<TextFrame> {
        Some(TextFrame::Length)
    }
}

/// The pieces that are to be filled, and how.
struct FilledPieces<'a, F> {
    pieces: &'a mut ColumnPieces,
    rows: Range<usize>,
    nulls: Option<&'a NullBuffer>,
    form: &'a F,
}

impl<F: PieceForm> FilledPieces<'_, F> {
    /// Writes each value that is not NULL so.
    fn each(self, mut write: impl FnMut(usize, &mut Vec<u8>)) {
        let Self { pieces, rows, nulls, form } = self;
        match nulls {
            None => pieces.fill(rows, write),
            Some(nulls) => {
                pieces.fill(rows, |row, out| if nulls.is_null(row) { form.null(out) } else { write(row, out) });
            }
        }
    }

    fn simple(self, write: impl Fn(usize, &mut Vec<u8>)) {
        let form = self.form;
        self.each(|row, out| form.simple(out, |out| write(row, out)));
    }

    fn integers<I: Into<i128>>(self, at: impl Fn(usize) -> I) {
        self.simple(|row, out| number::integer(at(row).into(), out));
    }

    /// Values of so many bytes each.
    fn fixed<const N: usize>(self, at: impl Fn(usize) -> [u8; N]) {
        let form = self.form;
        self.each(|row, out| form.text(out, &at(row), true));
    }

    fn texts(self, texts: &StringArray) {
        let form = self.form;
        let is_plain = between(texts, &self.rows).is_some_and(|texts| form.is_plain(texts));
        if let Some(frame) = form.frame().filter(|_| is_plain && self.nulls.is_none()) {
            return self.pieces.lend(texts, &self.rows, frame);
        }
        self.each(|row, out| form.text(out, texts.value(row).as_bytes(), is_plain));
    }

    fn nothing(self) {
        let form = self.form;
        self.pieces.fill(self.rows, |_, out| form.null(out));
    }
}

impl EncodedColumn<'_> {
    /// The values' texts in this form, in place of the pieces that are there.
    pub(super) fn texts<F: PieceForm>(&self, rows: Range<usize>, form: &F, pieces: &mut ColumnPieces) {
        let filled = FilledPieces { pieces, rows, nulls: self.nulls(), form };
        match &self.values {
            ColumnValues::Null => filled.nothing(),
            ColumnValues::Bool(values) => {
                filled.simple(|row, out| out.push(if values.value(row) { b't' } else { b'f' }));
            }
            ColumnValues::Integer(values, _) => match values {
                Integers::I8(values) => filled.integers(|row| values.value(row)),
                Integers::I16(values) => filled.integers(|row| values.value(row)),
                Integers::I32(values) => filled.integers(|row| values.value(row)),
                Integers::I64(values) => filled.integers(|row| values.value(row)),
                Integers::U8(values) => filled.integers(|row| values.value(row)),
                Integers::U16(values) => filled.integers(|row| values.value(row)),
                Integers::U32(values) => filled.integers(|row| values.value(row)),
                Integers::U64(values) => filled.integers(|row| values.value(row)),
            },
            ColumnValues::Real(values) => filled.simple(|row, out| float::float4(values.value(row), out)),
            ColumnValues::Double(values) => filled.simple(|row, out| float::float8(values.value(row), out)),
            ColumnValues::Decimal(values, scale) => {
                filled.simple(|row, out| Decimal { digits: values.value(row), scale: *scale }.text(out));
            }
            ColumnValues::Date(values) => filled.simple(|row, out| moment::date(values.value(row), out)),
            ColumnValues::Time(values) => filled.simple(|row, out| moment::time(values.at(row), out)),
            ColumnValues::Timestamp(values) => filled.simple(|row, out| moment::timestamp(values.at(row), out)),
            ColumnValues::TimestampTz(values, zone) => {
                filled.simple(|row, out| moment::timestamp_tz(values.at(row), *zone, out));
            }
            ColumnValues::Interval(values) => filled.simple(|row, out| interval(values, row).text(out)),
            ColumnValues::Text(values) | ColumnValues::Uuid(values) | ColumnValues::Jsonb(values) => {
                filled.texts(values);
            }
            ColumnValues::Bytes(_) | ColumnValues::Nested | ColumnValues::List(_) => {
                let mut text = Vec::new();
                filled.each(|row, out| {
                    text.clear();
                    self.text(row, &mut text);
                    form.text(out, &text, form.is_plain(&text));
                });
            }
        }
    }

    /// The values in binary, each behind its length, in place of the pieces that are there.
    pub(super) fn binaries(&self, rows: Range<usize>, pieces: &mut ColumnPieces) {
        let filled = FilledPieces { pieces, rows, nulls: self.nulls(), form: &WireForm };
        match &self.values {
            ColumnValues::Null => filled.nothing(),
            ColumnValues::Integer(Integers::I16(values), Width::Two) => {
                filled.fixed(|row| values.value(row).to_be_bytes());
            }
            ColumnValues::Integer(Integers::I32(values), Width::Four) => {
                filled.fixed(|row| values.value(row).to_be_bytes());
            }
            ColumnValues::Integer(Integers::I64(values), Width::Eight) => {
                filled.fixed(|row| values.value(row).to_be_bytes());
            }
            ColumnValues::Real(values) => filled.fixed(|row| values.value(row).to_be_bytes()),
            ColumnValues::Double(values) => filled.fixed(|row| values.value(row).to_be_bytes()),
            ColumnValues::Time(values) => filled.fixed(|row| values.at(row).to_be_bytes()),
            ColumnValues::Date(values) => filled.simple(|row, out| moment::date_binary(values.value(row), out)),
            ColumnValues::Timestamp(values) | ColumnValues::TimestampTz(values, _) => {
                filled.simple(|row, out| moment::timestamp_binary(values.at(row), out));
            }
            ColumnValues::Text(values) => filled.texts(values),
            _ => filled.simple(|row, out| self.binary(row, out)),
        }
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        self.array.nulls().filter(|nulls| nulls.null_count() > 0)
    }
}
