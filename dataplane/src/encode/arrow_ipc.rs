//! Rows as an Arrow IPC stream, piece by piece.

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;
use bytes::Bytes;
use engine::RowMessage;

pub const CONTENT_TYPE: &str = "application/vnd.apache.arrow.stream";

/// Makes the stream; what has been made is taken out after each step.
pub struct Encoder(StreamWriter<Vec<u8>>);

impl Encoder {
    pub fn new(schema: &Schema) -> Result<Self, ArrowError> {
        Ok(Self(StreamWriter::try_new(Vec::new(), schema)?))
    }

    pub fn add(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.0.write(batch)
    }

    /// The mark that tells a whole stream from one that broke off.
    pub fn end(&mut self) -> Result<(), ArrowError> {
        self.0.finish()
    }

    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.0.get_mut())
    }

    /// What was made and not taken yet, and a message of rows behind it that needs no encoding.
    pub fn with(&mut self, message: &RowMessage) -> Bytes {
        let mut made = self.take();
        if made.is_empty() {
            return message.whole();
        }
        made.extend_from_slice(&message.whole());
        made.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int64Array};
    use arrow::ipc::reader::StreamReader;
    use std::sync::Arc;

    #[test]
    fn the_pieces_are_one_stream() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
        let mut encoder = Encoder::new(&batch.schema()).unwrap();
        let mut whole = encoder.take();
        for _ in 0..2 {
            encoder.add(&batch).unwrap();
            whole.extend(encoder.take());
        }
        encoder.end().unwrap();
        whole.extend(encoder.take());
        let read: Vec<_> = StreamReader::try_new(whole.as_slice(), None).unwrap().map(Result::unwrap).collect();
        assert_eq!(read, [batch.clone(), batch]);
    }
}
