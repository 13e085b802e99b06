//! Rows in batches of one size, where a row filter hides some.
//!
//! The engine makes a batch of the rows that it has found among so many of a table. Its size tells how many are hidden
//! among these, and so does whether it is sent on as it came.

use std::collections::VecDeque;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;

/// Rows of each batch but the last: as many as the engine makes at once.
const ROWS: usize = 2_048;

/// Rows that wait until there are enough of them.
#[derive(Debug, Default)]
pub(super) struct EvenBatches {
    parts: VecDeque<RecordBatch>,
    rows: usize,
}

impl EvenBatches {
    pub fn add(&mut self, part: RecordBatch) {
        if part.num_rows() > 0 {
            self.rows += part.num_rows();
            self.parts.push_back(part);
        }
    }

    /// The next batch that has all its rows.
    pub fn full(&mut self) -> Option<Result<RecordBatch, engine::Error>> {
        (self.rows >= ROWS).then(|| self.taken(ROWS))
    }

    /// The last one, when no more rows come.
    pub fn last(&mut self) -> Option<Result<RecordBatch, engine::Error>> {
        (self.rows > 0).then(|| self.taken(self.rows))
    }

    fn taken(&mut self, rows: usize) -> Result<RecordBatch, engine::Error> {
        let (mut parts, mut wanted) = (Vec::new(), rows);
        while wanted > 0
            && let Some(part) = self.parts.pop_front()
        {
            let count = part.num_rows().min(wanted);
            if count < part.num_rows() {
                self.parts.push_front(part.slice(count, part.num_rows() - count));
            }
            parts.push(part.slice(0, count));
            wanted -= count;
        }
        self.rows -= rows;
        let internal = |error: &dyn std::fmt::Display| engine::Error::new(engine::Kind::Internal, error.to_string());
        match parts.as_slice() {
            [] => Err(internal(&"rows are counted that are not there")),
            [one] => Ok(one.clone()),
            [first, ..] => concat_batches(first.schema_ref(), &parts).map_err(|error| internal(&error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::Arc;

    use arrow::array::{ArrayRef, AsArray, Int64Array};
    use arrow::datatypes::Int64Type;

    use super::*;

    fn numbers(range: Range<i64>) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
        RecordBatch::try_from_iter([("n", column)]).unwrap()
    }

    /// The numbers of all batches that are made of these, each with its own.
    fn made(parts: &[Range<i64>]) -> Vec<Vec<i64>> {
        let mut even = EvenBatches::default();
        let mut batches = Vec::new();
        for part in parts {
            even.add(numbers(part.clone()));
            while let Some(full) = even.full() {
                batches.push(full.unwrap());
            }
        }
        batches.extend(even.last().map(Result::unwrap));
        assert!(even.last().is_none() && even.parts.is_empty());
        batches.iter().map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
    }

    #[test]
    fn batches_are_of_one_size_however_their_rows_come() {
        let whole: Range<i64> = 0..5_000;
        let expected = made(std::slice::from_ref(&whole));
        assert_eq!(expected.iter().map(Vec::len).collect::<Vec<_>>(), [2_048, 2_048, 904]);
        assert_eq!(expected.concat(), (0..5_000).collect::<Vec<_>>());
        assert_eq!(made(&[0..1, 1..2_047, 2_047..2_049, 2_049..4_000, 4_000..5_000]), expected);
        assert_eq!(made(&[0..2_048, 2_048..4_096, 4_096..5_000]), expected);
        assert_eq!(made(&[0..0, 0..3, 3..3]), [[0, 1, 2]]);
        assert_eq!(made(&[0..2_000, 2_000..2_048]).len(), 1);
        assert!(made(&[0..0, 0..0]).is_empty());
    }
}
