//! Rows as JSON arrays.
//!
//! Integers and decimals are numbers with all their digits, or text where a double cannot hold them and the caller
//! wishes it ([`Numbers`]); doubles are numbers, or `"NaN"`,
//! `"Infinity"`, `"-Infinity"`; dates, times, intervals, UUIDs and bits are text; BLOB is base64;
//! JSON is embedded; LIST is an array, STRUCT and MAP are objects.

use std::fmt::Write;

use arrow::array::{Array, RecordBatch};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use contract::wire::Numbers;

use super::cell::{self, Cell};
use super::column::{self, Column};
use super::pieces::{ColumnPieces, make_room, share};
use super::text_columns::{DIGITS, TextColumn, WHOLE_MAX, together};

/// Appends the rows of a batch; `first` tells whether none stands before them.
pub fn rows(out: &mut String, columns: &[Column], batch: &RecordBatch, numbers: Numbers, first: &mut bool) {
    let width = batch.num_columns();
    let (mut taken, share) = (Vec::new(), share(batch));
    for from in (0..batch.num_rows()).step_by(share) {
        let rows = from..batch.num_rows().min(from + share);
        make_room(&mut taken, width.max(1));
        for (place, (array, pieces)) in batch.columns().iter().zip(&mut taken).enumerate() {
            let embed = columns.get(place).is_some_and(|column| column::is_json(&column.type_name));
            let column = TextColumn {
                array: array.as_ref(),
                rows: rows.clone(),
                before: if place == 0 { b",[" } else { b"" },
                null: b"null",
                behind: if place + 1 == width { b"]" } else { b"," },
            };
            fill(&column, embed, numbers, pieces);
        }
        if let (0, [pieces]) = (width, taken.as_mut_slice()) {
            pieces.fill(rows.clone(), |_, out| out.extend_from_slice(b",[]"));
        }
        let text = together(&taken, rows.len());
        let comma = usize::from(std::mem::take(first));
        out.push_str(text.get(comma..).unwrap_or_default());
    }
}

fn fill(column: &TextColumn<'_>, embed: bool, numbers: Numbers, pieces: &mut ColumnPieces) {
    if column.plain(numbers, pieces) || column.counted(b"\"", pieces) {
        return;
    }
    let mut text = String::new();
    match column.texts(is_escaped).filter(|_| !embed) {
        Some((texts, true)) => column.each(pieces, |row, out| {
            out.push(b'"');
            out.extend_from_slice(texts.value(row).as_bytes());
            out.push(b'"');
        }),
        Some((texts, false)) => column.each(pieces, |row, out| {
            text.clear();
            string(&mut text, texts.value(row));
            out.extend_from_slice(text.as_bytes());
        }),
        None => column.each(pieces, |row, out| {
            text.clear();
            written(&mut text, &cell::at(column.array, row), embed, numbers);
            out.extend_from_slice(text.as_bytes());
        }),
    }
}

/// Whether a string has it only behind a backslash.
const fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// One value, its numbers as numbers. `embed`: it is text that is JSON.
pub fn value(out: &mut String, cell: &Cell<'_>, embed: bool) {
    written(out, cell, embed, Numbers::Json);
}

/// May a double lose digits of it?
fn is_beyond_double(cell: &Cell<'_>) -> bool {
    match cell {
        Cell::Integer(value) | Cell::Decimal(value, ..=0) => value.unsigned_abs() > WHOLE_MAX,
        Cell::Decimal(unscaled, _) => unscaled.unsigned_abs() >= 10_u128.pow(DIGITS),
        _ => false,
    }
}

fn written(out: &mut String, cell: &Cell<'_>, embed: bool, numbers: Numbers) {
    match cell {
        cell if numbers == Numbers::Strings && is_beyond_double(cell) => {
            out.push('"');
            value(out, cell, false);
            out.push('"');
        }
        Cell::Null => out.push_str("null"),
        Cell::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
        Cell::Integer(value) => cell::integer(out, *value),
        Cell::Decimal(unscaled, scale) => cell::decimal(out, *unscaled, *scale),
        Cell::Float(value) if value.is_finite() => {
            let _ = write!(out, "{value:?}");
        }
        Cell::Float(value) => odd(out, f64::from(*value)),
        Cell::Double(value) if value.is_finite() => {
            let _ = write!(out, "{value:?}");
        }
        Cell::Double(value) => odd(out, *value),
        Cell::Text(text) if embed && is_json(text) => out.push_str(text),
        Cell::Text(text) => string(out, text),
        Cell::Blob(bytes) => string(out, &BASE64_STANDARD.encode(bytes)),
        Cell::List(items) => list(out, numbers, (0..items.len()).map(|row| cell::at(items.as_ref(), row))),
        // `(a, b)`
        Cell::Struct(fields, row) if fields.column_names().iter().all(|name| name.is_empty()) => {
            list(out, numbers, fields.columns().iter().map(|array| cell::at(array.as_ref(), *row)));
        }
        Cell::Struct(fields, row) => {
            let members = fields.column_names().into_iter().zip(fields.columns());
            object(out, numbers, members.map(|(name, array)| (name.to_owned(), cell::at(array.as_ref(), *row))));
        }
        Cell::Map(keys, values) => {
            let members = (0..keys.len()).map(|row| {
                let mut key = String::new();
                text(&mut key, &cell::at(keys.as_ref(), row));
                (key, cell::at(values.as_ref(), row))
            });
            object(out, numbers, members);
        }
        other => {
            out.push('"');
            text(out, other);
            out.push('"');
        }
    }
}

/// The engine's JSON type holds valid JSON; what is not must not break the answer.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn odd(out: &mut String, value: f64) {
    out.push_str(match value {
        value if value.is_nan() => "\"NaN\"",
        value if value > 0.0 => "\"Infinity\"",
        _ => "\"-Infinity\"",
    });
}

fn list<'a>(out: &mut String, numbers: Numbers, items: impl Iterator<Item = Cell<'a>>) {
    out.push('[');
    for (place, cell) in items.enumerate() {
        if place > 0 {
            out.push(',');
        }
        written(out, &cell, false, numbers);
    }
    out.push(']');
}

fn object<'a>(out: &mut String, numbers: Numbers, members: impl Iterator<Item = (String, Cell<'a>)>) {
    out.push('{');
    for (place, (name, cell)) in members.enumerate() {
        if place > 0 {
            out.push(',');
        }
        string(out, &name);
        out.push(':');
        written(out, &cell, false, numbers);
    }
    out.push('}');
}

/// A JSON string.
pub fn string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..=0x1f => "",
            _ => continue,
        };
        out.push_str(text.get(plain..at).unwrap_or_default());
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        plain = at + 1;
    }
    out.push_str(text.get(plain..).unwrap_or_default());
    out.push('"');
}

/// The value as plain text, without quotes: a CSV field, a MAP's key.
pub fn text(out: &mut String, cell: &Cell<'_>) {
    match cell {
        Cell::Null => {}
        Cell::Text(text) => out.push_str(text),
        Cell::Blob(bytes) => out.push_str(&BASE64_STANDARD.encode(bytes)),
        Cell::Float(value) if !value.is_finite() => out.push_str(odd_text(f64::from(*value))),
        Cell::Double(value) if !value.is_finite() => out.push_str(odd_text(*value)),
        Cell::Date(days) => cell::date(out, *days),
        Cell::Time(nanos) => cell::time(out, *nanos),
        Cell::Timestamp { seconds, nanos, zoned } => cell::timestamp_text(out, *seconds, *nanos, *zoned),
        Cell::Interval { months, days, nanos } => cell::interval_text(out, *months, *days, *nanos),
        Cell::Unknown(kind) => {
            let _ = write!(out, "<{kind}>");
        }
        other => value(out, other, false),
    }
}

fn odd_text(value: f64) -> &'static str {
    match value {
        value if value.is_nan() => "NaN",
        value if value > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::samples;
    use arrow::array::{
        ArrayRef, BinaryArray, Decimal128Array, Float64Array, Int64Array, ListArray, RecordBatchOptions, StringArray,
        StructArray, UInt64Array,
    };
    use arrow::datatypes::{DataType, Field, Int32Type, Schema};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn shown(array: ArrayRef, type_name: &str) -> String {
        written_so(array, type_name, Numbers::Json)
    }

    fn written_so(array: ArrayRef, type_name: &str, numbers: Numbers) -> String {
        let batch = RecordBatch::try_from_iter([("c", array)]).unwrap();
        let column = Column { name: "c".into(), type_name: type_name.into(), masked: false };
        let mut out = String::new();
        rows(&mut out, &[column], &batch, numbers, &mut true);
        assert!(serde_json::from_str::<serde_json::Value>(&format!("[{out}]")).is_ok(), "{out}");
        out
    }

    proptest! {
        #[test]
        fn columns_are_written_as_each_value_by_itself(batch in samples::batches(), with_text in any::<bool>()) {
            let column = |name: &String| Column { name: name.clone(), type_name: name.clone(), masked: false };
            let columns: Vec<_> = batch.schema().fields().iter().map(|field| column(field.name())).collect();
            let numbers = if with_text { Numbers::Strings } else { Numbers::Json };
            let (mut out, mut expected, mut first) = (String::new(), Vec::new(), true);
            for row in 0..batch.num_rows() {
                let values = batch.columns().iter().zip(&columns).map(|(array, column)| {
                    let mut value = String::new();
                    let embed = column::is_json(&column.type_name);
                    written(&mut value, &cell::at(array.as_ref(), row), embed, numbers);
                    value
                });
                expected.push(format!("[{}]", values.collect::<Vec<_>>().join(",")));
            }
            let half = batch.num_rows() / 2;
            for part in [batch.slice(0, half), batch.slice(half, batch.num_rows() - half)] {
                rows(&mut out, &columns, &part, numbers, &mut first);
            }
            prop_assert_eq!(out, expected.join(","));
        }
    }

    #[test]
    fn rows_without_columns_are_empty() {
        let options = RecordBatchOptions::new().with_row_count(Some(2));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).unwrap();
        let (mut out, mut first) = (String::new(), true);
        rows(&mut out, &[], &batch, Numbers::Json, &mut first);
        assert_eq!((out.as_str(), first), ("[],[]", false));
    }

    #[test]
    fn each_type_has_its_form() {
        let decimals = Decimal128Array::from(vec![Some(1_250), None]).with_precision_and_scale(12, 2).unwrap();
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None])]);
        let field = Arc::new(Field::new("a", DataType::Int64, true));
        let record = StructArray::from(vec![(field, Arc::new(Int64Array::from(vec![1])) as ArrayRef)]);
        let cases: [(ArrayRef, &str, &str); 9] = [
            (Arc::new(UInt64Array::from(vec![u64::MAX])), "UBIGINT", "[18446744073709551615]"),
            (Arc::new(decimals), "DECIMAL(12,2)", "[12.50],[null]"),
            (
                Arc::new(Float64Array::from(vec![1.0, f64::NAN, -f64::INFINITY, 1e300])),
                "DOUBLE",
                r#"[1.0],["NaN"],["-Infinity"],[1e300]"#,
            ),
            (Arc::new(StringArray::from(vec!["a\"b\\\n\u{1}ü"])), "VARCHAR", r#"["a\"b\\\n\u0001ü"]"#),
            (Arc::new(BinaryArray::from_vec(vec![b"\x00\xff"])), "BLOB", r#"["AP8="]"#),
            (Arc::new(StringArray::from(vec![r#"{"k": [1]}"#, "not json"])), "JSON", r#"[{"k": [1]}],["not json"]"#),
            (Arc::new(StringArray::from(vec!["[1]"])), "JSONB", "[[1]]"),
            (Arc::new(list), "INTEGER[]", "[[1,null]]"),
            (Arc::new(record), "STRUCT(a BIGINT)", r#"[{"a":1}]"#),
        ];
        for (array, type_name, expected) in cases {
            assert_eq!(shown(array, type_name), expected, "{type_name}");
        }
    }

    #[test]
    fn numbers_that_a_double_cannot_hold_are_text_where_that_is_wished() {
        let limit = (1_i64 << 53) - 1;
        let whole: ArrayRef = Arc::new(Int64Array::from(vec![Some(limit), Some(limit + 1), Some(-limit - 1), None]));
        let decimals = Decimal128Array::from(vec![99_999_999_999_999_950, -12_345, 999_999_999_999_999]);
        let decimals: ArrayRef = Arc::new(decimals.with_precision_and_scale(38, 2).unwrap());
        let field = Arc::new(Field::new("a", DataType::Int64, true));
        let largest: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX]));
        let record: ArrayRef = Arc::new(StructArray::from(vec![(field, largest)]));
        let huge = Decimal128Array::from(vec![i128::from(limit), i128::from(limit) + 1]);
        let huge: ArrayRef = Arc::new(huge.with_precision_and_scale(38, 0).unwrap());
        let cases = [
            (&whole, "BIGINT", r#"[9007199254740991],["9007199254740992"],["-9007199254740992"],[null]"#),
            (&decimals, "DECIMAL(38,2)", r#"["999999999999999.50"],[-123.45],[9999999999999.99]"#),
            (&huge, "HUGEINT", r#"[9007199254740991],["9007199254740992"]"#),
            (&record, "STRUCT(a BIGINT)", r#"[{"a":"9223372036854775807"}]"#),
        ];
        for (array, type_name, expected) in cases {
            assert_eq!(written_so(Arc::clone(array), type_name, Numbers::Strings), expected);
            let as_numbers = expected.replace('"', "").replace("a:", "\"a\":");
            assert_eq!(written_so(Arc::clone(array), type_name, Numbers::Json), as_numbers);
        }
        let inner: ArrayRef = Arc::new(StringArray::from(vec!["[9007199254740993]"]));
        assert_eq!(written_so(inner, "JSON", Numbers::Strings), "[[9007199254740993]]", "what somebody wrote stays");
    }
}
