//! Columns of a chunk as Arrow has them. The engine makes them value by value, which takes longer than most queries.
//!
//! Values that both lay out alike stay where they are, and the chunk with them. Where a value is null stands zero: in the
//! engine's memory that place may have a value of another row.

use std::ffi::c_void;
use std::ops::Range;
use std::panic::RefUnwindSafe;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use arrow::array::{Array, ArrayDataBuilder, ArrayRef, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
use arrow::datatypes::{DataType, Schema, TimeUnit};
use duckdb::ffi as c;

use super::{Chunk, Database};
use crate::error::Error;
use crate::types::{Shape, Type};

/// Fewer rows are copied: a chunk has room for 2048 of them, however few it has.
const LENT_ROWS_MIN: usize = 1024;
/// A text that is no longer stands in its value, with zeros behind it.
const SHORT_BYTES: usize = 12;

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

/// A chunk that is there as long as a column of Arrow has its values.
pub struct LentChunk {
    pub chunk: Chunk,
    /// Memory of the chunk may be given back to it.
    _database: Arc<Database>,
}

// nothing changes a chunk once it is fetched, and any thread may give it back
unsafe impl Send for LentChunk {}
unsafe impl Sync for LentChunk {}
impl RefUnwindSafe for LentChunk {}

impl LentChunk {
    pub fn new(chunk: Chunk, database: &Arc<Database>) -> Arc<Self> {
        Arc::new(Self { chunk, _database: Arc::clone(database) })
    }

    /// Its columns; none where the texts of one are too long for Arrow together.
    pub fn columns(self: &Arc<Self>, forms: &[ColumnForm], schema: &Schema) -> Option<Vec<ArrayRef>> {
        let rows = usize::try_from(unsafe { c::duckdb_data_chunk_get_size(self.chunk.0) }).ok()?;
        let numbered = (0..).zip(forms).zip(schema.fields().iter());
        numbered
            .map(|((index, form), field)| {
                let values = unsafe { ColumnValues::of(c::duckdb_data_chunk_get_vector(self.chunk.0, index), rows)? };
                let buffers = unsafe { values.buffers(*form, self)? };
                let built = ArrayDataBuilder::new(field.data_type().clone())
                    .len(rows)
                    .nulls(values.nulls)
                    .buffers(buffers)
                    .align_buffers(true);
                // the buffers were made for this type and so many rows; texts of the engine are UTF-8
                Some(make_array(unsafe { built.build_unchecked() }))
            })
            .collect()
    }
}

/// The values of all rows that have one, of so many bytes each, and zeros for the others. `found` has the bytes of a part.
fn valid_values<'v>(nulls: &NullBuffer, width: usize, found: impl Fn(Range<usize>) -> Option<&'v [u8]>) -> Buffer {
    let mut copied = MutableBuffer::from_len_zeroed(nulls.len() * width);
    for (from, to) in nulls.valid_slices() {
        let part = from * width..to * width;
        if let (Some(place), Some(bytes)) = (copied.as_slice_mut().get_mut(part.clone()), found(part)) {
            place.copy_from_slice(bytes);
        }
    }
    copied.into()
}

/// A column that the engine has made, with zeros for what it has left where a value is null.
pub fn zeroed(column: ArrayRef) -> Result<ArrayRef, Error> {
    let data = column.to_data();
    let (Some(nulls), Some(width), [values]) = (data.nulls(), data.data_type().primitive_width(), data.buffers())
    else {
        return Ok(column);
    };
    let shift = data.offset() * width;
    let values = valid_values(nulls, width, |part| values.get(part.start + shift..part.end + shift));
    let zeroed = ArrayDataBuilder::new(data.data_type().clone()).len(data.len()).nulls(Some(nulls.clone()));
    zeroed.add_buffer(values).build().map(make_array).map_err(Error::internal)
}

/// A column of a chunk: where its values are, and which of them are null.
struct ColumnValues {
    values: NonNull<c_void>,
    nulls: Option<NullBuffer>,
    rows: usize,
}

impl ColumnValues {
    /// The vector must have so many rows, and live longer than this.
    unsafe fn of(vector: c::duckdb_vector, rows: usize) -> Option<Self> {
        let values = NonNull::new(unsafe { c::duckdb_vector_get_data(vector) })?;
        let validity = unsafe { c::duckdb_vector_get_validity(vector) };
        let nulls = (!validity.is_null()).then(|| {
            let bits = unsafe { slice::from_raw_parts(validity.cast::<u8>(), rows.div_ceil(8)) };
            NullBuffer::new(BooleanBuffer::new(Buffer::from(bits), 0, rows))
        });
        Some(Self { values, nulls: nulls.filter(|nulls| nulls.null_count() > 0), rows })
    }

    /// The form must be that of the vector's type.
    unsafe fn buffers(&self, form: ColumnForm, owner: &Arc<LentChunk>) -> Option<Vec<Buffer>> {
        let made = unsafe {
            match form {
                ColumnForm::Same(width) => self.same(width, owner),
                ColumnForm::Bits => self.bits(),
                ColumnForm::Decimal16 => self.widened::<i16>(),
                ColumnForm::Decimal32 => self.widened::<i32>(),
                ColumnForm::Decimal64 => self.widened::<i64>(),
                ColumnForm::Texts => return self.texts(),
            }
        };
        Some(vec![made])
    }

    fn is_valid(&self, row: usize) -> bool {
        self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
    }

    unsafe fn same(&self, width: usize, owner: &Arc<LentChunk>) -> Buffer {
        let (values, bytes) = (self.values.cast::<u8>(), self.rows * width);
        let Some(nulls) = &self.nulls else {
            if self.rows < LENT_ROWS_MIN {
                return Buffer::from(unsafe { slice::from_raw_parts(values.as_ptr(), bytes) });
            }
            let owner = Arc::clone(owner);
            return unsafe { Buffer::from_custom_allocation(values, bytes, owner) };
        };
        valid_values(nulls, width, |place| unsafe {
            Some(slice::from_raw_parts(values.as_ptr().add(place.start), place.len()))
        })
    }

    unsafe fn bits(&self) -> Buffer {
        let truths = self.values.cast::<u8>().as_ptr();
        BooleanBuffer::collect_bool(self.rows, |row| self.is_valid(row) && unsafe { *truths.add(row) } != 0)
            .into_inner()
    }

    unsafe fn widened<T: Copy + Into<i128>>(&self) -> Buffer {
        let numbers = self.values.cast::<T>().as_ptr();
        let widened: Vec<i128> = if self.nulls.is_none() {
            unsafe { slice::from_raw_parts(numbers, self.rows) }.iter().map(|number| (*number).into()).collect()
        } else {
            let number =
                |row: usize| -> i128 { if self.is_valid(row) { unsafe { *numbers.add(row) }.into() } else { 0 } };
            (0..self.rows).map(number).collect()
        };
        Buffer::from_vec(widened)
    }

    /// Where they end, and the texts.
    unsafe fn texts(&self) -> Option<Vec<Buffer>> {
        let texts = self.values.cast::<c::duckdb_string_t>().as_ptr();
        let length = |row: usize| if self.is_valid(row) { unsafe { text_length(texts.add(row)) } } else { 0 };
        let bytes: usize = (0..self.rows).map(length).sum();
        i32::try_from(bytes).ok()?;
        let mut ends: Vec<i32> = Vec::with_capacity(self.rows + 1);
        ends.push(0);
        let mut joined: Vec<u8> = Vec::with_capacity(bytes + SHORT_BYTES);
        let (place, mut at) = (joined.as_mut_ptr(), 0);
        for row in 0..self.rows {
            let more = length(row);
            if more > bytes - at {
                return None;
            }
            if more > 0 {
                unsafe { copy_text(texts.add(row), more, place.add(at)) };
            }
            at += more;
            ends.push(i32::try_from(at).ok()?);
        }
        unsafe { joined.set_len(at) };
        Some(vec![Buffer::from_vec(ends), Buffer::from_vec(joined)])
    }
}

unsafe fn text_length(text: *const c::duckdb_string_t) -> usize {
    usize::try_from(unsafe { (*text).value.inlined.length }).unwrap_or(0)
}

/// Copies a text of this length to a place with room for it and [`SHORT_BYTES`] more: a short one is copied with what
/// stands behind it, which takes one move.
unsafe fn copy_text(text: *const c::duckdb_string_t, length: usize, place: *mut u8) {
    unsafe {
        if length <= SHORT_BYTES {
            let short = &raw const (*text).value.inlined.inlined;
            ptr::copy_nonoverlapping(short.cast::<u8>(), place, SHORT_BYTES);
        } else {
            ptr::copy_nonoverlapping((*text).value.pointer.ptr.cast::<u8>(), place, length);
        }
    }
}

#[cfg(test)]
mod tests;
