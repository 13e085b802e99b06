//! One column of a batch, ready to write any of its values.

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeListArray, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, ListArray, StringArray,
    Time64MicrosecondArray, Time64NanosecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow::datatypes::{DataType, TimeUnit};
use bytes::BufMut;
use chrono_tz::Tz;

use super::interval::Interval;
use super::number::{self, Decimal};
use super::{PgType, float, moment, patch};
use crate::encode::{cell, json};

/// The first byte of every `jsonb` in binary form.
const JSONB_VERSION: u8 = 1;

/// A column and how its values are to be written.
pub struct EncodedColumn<'a> {
    pub(super) array: &'a dyn Array,
    pub(super) values: ColumnValues<'a>,
}

pub(super) enum ColumnValues<'a> {
    /// A column of nothing but NULL.
    Null,
    Bool(&'a BooleanArray),
    Integer(Integers<'a>, Width),
    Real(&'a Float32Array),
    Double(&'a Float64Array),
    Decimal(&'a Decimal128Array, u8),
    Text(&'a StringArray),
    Uuid(&'a StringArray),
    Jsonb(&'a StringArray),
    Bytes(&'a BinaryArray),
    Date(&'a Date32Array),
    Time(Micros<'a>),
    Timestamp(Micros<'a>),
    TimestampTz(Micros<'a>, Tz),
    Interval(&'a IntervalMonthDayNanoArray),
    /// Structs, maps, nested lists: as the REST protocol writes them.
    Nested,
    List(List<'a>),
}

#[derive(Clone, Copy)]
pub(super) enum Width {
    Two,
    Four,
    Eight,
    Numeric,
}

pub(super) enum Integers<'a> {
    I8(&'a Int8Array),
    I16(&'a Int16Array),
    I32(&'a Int32Array),
    I64(&'a Int64Array),
    U8(&'a UInt8Array),
    U16(&'a UInt16Array),
    U32(&'a UInt32Array),
    U64(&'a UInt64Array),
}

/// A count of time in its own unit.
pub(super) struct Micros<'a> {
    values: &'a [i64],
    /// Ticks of the array in a second.
    per_second: i64,
}

/// A list's values lie behind one another in one array, which is a column itself.
pub(super) struct List<'a> {
    items: Box<EncodedColumn<'a>>,
    oid: u32,
    bounds: ListBounds<'a>,
}

enum ListBounds<'a> {
    Offsets(&'a ListArray),
    Every(usize),
}

impl<'a> EncodedColumn<'a> {
    /// Nothing if the array cannot hold values of this type.
    pub fn new(kind: &PgType, array: &'a dyn Array, zone: Tz) -> Option<Self> {
        let values = match (kind, array.data_type()) {
            (_, DataType::Null) => ColumnValues::Null,
            (PgType::Bool, _) => ColumnValues::Bool(cast(array)?),
            (PgType::Int2, _) => ColumnValues::Integer(Integers::of(array)?, Width::Two),
            (PgType::Int4, _) => ColumnValues::Integer(Integers::of(array)?, Width::Four),
            (PgType::Int8, _) => ColumnValues::Integer(Integers::of(array)?, Width::Eight),
            (PgType::Numeric(_), DataType::Decimal128(_, scale)) => {
                ColumnValues::Decimal(cast(array)?, u8::try_from(*scale).ok()?)
            }
            (PgType::Numeric(_), _) => ColumnValues::Integer(Integers::of(array)?, Width::Numeric),
            (PgType::Float4, _) => ColumnValues::Real(cast(array)?),
            (PgType::Float8, _) => ColumnValues::Double(cast(array)?),
            (PgType::Text | PgType::Name, _) | (PgType::Json, DataType::Utf8) => ColumnValues::Text(cast(array)?),
            (PgType::Uuid, _) => ColumnValues::Uuid(cast(array)?),
            (PgType::Jsonb, _) => ColumnValues::Jsonb(cast(array)?),
            (PgType::Json, _) => ColumnValues::Nested,
            (PgType::Bytea, _) => ColumnValues::Bytes(cast(array)?),
            (PgType::Date, _) => ColumnValues::Date(cast(array)?),
            (PgType::Time, _) => ColumnValues::Time(Micros::of(array)?),
            (PgType::Timestamp, _) => ColumnValues::Timestamp(Micros::of(array)?),
            (PgType::TimestampTz, _) => ColumnValues::TimestampTz(Micros::of(array)?, zone),
            (PgType::Interval, _) => ColumnValues::Interval(cast(array)?),
            (PgType::Array(item), _) => ColumnValues::List(List::of(item, array, zone)?),
        };
        Some(Self { array, values })
    }

    pub fn is_null(&self, row: usize) -> bool {
        matches!(self.values, ColumnValues::Null) || self.array.is_null(row)
    }

    pub fn text(&self, row: usize, out: &mut Vec<u8>) {
        match &self.values {
            ColumnValues::Null => {}
            ColumnValues::Bool(values) => out.put_u8(if values.value(row) { b't' } else { b'f' }),
            ColumnValues::Integer(values, _) => number::integer(values.at(row), out),
            ColumnValues::Real(values) => float::float4(values.value(row), out),
            ColumnValues::Double(values) => float::float8(values.value(row), out),
            ColumnValues::Decimal(values, scale) => Decimal { digits: values.value(row), scale: *scale }.text(out),
            ColumnValues::Text(values) | ColumnValues::Uuid(values) | ColumnValues::Jsonb(values) => {
                out.put_slice(values.value(row).as_bytes());
            }
            ColumnValues::Bytes(values) => {
                out.put_slice(b"\\x");
                hexadecimal(values.value(row), out);
            }
            ColumnValues::Date(values) => moment::date(values.value(row), out),
            ColumnValues::Time(values) => moment::time(values.at(row), out),
            ColumnValues::Timestamp(values) => moment::timestamp(values.at(row), out),
            ColumnValues::TimestampTz(values, zone) => moment::timestamp_tz(values.at(row), *zone, out),
            ColumnValues::Interval(values) => interval(values, row).text(out),
            ColumnValues::Nested => {
                let mut text = String::new();
                json::value(&mut text, &cell::at(self.array, row), false);
                out.put_slice(text.as_bytes());
            }
            ColumnValues::List(list) => list.text(row, out),
        }
    }

    pub fn binary(&self, row: usize, out: &mut Vec<u8>) {
        match &self.values {
            ColumnValues::Bool(values) => out.put_u8(u8::from(values.value(row))),
            ColumnValues::Integer(values, width) => integer(values.at(row), *width, out),
            ColumnValues::Real(values) => out.put_f32(values.value(row)),
            ColumnValues::Double(values) => out.put_f64(values.value(row)),
            ColumnValues::Decimal(values, scale) => Decimal { digits: values.value(row), scale: *scale }.binary(out),
            ColumnValues::Uuid(values) => uuid(values.value(row), out),
            ColumnValues::Jsonb(values) => {
                out.put_u8(JSONB_VERSION);
                out.put_slice(values.value(row).as_bytes());
            }
            ColumnValues::Bytes(values) => out.put_slice(values.value(row)),
            ColumnValues::Date(values) => moment::date_binary(values.value(row), out),
            ColumnValues::Time(values) => out.put_i64(values.at(row)),
            ColumnValues::Timestamp(values) | ColumnValues::TimestampTz(values, _) => {
                moment::timestamp_binary(values.at(row), out);
            }
            ColumnValues::Interval(values) => interval(values, row).binary(out),
            ColumnValues::List(list) => list.binary(row, out),
            // These have one form.
            ColumnValues::Null | ColumnValues::Text(_) | ColumnValues::Nested => self.text(row, out),
        }
    }
}

/// Two digits for each byte.
fn hexadecimal(bytes: &[u8], out: &mut Vec<u8>) {
    let from = out.len();
    out.resize(from + 2 * bytes.len(), 0);
    if let Some(place) = out.get_mut(from..) {
        let _ = hex::encode_to_slice(bytes, place); // it has the room that they take
    }
}

fn cast<T: 'static>(array: &dyn Array) -> Option<&T> {
    array.as_any().downcast_ref()
}

fn integer(value: i128, width: Width, out: &mut Vec<u8>) {
    // The announced type is at least as wide as the engine's.
    let narrow = i64::try_from(value).unwrap_or(i64::MAX);
    match width {
        Width::Two => out.put_i16(i16::try_from(narrow).unwrap_or(i16::MAX)),
        Width::Four => out.put_i32(i32::try_from(narrow).unwrap_or(i32::MAX)),
        Width::Eight => out.put_i64(narrow),
        Width::Numeric => Decimal { digits: value, scale: 0 }.binary(out),
    }
}

fn uuid(text: &str, out: &mut Vec<u8>) {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    out.put_slice(&hex::decode(digits).unwrap_or_default());
}

pub(super) fn interval(values: &IntervalMonthDayNanoArray, row: usize) -> Interval {
    let value = values.value(row);
    Interval { months: value.months, days: value.days, micros: value.nanoseconds / 1_000 }
}

impl<'a> Integers<'a> {
    fn of(array: &'a dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Int8 => Self::I8(cast(array)?),
            DataType::Int16 => Self::I16(cast(array)?),
            DataType::Int32 => Self::I32(cast(array)?),
            DataType::Int64 => Self::I64(cast(array)?),
            DataType::UInt8 => Self::U8(cast(array)?),
            DataType::UInt16 => Self::U16(cast(array)?),
            DataType::UInt32 => Self::U32(cast(array)?),
            DataType::UInt64 => Self::U64(cast(array)?),
            _ => return None,
        })
    }

    pub(super) fn at(&self, row: usize) -> i128 {
        match self {
            Self::I8(values) => values.value(row).into(),
            Self::I16(values) => values.value(row).into(),
            Self::I32(values) => values.value(row).into(),
            Self::I64(values) => values.value(row).into(),
            Self::U8(values) => values.value(row).into(),
            Self::U16(values) => values.value(row).into(),
            Self::U32(values) => values.value(row).into(),
            Self::U64(values) => values.value(row).into(),
        }
    }
}

impl<'a> Micros<'a> {
    fn of(array: &'a dyn Array) -> Option<Self> {
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        let (values, per_second): (&[i64], i64) = match array.data_type() {
            DataType::Time64(Microsecond) => (cast::<Time64MicrosecondArray>(array)?.values(), 1_000_000),
            DataType::Time64(Nanosecond) => (cast::<Time64NanosecondArray>(array)?.values(), 1_000_000_000),
            DataType::Timestamp(Second, _) => (cast::<TimestampSecondArray>(array)?.values(), 1),
            DataType::Timestamp(Millisecond, _) => (cast::<TimestampMillisecondArray>(array)?.values(), 1_000),
            DataType::Timestamp(Microsecond, _) => (cast::<TimestampMicrosecondArray>(array)?.values(), 1_000_000),
            DataType::Timestamp(Nanosecond, _) => (cast::<TimestampNanosecondArray>(array)?.values(), 1_000_000_000),
            _ => return None,
        };
        Some(Self { values, per_second })
    }

    /// The infinities at both ends stay what they are.
    pub(super) fn at(&self, row: usize) -> i64 {
        let value = self.values.get(row).copied().unwrap_or_default();
        if value == i64::MAX || value == -i64::MAX || self.per_second == 1_000_000 {
            value
        } else if self.per_second > 1_000_000 {
            value.div_euclid(self.per_second / 1_000_000)
        } else {
            value.saturating_mul(1_000_000 / self.per_second)
        }
    }
}

impl<'a> List<'a> {
    fn of(kind: &PgType, array: &'a dyn Array, zone: Tz) -> Option<Self> {
        let (items, bounds): (&ArrayRef, _) = match array.data_type() {
            DataType::List(_) => {
                let list: &ListArray = cast(array)?;
                (list.values(), ListBounds::Offsets(list))
            }
            DataType::FixedSizeList(_, length) => {
                let list: &FixedSizeListArray = cast(array)?;
                (list.values(), ListBounds::Every(usize::try_from(*length).ok()?))
            }
            _ => return None,
        };
        Some(Self { items: Box::new(EncodedColumn::new(kind, items.as_ref(), zone)?), oid: kind.oid(), bounds })
    }

    fn range(&self, row: usize) -> std::ops::Range<usize> {
        match &self.bounds {
            ListBounds::Every(length) => row * length..(row + 1) * length,
            ListBounds::Offsets(list) => {
                let end =
                    |at: usize| list.value_offsets().get(at).and_then(|end| usize::try_from(*end).ok()).unwrap_or(0);
                end(row)..end(row + 1)
            }
        }
    }

    /// `{1,NULL,"a b"}`.
    fn text(&self, row: usize, out: &mut Vec<u8>) {
        out.put_u8(b'{');
        let mut item = Vec::new();
        for (index, at) in self.range(row).enumerate() {
            if index > 0 {
                out.put_u8(b',');
            }
            if self.items.is_null(at) {
                out.put_slice(b"NULL");
                continue;
            }
            item.clear();
            self.items.text(at, &mut item);
            quoted(&item, out);
        }
        out.put_u8(b'}');
    }

    /// Dimensions, has NULLs, item type, then length and lower bound, then the items.
    fn binary(&self, row: usize, out: &mut Vec<u8>) {
        let range = self.range(row);
        let count = u32::try_from(range.len()).unwrap_or(0);
        out.put_u32(u32::from(count > 0));
        out.put_u32(u32::from(range.clone().any(|at| self.items.is_null(at))));
        out.put_u32(self.oid);
        if count == 0 {
            return;
        }
        out.put_u32(count);
        out.put_u32(1);
        for at in range {
            if self.items.is_null(at) {
                out.put_i32(-1);
                continue;
            }
            let start = out.len();
            out.put_u32(0);
            self.items.binary(at, out);
            let length = out.len() - start - 4;
            patch(out, start, length);
        }
    }
}

/// An item of an array's text, quoted where it could be misread.
fn quoted(item: &[u8], out: &mut Vec<u8>) {
    let odd = |byte: &u8| matches!(byte, b'{' | b'}' | b',' | b'"' | b'\\') || byte.is_ascii_whitespace();
    if !item.is_empty() && !item.iter().any(odd) && !item.eq_ignore_ascii_case(b"null") {
        return out.put_slice(item);
    }
    out.put_u8(b'"');
    for byte in item {
        if matches!(byte, b'"' | b'\\') {
            out.put_u8(b'\\');
        }
        out.put_u8(*byte);
    }
    out.put_u8(b'"');
}
