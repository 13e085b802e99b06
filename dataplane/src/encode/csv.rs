//! Rows as CSV: RFC 4180, a header row, `\r\n`, NULL empty, an empty text quoted.

use arrow::array::RecordBatch;
use contract::wire::Numbers;

use super::cell::{self, Cell};
use super::column::Column;
use super::json;
use super::pieces::{ColumnPieces, make_room, share};
use super::text_columns::{TextColumn, together};

pub const CONTENT_TYPE: &str = "text/csv; charset=utf-8; header=present";

/// The header row.
pub fn header(out: &mut String, columns: &[Column]) {
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        field(out, &column.name);
    }
    out.push_str("\r\n");
}

/// Appends the rows of a batch.
pub fn rows(out: &mut String, batch: &RecordBatch) {
    let width = batch.num_columns();
    let (mut taken, share) = (Vec::new(), share(batch));
    for from in (0..batch.num_rows()).step_by(share) {
        let rows = from..batch.num_rows().min(from + share);
        make_room(&mut taken, width.max(1));
        for (place, (array, pieces)) in batch.columns().iter().zip(&mut taken).enumerate() {
            let behind: &[u8] = if place + 1 == width { b"\r\n" } else { b"," };
            let column = TextColumn { array: array.as_ref(), rows: rows.clone(), before: b"", null: b"", behind };
            fill(&column, pieces);
        }
        if let (0, [pieces]) = (width, taken.as_mut_slice()) {
            pieces.fill(rows.clone(), |_, out| out.extend_from_slice(b"\r\n"));
        }
        out.push_str(&together(&taken, rows.len()));
    }
}

fn fill(column: &TextColumn<'_>, pieces: &mut ColumnPieces) {
    if column.plain(Numbers::Json, pieces) || column.counted(b"", pieces) {
        return;
    }
    let (mut text, mut quoted) = (String::new(), String::new());
    match column.texts(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
        Some((texts, true)) => column.each(pieces, |row, out| {
            let text = texts.value(row);
            out.extend_from_slice(if text.is_empty() { b"\"\"" } else { text.as_bytes() });
        }),
        Some((texts, false)) => column.each(pieces, |row, out| {
            quoted.clear();
            field(&mut quoted, texts.value(row));
            out.extend_from_slice(quoted.as_bytes());
        }),
        None => column.each(pieces, |row, out| {
            text.clear();
            let cell = cell::at(column.array, row);
            json::text(&mut text, &cell);
            // Never empty, and nothing in them is to be quoted.
            if matches!(cell, Cell::Float(_) | Cell::Double(_) | Cell::Date(_) | Cell::Time(_) | Cell::Timestamp { .. })
            {
                return out.extend_from_slice(text.as_bytes());
            }
            quoted.clear();
            field(&mut quoted, &text);
            out.extend_from_slice(quoted.as_bytes());
        }),
    }
}

fn field(out: &mut String, text: &str) {
    if !text.is_empty() && !text.contains([',', '"', '\r', '\n']) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for (place, part) in text.split('"').enumerate() {
        if place > 0 {
            out.push_str("\"\"");
        }
        out.push_str(part);
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::samples;
    use arrow::array::{Array, ArrayRef, Int64Array, StringArray};
    use proptest::prelude::*;
    use std::sync::Arc;

    proptest! {
        #[test]
        fn columns_are_written_as_each_value_by_itself(batch in samples::batches()) {
            let mut expected = String::new();
            for row in 0..batch.num_rows() {
                let fields = batch.columns().iter().map(|array| {
                    let (cell, mut text, mut written) = (cell::at(array.as_ref(), row), String::new(), String::new());
                    json::text(&mut text, &cell);
                    if !matches!(cell, Cell::Null) {
                        field(&mut written, &text);
                    }
                    written
                });
                expected += &(fields.collect::<Vec<_>>().join(",") + "\r\n");
            }
            let mut out = String::new();
            rows(&mut out, &batch);
            prop_assert_eq!(out, expected);
        }
    }

    #[test]
    fn what_is_written_without_a_look_is_nothing_to_be_quoted() {
        use arrow::array::{BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array};
        use arrow::array::{Time64MicrosecondArray, TimestampMicrosecondArray};
        let arrays: [ArrayRef; 8] = [
            Arc::new(BooleanArray::from(vec![true, false])),
            Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX])),
            Arc::new(Decimal128Array::from(vec![-1, i128::MAX]).with_precision_and_scale(38, 20).unwrap()),
            Arc::new(Float32Array::from(vec![f32::NAN, f32::MIN_POSITIVE])),
            Arc::new(Float64Array::from(vec![f64::NEG_INFINITY, f64::MAX])),
            Arc::new(Date32Array::from(vec![i32::MIN, i32::MAX])),
            Arc::new(Time64MicrosecondArray::from(vec![0, 86_400_000_000])),
            Arc::new(TimestampMicrosecondArray::from(vec![i64::MIN, i64::MAX]).with_timezone("UTC")),
        ];
        for array in arrays {
            let batch = RecordBatch::try_from_iter([("c", Arc::clone(&array))]).unwrap();
            let mut out = String::new();
            rows(&mut out, &batch);
            let mut expected = String::new();
            for row in 0..array.len() {
                let mut text = String::new();
                json::text(&mut text, &cell::at(array.as_ref(), row));
                field(&mut expected, &text);
                expected.push_str("\r\n");
            }
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn fields_are_quoted_only_where_they_must_be() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(-3), Some(4)]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("plain"), Some(""), Some("a,\"b\"\r\n"), None]));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap();
        let column = |name: &str| Column { name: name.into(), type_name: String::new(), masked: false };
        let mut out = String::new();
        header(&mut out, &[column("n"), column("the, text")]);
        rows(&mut out, &batch);
        assert_eq!(out, "n,\"the, text\"\r\n1,plain\r\n,\"\"\r\n-3,\"a,\"\"b\"\"\r\n\"\r\n4,\r\n");
    }
}
