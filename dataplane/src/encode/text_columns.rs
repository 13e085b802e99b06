//! Columns as the text encodings write them, each in one go: what JSON and CSV have in common.

use std::ops::Range;

use arrow::array::{Array, ArrowPrimitiveType, AsArray, StringArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit,
    TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use bytes::BytesMut;
use contract::wire::Numbers;

use super::pg_rows::number::{self, Decimal};
use super::pieces::{self, ColumnPieces, RowHead};
use super::text_values;

/// Digits of a decimal that every double keeps.
pub const DIGITS: u32 = 15;
/// The last whole number up to which doubles keep each.
pub const WHOLE_MAX: u128 = (1 << 53) - 1;

/// Some rows of a column, and what stands around their values.
pub struct TextColumn<'a> {
    pub array: &'a dyn Array,
    pub rows: Range<usize>,
    pub before: &'a [u8],
    pub null: &'a [u8],
    pub behind: &'a [u8],
}

impl<'a> TextColumn<'a> {
    /// Writes each value that is not NULL so.
    pub fn each(&self, pieces: &mut ColumnPieces, mut write: impl FnMut(usize, &mut Vec<u8>)) {
        let nulls = self.array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        pieces.fill(self.rows.clone(), |row, out| {
            out.extend_from_slice(self.before);
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                out.extend_from_slice(self.null);
            } else {
                write(row, out);
            }
            out.extend_from_slice(self.behind);
        });
    }

    /// Writes truths and exact numbers, which read the same in each encoding; false for what is neither.
    pub fn plain(&self, numbers: Numbers, pieces: &mut ColumnPieces) -> bool {
        match self.array.data_type() {
            DataType::Boolean => {
                let values = self.array.as_boolean();
                let text = |row| if values.value(row) { "true" } else { "false" };
                self.each(pieces, |row, out| out.extend_from_slice(text(row).as_bytes()));
            }
            DataType::Int8 => self.integers::<Int8Type>(numbers, pieces),
            DataType::Int16 => self.integers::<Int16Type>(numbers, pieces),
            DataType::Int32 => self.integers::<Int32Type>(numbers, pieces),
            DataType::Int64 => self.integers::<Int64Type>(numbers, pieces),
            DataType::UInt8 => self.integers::<UInt8Type>(numbers, pieces),
            DataType::UInt16 => self.integers::<UInt16Type>(numbers, pieces),
            DataType::UInt32 => self.integers::<UInt32Type>(numbers, pieces),
            DataType::UInt64 => self.integers::<UInt64Type>(numbers, pieces),
            DataType::Decimal128(_, scale) => self.decimals(u8::try_from(*scale).unwrap_or(0), numbers, pieces),
            _ => return false,
        }
        true
    }

    /// Writes doubles, days and moments, which differ by what is `around` them alone; false for what is none of these.
    pub fn counted(&self, around: &[u8], pieces: &mut ColumnPieces) -> bool {
        match self.array.data_type() {
            DataType::Float64 => {
                let values = self.array.as_primitive::<Float64Type>();
                self.each(pieces, |row, out| text_values::double(values.value(row), around, out));
            }
            DataType::Date32 => {
                let values = self.array.as_primitive::<Date32Type>();
                self.each(pieces, |row, out| text_values::day(values.value(row), around, out));
            }
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                let values = self.array.as_primitive::<TimestampMicrosecondType>();
                self.each(pieces, |row, out| text_values::timestamp(values.value(row), zone.is_some(), around, out));
            }
            _ => return false,
        }
        true
    }

    fn integers<T: ArrowPrimitiveType<Native: Into<i128>>>(&self, numbers: Numbers, pieces: &mut ColumnPieces) {
        let values = self.array.as_primitive::<T>();
        self.each(pieces, |row, out| {
            let value: i128 = values.value(row).into();
            let is_text = numbers == Numbers::Strings && value.unsigned_abs() > WHOLE_MAX;
            quoted(is_text, out, |out| number::integer(value, out));
        });
    }

    fn decimals(&self, scale: u8, numbers: Numbers, pieces: &mut ColumnPieces) {
        let values = self.array.as_primitive::<Decimal128Type>();
        let most = if scale == 0 { WHOLE_MAX } else { 10_u128.pow(DIGITS) - 1 };
        self.each(pieces, |row, out| {
            let digits = values.value(row);
            let is_text = numbers == Numbers::Strings && digits.unsigned_abs() > most;
            quoted(is_text, out, |out| Decimal { digits, scale }.text(out));
        });
    }

    /// The texts of the column, if it is one of texts, and whether none of their bytes is so.
    pub fn texts(&self, is_odd: impl Fn(u8) -> bool) -> Option<(&'a StringArray, bool)> {
        let texts: &StringArray = self.array.as_any().downcast_ref()?;
        let is_plain = pieces::between(texts, &self.rows).is_some_and(|bytes| !pieces::has_any(bytes, is_odd));
        Some((texts, is_plain))
    }
}

fn quoted(is_text: bool, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    if is_text {
        out.push(b'"');
    }
    write(out);
    if is_text {
        out.push(b'"');
    }
}

/// The rows that are made of these columns, as text.
pub fn together(columns: &[ColumnPieces], count: usize) -> String {
    let mut bytes = BytesMut::new();
    pieces::rows(&mut bytes, columns, count, RowHead::None);
    // All of it was text.
    String::from_utf8(bytes.into()).unwrap_or_default()
}
