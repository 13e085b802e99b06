//! Rows as the child has sent them: one message of Arrow IPC, which may be sent on as it is.
//!
//! It is offered only once its rows were read out of it, which checks each of their values. Its bytes are ours by then, and
//! nobody changes them. Where its parts are is told by lengths that were checked.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::ipc::reader::read_record_batch;
use arrow::ipc::{Message, MessageHeader, root_as_message};
use bytes::Bytes;

/// What a message of a stream begins with: a mark, and the length of its metadata.
pub(crate) const PREFIX_BYTES: usize = 8;
/// Four of these are the mark.
pub(crate) const MARK: u8 = 0xff;
/// The end mark of a stream.
pub(crate) const STREAM_END: [u8; PREFIX_BYTES] = [MARK, MARK, MARK, MARK, 0, 0, 0, 0];

/// The beginning of an answer is no longer that is kept for the next one: each session keeps one.
pub(crate) const KEPT_BEGIN_BYTES: usize = 64 << 10;

/// The message of a stream that a batch of rows came as.
#[derive(Debug, Clone)]
pub struct RowMessage {
    whole: Bytes,
    metadata_ends: usize,
}

impl RowMessage {
    /// The one message that these bytes are; none where they are more, or less, or no rows.
    pub(crate) fn of(whole: Bytes) -> Option<Self> {
        let (_, metadata_ends) = message_of(&whole)?;
        Some(Self { whole, metadata_ends })
    }

    /// As it stands in a stream.
    pub fn whole(&self) -> Bytes {
        self.whole.clone()
    }

    /// What says where each column is in the body.
    pub fn metadata(&self) -> Bytes {
        self.whole.slice(PREFIX_BYTES..self.metadata_ends)
    }

    /// The values.
    pub fn body(&self) -> Bytes {
        self.whole.slice(self.metadata_ends..)
    }
}

/// The one message that these bytes are, and where its metadata ends; none where they are more, or less, or no rows.
fn message_of(whole: &[u8]) -> Option<(Message<'_>, usize)> {
    let (prefix, _) = whole.split_first_chunk::<PREFIX_BYTES>()?;
    let [MARK, MARK, MARK, MARK, a, b, c, d] = *prefix else { return None };
    let length = usize::try_from(u32::from_le_bytes([a, b, c, d])).ok()?;
    let metadata_ends = PREFIX_BYTES.checked_add(length)?;
    let message = root_as_message(whole.get(PREFIX_BYTES..metadata_ends)?).ok()?;
    let body = usize::try_from(message.bodyLength()).ok()?;
    let is_rows = message.header_type() == MessageHeader::RecordBatch;
    let is_whole = is_rows && metadata_ends.checked_add(body) == Some(whole.len());
    is_whole.then_some((message, metadata_ends))
}

/// The rows of the one message that these bytes are, read as a decoder of the stream would; none where they cannot be.
pub(crate) fn read_rows(whole: &Bytes, schema: &SchemaRef) -> Option<RecordBatch> {
    let (message, metadata_ends) = message_of(whole)?;
    let (rows, body) = (message.header_as_record_batch()?, Buffer::from(whole.slice(metadata_ends..)));
    read_record_batch(&body, rows, Arc::clone(schema), &HashMap::new(), None, &message.version()).ok()
}

/// Whether rows of these columns are one message: a dictionary would be another before it.
pub(crate) fn are_single(schema: &Schema) -> bool {
    schema.fields().iter().all(|field| is_single(field.data_type()))
}

fn is_single(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => is_single(item.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| is_single(field.data_type())),
        DataType::Null
        | DataType::Boolean
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::FixedSizeBinary(_) => true,
        other => other.is_primitive(),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};
    use arrow::ipc::reader::StreamDecoder;
    use arrow::ipc::writer::StreamWriter;

    use super::*;

    /// A stream of two equal batches, and where its parts begin.
    fn stream() -> (RecordBatch, Bytes, [usize; 3]) {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
        let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        let mut begins = [writer.get_ref().len(), 0, 0];
        for begin in begins.iter_mut().skip(1) {
            writer.write(&batch).unwrap();
            *begin = writer.get_ref().len();
        }
        (batch, writer.into_inner().unwrap().into(), begins)
    }

    #[test]
    fn a_message_is_one_of_rows_and_whole() {
        let (batch, bytes, [first, second, end]) = stream();
        let message = RowMessage::of(bytes.slice(first..second)).unwrap();
        assert_eq!(message.metadata().len() + message.body().len() + PREFIX_BYTES, second - first);
        let mut decoder = StreamDecoder::new();
        assert!(decoder.decode(&mut Buffer::from(bytes.slice(..first))).unwrap().is_none());
        assert_eq!(decoder.decode(&mut Buffer::from(message.whole())).unwrap().unwrap(), batch);
        assert_eq!(read_rows(&message.whole(), batch.schema_ref()).unwrap(), batch);
        for other in [0..first, first..second - 1, first..second + 1, first..end, first + 8..second, 0..0] {
            assert!(RowMessage::of(bytes.slice(other.clone())).is_none(), "{other:?}");
        }
    }

    #[test]
    fn rows_with_a_dictionary_are_several_messages() {
        let words = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let list = |item: DataType| DataType::new_list(item, true);
        assert!(is_single(&list(DataType::Utf8)) && is_single(&DataType::Decimal128(38, 0)));
        assert!(!is_single(&words) && !is_single(&DataType::Utf8View) && !is_single(&list(words)));
    }
}
