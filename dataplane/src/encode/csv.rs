//! Rows as CSV: RFC 4180, a header row, `\r\n`, NULL empty, an empty text quoted.

use arrow::array::RecordBatch;

use super::cell::{self, Cell};
use super::column::Column;
use super::json;

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
    let mut text = String::new();
    for row in 0..batch.num_rows() {
        for (place, array) in batch.columns().iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            let cell = cell::at(array.as_ref(), row);
            if matches!(cell, Cell::Null) {
                continue;
            }
            text.clear();
            json::text(&mut text, &cell);
            field(out, &text);
        }
        out.push_str("\r\n");
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
    use arrow::array::{ArrayRef, Int64Array, StringArray};
    use std::sync::Arc;

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
