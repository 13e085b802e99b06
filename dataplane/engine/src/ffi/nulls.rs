//! Rows without a value, and places for values that have none. The engine leaves there what was there before: of another
//! row, or of nobody.

use arrow::array::{Array, ArrayData, ArrayRef, MutableArrayData, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::datatypes::DataType;

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
    bits.iter_mut().for_each(|word| *word = word.to_le());
    let nulls = NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bits), 0, rows));
    (nulls.null_count() > 0).then_some(nulls)
}

/// A column that the engine has made, with nothing where a value is null.
pub fn cleared(column: ArrayRef) -> ArrayRef {
    let data = column.to_data();
    let nulls = data.nulls().filter(|nulls| nulls.null_count() > 0 && leaves_values(data.data_type()));
    nulls.map_or(column, |nulls| make_array(valid_rows(&data, nulls)))
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

    use arrow::array::Int64Array;

    use super::*;

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
    fn a_column_without_nulls_stays_as_it_is() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        assert!(Arc::ptr_eq(&cleared(Arc::clone(&column)), &column));
    }
}
