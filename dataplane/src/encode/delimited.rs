//! Rows of files that are unloaded as CSV, by the signs that their format says.

use std::fmt::Write;

use arrow::array::RecordBatch;
use bytes::BytesMut;
use contract::wire::Numbers;
use sql::{CsvWriting, EmptyText, NULL, QUOTE};

use super::cell::{self, Cell};
use super::column::Column;
use super::json;
use super::pieces::{self, ColumnPieces, RowHead, make_room, share};
use super::text_columns::TextColumn;

/// The signs of a file, as rows are written with them.
#[derive(Debug, Clone)]
pub struct DelimitedText {
    signs: CsvWriting,
    delimiter: [u8; 1],
}

impl DelimitedText {
    pub fn of(signs: &CsvWriting) -> Self {
        Self { delimiter: [signs.delimiter], signs: signs.clone() }
    }

    /// The line with the columns' names.
    pub fn header(&self, out: &mut String, columns: &[Column]) {
        for (place, column) in columns.iter().enumerate() {
            if place > 0 {
                out.push(char::from(self.signs.delimiter));
            }
            self.field(out, &column.name);
        }
        out.push_str(self.signs.line_end);
    }

    /// Appends the rows of a batch.
    pub fn rows(&self, out: &mut BytesMut, batch: &RecordBatch) {
        let width = batch.num_columns();
        let (mut taken, share) = (Vec::new(), share(batch));
        for from in (0..batch.num_rows()).step_by(share) {
            let rows = from..batch.num_rows().min(from + share);
            make_room(&mut taken, width);
            for (place, (array, pieces)) in batch.columns().iter().zip(&mut taken).enumerate() {
                let behind: &[u8] = if place + 1 == width { self.signs.line_end.as_bytes() } else { &self.delimiter };
                let null = self.signs.null.as_bytes();
                let column = TextColumn { array: array.as_ref(), rows: rows.clone(), before: b"", null, behind };
                self.fill(&column, pieces);
            }
            pieces::rows(out, &taken, rows.len(), RowHead::None);
        }
    }

    fn fill(&self, column: &TextColumn<'_>, pieces: &mut ColumnPieces) {
        if column.plain(Numbers::Json, pieces) || (self.has_usual_signs() && column.counted(b"", pieces)) {
            return;
        }
        let (mut text, mut written) = (String::new(), String::new());
        match column.texts(|byte| self.is_odd(byte)) {
            Some((texts, true)) if self.signs.quote.is_none() => column.each(pieces, |row, out| {
                let plain = texts.value(row);
                if !plain.is_empty() && plain != self.signs.null {
                    return out.extend_from_slice(plain.as_bytes());
                }
                written.clear();
                self.field(&mut written, plain);
                out.extend_from_slice(written.as_bytes());
            }),
            _ => column.each(pieces, |row, out| {
                text.clear();
                written.clear();
                let cell = cell::at(column.array, row);
                match &cell {
                    Cell::Blob(bytes) => hexadecimal(&mut text, bytes),
                    other => json::text(&mut text, other),
                }
                if is_number(&cell) {
                    return out.extend_from_slice(text.as_bytes());
                }
                self.field(&mut written, &text);
                out.extend_from_slice(written.as_bytes());
            }),
        }
    }

    /// Whether no number, day or moment would be read as something else without quotes.
    fn has_usual_signs(&self) -> bool {
        let CsvWriting { delimiter, quote, null, .. } = &self.signs;
        quote.is_none() && matches!(delimiter, b',' | b';' | b'|' | b'\t') && matches!(null.as_str(), NULL | "")
    }

    /// A value that is no number, in quotes where it has to be.
    fn field(&self, out: &mut String, text: &str) {
        if self.signs.quote.is_none() && !self.is_enclosed(text) {
            out.push_str(text);
            return;
        }
        let quote = char::from(self.signs.quote.unwrap_or(QUOTE));
        out.push(quote);
        for (place, part) in text.split(quote).enumerate() {
            if place > 0 {
                out.push(quote);
                out.push(quote);
            }
            out.push_str(part);
        }
        out.push(quote);
    }

    /// Whether it would be read as something else without quotes.
    fn is_enclosed(&self, text: &str) -> bool {
        if text.is_empty() {
            return self.signs.empty == EmptyText::Enclosed;
        }
        text == self.signs.null || text == NULL || text.bytes().any(|byte| self.is_odd(byte))
    }

    /// A backslash is one too: outside of quotes a reader takes it for an escape.
    fn is_odd(&self, byte: u8) -> bool {
        byte == self.signs.delimiter || matches!(byte, QUOTE | b'\\' | b'\r' | b'\n')
    }
}

fn is_number(cell: &Cell<'_>) -> bool {
    matches!(cell, Cell::Boolean(_) | Cell::Integer(_) | Cell::Decimal(..) | Cell::Float(_) | Cell::Double(_))
}

fn hexadecimal(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(out, "{byte:02X}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, BinaryArray, Date32Array, Float64Array, Int64Array, StringArray};
    use proptest::prelude::*;

    use super::*;
    use crate::encode::samples;

    fn plain() -> CsvWriting {
        let (null, empty) = (NULL.to_owned(), EmptyText::Enclosed);
        CsvWriting { delimiter: b',', line_end: "\n", quote: None, null, empty }
    }

    fn text_of(text: &DelimitedText, batch: &RecordBatch) -> String {
        let mut out = BytesMut::new();
        text.rows(&mut out, batch);
        String::from_utf8(out.into()).unwrap()
    }

    fn written(signs: &CsvWriting) -> String {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a|b"), None]));
        let odd: ArrayRef = Arc::new(StringArray::from(vec![Some("it's \"x\""), Some("")]));
        let days: ArrayRef = Arc::new(Date32Array::from(vec![0, 1]));
        let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"\x0aM"[..], b""]));
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.5, f64::NAN]));
        let columns = [("n", numbers), ("t", texts), ("o", odd), ("d", days), ("b", bytes), ("f", floats)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        text_of(&DelimitedText::of(signs), &batch)
    }

    #[test]
    fn values_are_told_apart_by_the_signs_that_are_said() {
        let expected = "1,a|b,\"it's \"\"x\"\"\",1970-01-01,0A4D,0.5\n\\N,\\N,\"\",1970-01-02,\"\",NaN\n";
        assert_eq!(written(&plain()), expected);
        let said = CsvWriting { delimiter: b'|', line_end: "\r\n", quote: Some(b'\''), null: String::new(), ..plain() };
        let expected = "1|'a|b'|'it''s \"x\"'|'1970-01-01'|'0A4D'|0.5\r\n||''|'1970-01-02'|''|NaN\r\n";
        assert_eq!(written(&said), expected);
        let bare = CsvWriting { null: "null".to_owned(), empty: EmptyText::Bare, ..plain() };
        let expected = "1,a|b,\"it's \"\"x\"\"\",1970-01-01,0A4D,0.5\nnull,null,,1970-01-02,,NaN\n";
        assert_eq!(written(&bare), expected);
    }

    #[test]
    fn a_text_is_in_quotes_where_it_would_be_read_as_something_else() {
        let text = DelimitedText::of(&CsvWriting { null: "null".to_owned(), ..plain() });
        for (value, field) in [
            ("plain", "plain"),
            ("null", "\"null\""),
            ("", "\"\""),
            ("\\N", "\"\\N\""),
            ("a\\b", "\"a\\b\""),
            ("a\nb", "\"a\nb\""),
            ("a,b", "\"a,b\""),
        ] {
            let mut out = String::new();
            text.field(&mut out, value);
            assert_eq!(out, field, "{value:?}");
        }
        let mut out = String::new();
        let column = |name: &str| Column { name: name.into(), type_name: String::new(), masked: false };
        text.header(&mut out, &[column("n"), column("the, text")]);
        assert_eq!(out, "n,\"the, text\"\n");
    }

    proptest! {
        #[test]
        fn columns_are_written_as_each_value_by_itself(batch in samples::batches()) {
            let text = DelimitedText::of(&plain());
            let mut expected = String::new();
            for row in 0..batch.num_rows() {
                let fields = batch.columns().iter().map(|array| {
                    let (cell, mut value, mut field) = (cell::at(array.as_ref(), row), String::new(), String::new());
                    match &cell {
                        Cell::Null => return NULL.to_owned(),
                        Cell::Blob(bytes) => hexadecimal(&mut value, bytes),
                        other => json::text(&mut value, other),
                    }
                    if is_number(&cell) {
                        return value;
                    }
                    text.field(&mut field, &value);
                    field
                });
                expected += &(fields.collect::<Vec<_>>().join(",") + "\n");
            }
            prop_assert_eq!(text_of(&text, &batch), expected);
        }
    }
}
