//! The first frame of an answer, taken apart. Answers of the same columns begin with the same bytes: of the next one of a
//! session these are not read again.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::StreamDecoder;
use bytes::Bytes;

use crate::error::Error;
use crate::message::Head;
use crate::row_message::{KEPT_BEGIN_BYTES, PREFIX_BYTES, STREAM_END, are_single, read_rows};

/// The length that stands before a head.
const LENGTH_BYTES: usize = size_of::<u32>();

/// A first frame, taken apart.
pub struct Opened {
    pub head: Head,
    pub schema: SchemaRef,
    pub decoder: Box<StreamDecoder>,
    /// Messages that are not decoded yet.
    pub pending: Buffer,
    /// The same bytes.
    pub frame: Bytes,
    pub first: Option<RecordBatch>,
}

/// How the last answer began.
pub struct LastHead {
    /// The head with its length, and the message of the columns.
    begin: Box<[u8]>,
    head: Head,
    schema: SchemaRef,
}

impl Opened {
    pub fn read(payload: &Bytes) -> Result<Self, Error> {
        let short = || Error::internal("a head that is cut short");
        let (length, rest) = payload.split_first_chunk::<LENGTH_BYTES>().ok_or_else(short)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(Error::internal)?;
        let head = serde_json::from_slice(rest.get(..length).ok_or_else(short)?).map_err(Error::internal)?;
        let rest = payload.slice(LENGTH_BYTES + length..);
        let mut pending = Buffer::from(rest.clone());
        let mut decoder = Box::new(StreamDecoder::new());
        let first = decoder.decode(&mut pending).map_err(Error::internal)?;
        let schema = decoder.schema().ok_or_else(short)?;
        let frame = rest.slice(rest.len() - pending.len()..);
        Ok(Self { head, schema, decoder, pending, frame, first })
    }

    /// The same, where it begins as the last one did.
    pub fn known_or_read(payload: &Bytes, last: &mut Option<LastHead>) -> Result<Self, Error> {
        if let Some(opened) = last.as_ref().and_then(|last| last.opened(payload)) {
            return Ok(opened);
        }
        let opened = Self::read(payload)?;
        *last = LastHead::of(payload, &opened);
        Ok(opened)
    }
}

impl LastHead {
    /// Of an answer that has all its rows, each batch of which is one message, and that does not begin at length.
    fn of(payload: &[u8], opened: &Opened) -> Option<Self> {
        let Opened { head, schema, .. } = opened;
        if !head.ended || !are_single(schema) {
            return None;
        }
        let (length, rest) = payload.split_first_chunk::<LENGTH_BYTES>()?;
        let of_head = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let [.., a, b, c, d] = *rest.get(of_head..)?.first_chunk::<PREFIX_BYTES>()?;
        let of_schema = usize::try_from(u32::from_le_bytes([a, b, c, d])).ok()?;
        let begin = payload.get(..LENGTH_BYTES + of_head + PREFIX_BYTES + of_schema)?;
        let is_short = begin.len() <= KEPT_BEGIN_BYTES;
        is_short.then(|| Self { begin: begin.into(), head: head.clone(), schema: Arc::clone(schema) })
    }

    /// An answer that begins so, and has no more than one batch.
    fn opened(&self, payload: &Bytes) -> Option<Opened> {
        let ends = payload.strip_prefix(&*self.begin)?.strip_suffix(&STREAM_END)?.len();
        let rows = payload.slice(self.begin.len()..self.begin.len() + ends);
        let first = if rows.is_empty() { None } else { Some(read_rows(&rows, &self.schema)?) };
        let (head, schema) = (self.head.clone(), Arc::clone(&self.schema));
        Some(Opened { head, schema, decoder: Box::default(), pending: Buffer::default(), frame: Bytes::new(), first })
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, StringArray};
    use arrow::ipc::writer::StreamWriter;

    use super::*;
    use crate::message::Column;

    /// The answer with these batches.
    fn payload(name: &str, batches: &[RecordBatch]) -> Bytes {
        let column = Column { name: name.to_owned(), type_name: "BIGINT".to_owned(), nullable: true };
        let head = Head { columns: vec![column], ended: true, returning: false, resets: true, plan: None };
        let head = serde_json::to_vec(&head).unwrap();
        let mut payload = u32::try_from(head.len()).unwrap().to_le_bytes().to_vec();
        payload.extend(head);
        let mut writer = StreamWriter::try_new(payload, &batches[0].schema()).unwrap();
        batches.iter().filter(|batch| batch.num_rows() > 0).for_each(|batch| writer.write(batch).unwrap());
        writer.into_inner().unwrap().into()
    }

    fn numbers(name: &str, numbers: Vec<Option<i64>>) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from(numbers));
        RecordBatch::try_from_iter_with_nullable([(name, column, true)]).unwrap()
    }

    #[test]
    fn an_answer_is_the_same_whether_or_not_its_beginning_is_known() {
        let mut last = None;
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
        let texts = RecordBatch::try_from_iter_with_nullable([("a", texts, true)]).unwrap();
        for (batches, is_known) in [
            (vec![numbers("a", vec![Some(1)])], false),
            (vec![numbers("a", vec![Some(2), None])], true),
            (vec![numbers("a", Vec::new())], true),
            (vec![numbers("a", vec![Some(3)]), numbers("a", vec![Some(4)])], false),
            (vec![numbers("b", vec![Some(5)])], false),
            (vec![texts], false),
            (vec![numbers("a", vec![Some(6)])], false),
        ] {
            let payload = payload(batches[0].schema().field(0).name(), &batches);
            let known = last.as_ref().and_then(|last: &LastHead| last.opened(&payload));
            assert_eq!(known.is_some(), is_known, "{batches:?}");
            let opened = Opened::known_or_read(&payload, &mut last).unwrap();
            let read = Opened::read(&payload).unwrap();
            assert_eq!((&opened.first, &opened.schema), (&read.first, &read.schema));
            assert_eq!(opened.head.columns, read.head.columns);
        }
    }

    #[test]
    fn of_an_answer_that_begins_at_length_nothing_is_kept() {
        let name = "a".repeat(KEPT_BEGIN_BYTES);
        let long = payload(&name, &[numbers(&name, vec![Some(1)])]);
        let mut last = None;
        Opened::known_or_read(&payload("a", &[numbers("a", vec![Some(1)])]), &mut last).unwrap();
        assert!(last.is_some());
        assert!(Opened::known_or_read(&long, &mut last).unwrap().first.is_some());
        assert!(last.is_none());
    }

    #[test]
    fn what_is_cut_short_is_read_as_if_nothing_was_known() {
        let whole = payload("a", &[numbers("a", vec![Some(1)])]);
        let mut last = None;
        Opened::known_or_read(&whole, &mut last).unwrap();
        let last = last.unwrap();
        assert!(last.opened(&whole).is_some());
        for length in 0..whole.len() {
            assert!(last.opened(&whole.slice(..length)).is_none(), "{length}");
        }
    }
}
