//! Structs, maps and nested lists as JSON text: PostgreSQL has no type for them that a client knows.
//!
//! Leaves are written as the REST door writes them: numbers with all digits, what JSON cannot hold
//! as text, blobs in base64.

use arrow::array::{Array, AsArray, BinaryArray};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, BytesMut};

/// A column whose values are written as JSON.
pub struct Nested<'a>(&'a dyn Array);

impl<'a> Nested<'a> {
    pub fn of(array: &'a dyn Array) -> Self {
        Self(array)
    }

    pub fn write(&self, row: usize, out: &mut BytesMut) {
        value(self.0, row, out);
    }
}

fn value(array: &dyn Array, row: usize, out: &mut BytesMut) {
    if array.is_null(row) {
        return out.put_slice(b"null");
    }
    match array.data_type() {
        DataType::Null => out.put_slice(b"null"),
        DataType::List(_) => list(array.as_list::<i32>().value(row).as_ref(), out),
        DataType::FixedSizeList(..) => list(array.as_fixed_size_list().value(row).as_ref(), out),
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            if let [keys, values] = entries.columns() {
                members(entries.len(), out, |at, out| {
                    string(&leaf(keys.as_ref(), at), out);
                    out.put_u8(b':');
                    value(values.as_ref(), at, out);
                });
            }
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let named: Vec<_> = fields.iter().zip(columns).collect();
            members(named.len(), out, |at, out| {
                if let Some((field, column)) = named.get(at) {
                    string(field.name(), out);
                    out.put_u8(b':');
                    value(column.as_ref(), row, out);
                }
            });
        }
        DataType::Binary => {
            let bytes = array.as_any().downcast_ref::<BinaryArray>().map(|array| array.value(row));
            string(&STANDARD.encode(bytes.unwrap_or_default()), out);
        }
        kind => {
            let text = leaf(array, row);
            let bare = kind == &DataType::Boolean || kind.is_numeric() && text.parse::<f64>().is_ok_and(f64::is_finite);
            if bare { out.put_slice(text.as_bytes()) } else { string(float_name(&text), out) }
        }
    }
}

fn list(items: &dyn Array, out: &mut BytesMut) {
    out.put_u8(b'[');
    for at in 0..items.len() {
        if at > 0 {
            out.put_u8(b',');
        }
        value(items, at, out);
    }
    out.put_u8(b']');
}

fn members(count: usize, out: &mut BytesMut, each: impl Fn(usize, &mut BytesMut)) {
    out.put_u8(b'{');
    for at in 0..count {
        if at > 0 {
            out.put_u8(b',');
        }
        each(at, out);
    }
    out.put_u8(b'}');
}

/// A value that is not nested, as text.
fn leaf(array: &dyn Array, row: usize) -> String {
    let options = FormatOptions::new()
        .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
        .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f+00"));
    ArrayFormatter::try_new(array, &options).map(|shown| shown.value(row).to_string()).unwrap_or_default()
}

fn float_name(text: &str) -> &str {
    match text {
        "inf" => "Infinity",
        "-inf" => "-Infinity",
        other => other,
    }
}

fn string(text: &str, out: &mut BytesMut) {
    // A string always has a JSON form.
    out.put_slice(serde_json::to_string(text).unwrap_or_default().as_bytes());
}
