//! What a batch of rows weighs.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch};

/// Bytes of its rows, without the room around them.
///
/// Several columns may lie in one piece of memory, which each of them would be weighed with.
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    let of = |column: &Arc<dyn Array>| column.to_data().get_slice_memory_size().unwrap_or(usize::MAX);
    batch.columns().iter().map(of).fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};

    use super::*;

    #[test]
    fn a_part_weighs_what_it_shows() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1_000));
        let batch = RecordBatch::try_from_iter([("a", Arc::clone(&numbers)), ("b", numbers)]).unwrap();
        assert_eq!((batch_bytes(&batch), batch_bytes(&batch.slice(10, 5))), (16_000, 80));
    }
}
