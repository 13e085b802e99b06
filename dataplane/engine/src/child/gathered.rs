//! Rows that leave together: as one batch, since each batch costs whoever reads it, and with no copy more than that needs.
//! Of plain columns none is made (`joined`).

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::compute::concat_batches;
use arrow::ipc::writer::{CompressionContext, DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteOptions};

use super::answer::{ALIGNED_BYTES, fits, too_wide};
use super::joined::JoinedRows;
use crate::error::Error;
use crate::frame::{HEADER_BYTES, Outgoing, RESPONSE_MAX_BYTES};
use crate::message::kind;
use crate::row_message::{MARK, PREFIX_BYTES};

/// Rows that wait to be sent.
pub struct GatheredRows {
    batches: Vec<RecordBatch>,
    bytes: usize,
    /// Of the longest batch.
    longest: usize,
    /// The rows of a batch are one message.
    are_single: bool,
}

/// Rows that are sent now.
pub enum SentRows {
    Joined(JoinedRows),
    One(RecordBatch),
    Several(Vec<RecordBatch>),
}

impl GatheredRows {
    pub fn new(are_single: bool) -> Self {
        Self { batches: Vec::new(), bytes: 0, longest: 0, are_single }
    }

    /// About how many there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Refuses rows with a number that cannot be sent.
    pub fn add(&mut self, batch: RecordBatch) -> Result<(), Error> {
        batch.columns().iter().try_for_each(|column| fits(column))?;
        let bytes = batch.get_array_memory_size();
        self.bytes += bytes;
        self.longest = self.longest.max(bytes);
        self.batches.push(batch);
        Ok(())
    }

    /// All of them. Batches longer than `longest_max` stay apart: one column may have no room for the texts of two.
    pub fn taken(&mut self, longest_max: usize) -> SentRows {
        let emptied = Self::new(self.are_single);
        let Self { batches, longest, are_single, .. } = std::mem::replace(self, emptied);
        let [first, others @ ..] = batches.as_slice() else { return SentRows::Several(batches) };
        if !are_single || (!others.is_empty() && longest > longest_max) {
            return SentRows::Several(batches);
        }
        if let Some(joined) = JoinedRows::of(&batches) {
            return SentRows::Joined(joined);
        }
        concat_batches(first.schema_ref(), &batches).map_or(SentRows::Several(batches), SentRows::One)
    }
}

impl JoinedRows {
    /// The frame of them: all that stands before their values, and these.
    pub fn framed(self) -> Result<(Vec<u8>, Vec<Buffer>), Error> {
        Ok((head(&self.metadata, self.bytes)?, self.parts))
    }
}

/// The frame of rows that are one message: all that stands before their values, and these.
pub fn framed(batch: &RecordBatch) -> Result<(Vec<u8>, Vec<Buffer>), Error> {
    let (mut none, options) = (DictionaryTracker::new(false), IpcWriteOptions::default());
    let encoded = IpcDataGenerator::default().encode(batch, &mut none, &options, &mut CompressionContext::default());
    let (_, EncodedData { ipc_message, arrow_data }) = encoded.map_err(Error::internal)?;
    Ok((head(&ipc_message, arrow_data.len())?, vec![Buffer::from_vec(arrow_data)]))
}

/// What stands in a frame before a body of so many bytes.
fn head(metadata: &[u8], body_bytes: usize) -> Result<Vec<u8>, Error> {
    let begins = (PREFIX_BYTES + metadata.len()).next_multiple_of(ALIGNED_BYTES);
    let length = u32::try_from(begins - PREFIX_BYTES).map_err(Error::internal)?;
    let mut frame = Outgoing::new(kind::ROWS);
    let head = frame.payload();
    head.extend_from_slice(&[MARK; 4]);
    head.extend_from_slice(&length.to_le_bytes());
    head.extend_from_slice(metadata);
    head.resize(HEADER_BYTES + begins, 0);
    frame.close_before(body_bytes, RESPONSE_MAX_BYTES).map_err(|e| too_wide(&e))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, NullArray, StringArray};
    use arrow::ipc::writer::StreamWriter;

    use super::*;

    fn batch(numbers: std::ops::Range<i64>) -> RecordBatch {
        let texts: ArrayRef =
            Arc::new(numbers.clone().map(|n| (n % 3 > 0).then(|| n.to_string())).collect::<StringArray>());
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
        RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()
    }

    #[test]
    fn a_frame_is_what_a_stream_has_of_the_rows() {
        let rows = batch(0..1_000);
        let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema()).unwrap();
        writer.get_mut().clear();
        writer.write(&rows).unwrap();
        let joined = JoinedRows::of(std::slice::from_ref(&rows)).unwrap();
        for (head, values) in [framed(&rows).unwrap(), joined.framed().unwrap()] {
            let values: Vec<&[u8]> = values.iter().map(Buffer::as_slice).collect();
            let whole = [head, values.concat()].concat();
            let (kind, payload) = crate::frame::read(&mut whole.as_slice(), RESPONSE_MAX_BYTES).unwrap().unwrap();
            assert_eq!((kind, &payload), (kind::ROWS, writer.get_ref()));
        }
    }

    #[test]
    fn rows_leave_as_one_batch_where_that_may_be() {
        let gathered = |are_single| {
            let mut gathered = GatheredRows::new(are_single);
            gathered.add(batch(0..5)).unwrap();
            gathered.add(batch(5..7)).unwrap();
            gathered
        };
        let mut rows = gathered(true);
        assert!(rows.bytes() > 0);
        let one = JoinedRows::of(&[batch(0..7)]).unwrap();
        assert!(matches!(rows.taken(1 << 20), SentRows::Joined(joined) if joined.metadata == one.metadata));
        assert!(matches!(rows.taken(1 << 20), SentRows::Several(none) if none.is_empty()));
        assert!(matches!(gathered(true).taken(1), SentRows::Several(two) if two.len() == 2));
        assert!(matches!(gathered(false).taken(1 << 20), SentRows::Several(two) if two.len() == 2));
        let nothing: ArrayRef = Arc::new(NullArray::new(3));
        let nothing = RecordBatch::try_from_iter([("nothing", nothing)]).unwrap();
        rows.add(nothing.clone()).unwrap();
        rows.add(nothing).unwrap();
        assert!(matches!(rows.taken(1 << 20), SentRows::One(one) if one.num_rows() == 6));
    }
}
