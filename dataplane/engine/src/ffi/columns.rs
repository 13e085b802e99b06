//! Columns of a chunk as Arrow has them. The engine makes them value by value, which takes longer than most queries.
//!
//! Values that both lay out alike stay where they are, and the chunk with them. Where a value is null stands zero: in the
//! engine's memory that place may have a value of another row.

use std::sync::Arc;

use arrow::array::{ArrayDataBuilder, ArrayRef, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer};
use arrow::datatypes::{DataType, FieldRef, Schema, TimeUnit};
use bytes::Bytes;

use super::{Chunk, ColumnVector};
use crate::native::ValueLayout;
use crate::types::{Shape, Type};

/// Fewer rows are copied: a chunk has room for 2048 of them, however few it has.
const LENT_ROWS_MIN: usize = 1024;

/// How the values of a column become those of Arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnForm {
    /// They are the same, of so many bytes each.
    Same(usize),
    /// Of a byte each is made a bit.
    Bits,
    /// Texts, or bytes.
    Texts,
    /// Decimals of so many bits; those of Arrow have 128.
    Decimal16,
    Decimal32,
    Decimal64,
}

impl ColumnForm {
    /// None where it is left to the engine.
    fn of(kind: &Type, data_type: &DataType) -> Option<Self> {
        if kind.alias.is_some() {
            return None;
        }
        match (&kind.shape, data_type) {
            (Shape::Plain("BOOLEAN"), DataType::Boolean) => Some(Self::Bits),
            (Shape::Plain("VARCHAR"), DataType::Utf8) | (Shape::Plain("BLOB"), DataType::Binary) => Some(Self::Texts),
            (Shape::Decimal { width, .. }, DataType::Decimal128(digits, _)) if width == digits => match *width {
                0..=4 => Some(Self::Decimal16),
                5..=9 => Some(Self::Decimal32),
                10..=18 => Some(Self::Decimal64),
                _ => Some(Self::Same(size_of::<i128>())),
            },
            (Shape::Plain(name), _) if is_same(name, data_type) => data_type.primitive_width().map(Self::Same),
            _ => None,
        }
    }
}

/// Whether the values of both types have the same bytes.
fn is_same(name: &str, data_type: &DataType) -> bool {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    matches!(
        (name, data_type),
        ("TINYINT", DataType::Int8)
            | ("SMALLINT", DataType::Int16)
            | ("INTEGER", DataType::Int32)
            | ("BIGINT", DataType::Int64)
            | ("HUGEINT", DataType::Decimal128(38, 0))
            | ("UTINYINT", DataType::UInt8)
            | ("USMALLINT", DataType::UInt16)
            | ("UINTEGER", DataType::UInt32)
            | ("UBIGINT", DataType::UInt64)
            | ("FLOAT", DataType::Float32)
            | ("DOUBLE", DataType::Float64)
            | ("DATE", DataType::Date32)
            | ("TIME", DataType::Time64(Microsecond))
            | ("TIMESTAMP", DataType::Timestamp(Microsecond, None))
            | ("TIMESTAMP_S", DataType::Timestamp(Second, None))
            | ("TIMESTAMP_MS", DataType::Timestamp(Millisecond, None))
            | ("TIMESTAMP_NS", DataType::Timestamp(Nanosecond, None))
            | ("TIMESTAMP WITH TIME ZONE", DataType::Timestamp(Microsecond, Some(_)))
    )
}

/// The form of each column; none where one of them is left to the engine, which then makes all.
pub fn forms(columns: &[(String, Type)], schema: &Schema) -> Option<Vec<ColumnForm>> {
    let fields = schema.fields();
    if columns.len() != fields.len() {
        return None;
    }
    columns.iter().zip(fields.iter()).map(|((_, kind), field)| ColumnForm::of(kind, field.data_type())).collect()
}

/// The columns of a chunk by their forms; none where one cannot be made so.
pub fn by_forms(chunk: &Arc<Chunk>, forms: &[ColumnForm], schema: &Schema) -> Option<Vec<ArrayRef>> {
    let numbered = forms.iter().enumerate().zip(schema.fields().iter());
    let column = |((index, form), field): ((usize, &ColumnForm), &FieldRef)| {
        let values = chunk.column(index)?;
        let built = ArrayDataBuilder::new(field.data_type().clone())
            .len(chunk.rows())
            .nulls(values.nulls().cloned())
            .buffers(form.buffers(&values, chunk, index)?)
            .align_buffers(true);
        built.build().ok().map(make_array)
    };
    numbered.map(column).collect()
}

/// The values of a column without nulls, and the chunk in whose memory they are.
struct LentValues {
    chunk: Arc<Chunk>,
    index: usize,
}

impl AsRef<[u8]> for LentValues {
    fn as_ref(&self) -> &[u8] {
        self.chunk.column(self.index).and_then(|values| values.whole()).unwrap_or_default()
    }
}

impl ColumnForm {
    /// The buffers of the column of Arrow; none where the values do not lie as the form says.
    fn buffers(self, values: &ColumnVector<'_>, chunk: &Arc<Chunk>, index: usize) -> Option<Vec<Buffer>> {
        let rows = chunk.rows();
        let made = match (self, values.layout()) {
            (Self::Same(width), ValueLayout::Fixed(found)) if width == found => match values.whole() {
                Some(_) if rows >= LENT_ROWS_MIN => {
                    Buffer::from(Bytes::from_owner(LentValues { chunk: Arc::clone(chunk), index }))
                }
                Some(whole) => Buffer::from(whole),
                None => zeroed(values, rows * width).into(),
            },
            (Self::Bits, ValueLayout::Fixed(1)) => bits(&zeroed(values, rows)),
            (Self::Decimal16, ValueLayout::Fixed(2)) => widened(&zeroed(values, rows * 2), i16::from_ne_bytes),
            (Self::Decimal32, ValueLayout::Fixed(4)) => widened(&zeroed(values, rows * 4), i32::from_ne_bytes),
            (Self::Decimal64, ValueLayout::Fixed(8)) => widened(&zeroed(values, rows * 8), i64::from_ne_bytes),
            (Self::Texts, ValueLayout::Texts) => return texts(values, rows),
            _ => return None,
        };
        Some(vec![made])
    }
}

/// A copy of all values, with zeros for those that are null.
fn zeroed(values: &ColumnVector<'_>, bytes: usize) -> MutableBuffer {
    let mut copied = MutableBuffer::from_len_zeroed(bytes);
    values.copy_to(copied.as_slice_mut());
    copied
}

fn bits(truths: &[u8]) -> Buffer {
    BooleanBuffer::collect_bool(truths.len(), |row| truths.get(row).is_some_and(|truth| *truth != 0)).into_inner()
}

fn widened<const BYTES: usize, T: Into<i128>>(numbers: &[u8], number: impl Fn([u8; BYTES]) -> T) -> Buffer {
    let (numbers, _) = numbers.as_chunks::<BYTES>();
    Buffer::from_vec(numbers.iter().map(|bytes| number(*bytes).into()).collect::<Vec<i128>>())
}

/// Where the texts end, and the texts; none where they are too long together for one column.
fn texts(values: &ColumnVector<'_>, rows: usize) -> Option<Vec<Buffer>> {
    let found = || (0..rows).map(move |row| values.text(row).unwrap_or_default());
    let bytes: usize = found().map(<[u8]>::len).sum();
    i32::try_from(bytes).ok()?;
    let mut ends: Vec<i32> = Vec::with_capacity(rows + 1);
    ends.push(0);
    let mut joined: Vec<u8> = Vec::with_capacity(bytes);
    for text in found() {
        joined.extend_from_slice(text);
        ends.push(i32::try_from(joined.len()).ok()?);
    }
    Some(vec![Buffer::from_vec(ends), Buffer::from_vec(joined)])
}

#[cfg(test)]
mod tests;
