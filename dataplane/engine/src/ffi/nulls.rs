//! Rows without a value, and places for values that have none. The engine leaves there what was there before: of another
//! row, or of nobody.

use arrow::array::{Array, ArrayData, ArrayRef, MutableArrayData, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use crate::error::Error;

/// How many rows have their bit in one word.
pub const WORD_ROWS: usize = 64;

/// Which of so many rows have a value; none where all have one. Of rows behind the last the engine's words may tell
/// something too, which does not stay.
pub fn of(words: &[u64], rows: usize) -> Option<NullBuffer> {
    let mut bits = words.to_vec();
    bits.resize(rows.div_ceil(WORD_ROWS), 0); // a row that no word tells of has none
    let unused = bits.len() * WORD_ROWS - rows;
    if let Some(last) = bits.last_mut() {
        *last &= u64::MAX >> unused;
    }
    for word in &mut bits {
        *word = word.to_le();
    }
    let nulls = NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bits), 0, rows));
    (nulls.null_count() > 0).then_some(nulls)
}

/// A column that the engine has made, with nothing where a value is null, or is part of one that is.
pub fn cleared(column: ArrayRef) -> Result<ArrayRef, Error> {
    let made = cleared_data(&column.to_data()).map_err(Error::internal)?;
    Ok(made.map_or(column, make_array))
}

/// None where it stays as it is.
fn cleared_data(data: &ArrayData) -> Result<Option<ArrayData>, ArrowError> {
    let parts = data.child_data().iter().map(cleared_data).collect::<Result<Vec<_>, _>>()?;
    let made = if parts.iter().any(Option::is_some) {
        let both = parts.into_iter().zip(data.child_data());
        let parts = both.map(|(made, found)| made.unwrap_or_else(|| found.clone())).collect();
        Some(data.clone().into_builder().child_data(parts).align_buffers(true).build()?)
    } else {
        None
    };
    let nulls = data.nulls().filter(|nulls| nulls.null_count() > 0 && leaves_values(data.data_type()));
    Ok(match nulls {
        Some(nulls) => Some(valid_rows(made.as_ref().unwrap_or(data), nulls)),
        None => made,
    })
}

/// Whether a column of the engine may have a value, or parts of one, where it is null.
fn leaves_values(data_type: &DataType) -> bool {
    use DataType::{Binary, Boolean, LargeBinary, LargeList, LargeUtf8, List, Map, Null, Utf8};
    !matches!(data_type, Null | Boolean | Utf8 | LargeUtf8 | Binary | LargeBinary | List(_) | LargeList(_) | Map(..))
}

/// A copy of the rows that have a value, with nothing at the places of the others.
fn valid_rows(data: &ArrayData, nulls: &NullBuffer) -> ArrayData {
    let mut made = MutableArrayData::new(vec![data], true, data.len());
    let mut at = 0;
    for (from, to) in nulls.valid_slices() {
        made.extend_nulls(from - at);
        made.extend(0, from, to);
        at = to;
    }
    made.extend_nulls(data.len() - at);
    made.freeze()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, BooleanArray, FixedSizeListArray, Int64Array, ListArray, StringArray, StructArray};
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::{Field, Int64Type};

    use super::*;

    fn numbers(nulls: Vec<bool>) -> ArrayRef {
        let values = (7..).take(nulls.len()).collect::<Vec<i64>>();
        Arc::new(Int64Array::new(values.into(), Some(nulls.into())))
    }

    fn item() -> Arc<Field> {
        Arc::new(Field::new("item", DataType::Int64, true))
    }

    #[test]
    fn rows_behind_the_last_leave_no_bit() {
        let nulls = of(&[u64::MAX, u64::MAX - 1], 67).unwrap();
        assert_eq!((nulls.len(), nulls.null_count()), (67, 1));
        let bytes = nulls.inner().sliced();
        assert_eq!(bytes.as_slice(), [255, 255, 255, 255, 255, 255, 255, 255, 0b110]);
        assert!(of(&[u64::MAX, 0b111], 67).is_none(), "all have a value");
        assert!(of(&[0], 64).is_some_and(|nulls| nulls.null_count() == 64));
        assert!(of(&[], 0).is_none() && of(&[], 1).is_some_and(|nulls| nulls.is_null(0)));
    }

    #[test]
    fn nothing_is_left_in_parts_of_what_is_null() {
        let truths: ArrayRef = Arc::new(BooleanArray::from(vec![true, true]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["shown", "hidden"]));
        let inner = FixedSizeListArray::new(item(), 2, numbers(vec![true, false, true, true]), None);
        let parts: Vec<ArrayRef> = vec![truths, texts, Arc::new(inner)];
        let fields: Vec<_> = parts.iter().map(|part| Field::new("f", part.data_type().clone(), true)).collect();
        let column = StructArray::new(fields.into(), parts, Some(vec![true, false].into()));
        let made = cleared(Arc::new(column)).unwrap();
        made.to_data().validate_full().unwrap();
        let made = made.as_struct();
        assert!(made.is_valid(0) && made.is_null(1));
        assert!(made.column(0).as_boolean().value(0) && !made.column(0).as_boolean().value(1));
        assert_eq!(made.column(1).as_string::<i32>().values().as_slice(), b"shown");
        let numbers = made.column(2).as_fixed_size_list().values().as_primitive::<Int64Type>();
        assert_eq!(numbers.values()[..], [7, 0, 0, 0]);
    }

    #[test]
    fn nothing_is_left_in_items_of_a_list_that_are_null() {
        let offsets = OffsetBuffer::new(vec![0, 1, 1, 3].into());
        let nulls = Some(vec![true, false, true].into());
        let column: ArrayRef = Arc::new(ListArray::new(item(), offsets, numbers(vec![true, false, true]), nulls));
        let made = cleared(Arc::clone(&column)).unwrap();
        assert_eq!(&made, &column);
        assert_eq!(made.as_list::<i32>().values().as_primitive::<Int64Type>().values()[..], [7, 0, 9]);
    }

    #[test]
    fn a_column_without_nulls_stays_as_it_is() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        assert!(Arc::ptr_eq(&cleared(Arc::clone(&column)).unwrap(), &column));
    }
}
