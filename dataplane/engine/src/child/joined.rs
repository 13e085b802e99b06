//! Gathered batches as one message of Arrow IPC, whose values are written from where they are.
//!
//! To make one batch of several copies all their values, and to make a message of it does so again. Here only short parts
//! are copied, and what is another in the message: where texts end, and bits.

use std::mem;

use arrow::array::{Array, ArrayData, BooleanBufferBuilder, RecordBatch};
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::datatypes::DataType;
use arrow::ipc::{self, FieldNode, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder};
use flatbuffers::FlatBufferBuilder;

use super::answer::ALIGNED_BYTES;

/// A shorter part is copied, since to write it by itself takes longer.
const COPIED_BYTES: usize = 2 << 10;

/// Batches as one message.
pub struct JoinedRows {
    /// What says where each column is in the body.
    pub metadata: Vec<u8>,
    /// The body, in the order in which it is written.
    pub parts: Vec<Buffer>,
    /// How long the body is.
    pub bytes: usize,
}

impl JoinedRows {
    /// None where a column is neither of numbers, truth values nor texts, or its texts are too long for one message.
    pub fn of(batches: &[RecordBatch]) -> Option<Self> {
        let schema = batches.first()?.schema_ref();
        let mut body = MessageBody::default();
        for (index, field) in schema.fields().iter().enumerate() {
            let layout = ColumnLayout::of(field.data_type())?;
            let column = |batch: &RecordBatch| batch.columns().get(index).map(Array::to_data);
            body.column(&layout, &batches.iter().map(column).collect::<Option<Vec<_>>>()?)?;
        }
        body.ended(batches.iter().map(RecordBatch::num_rows).sum())
    }
}

/// How the values of a column lie in memory.
enum ColumnLayout {
    /// One behind the other, of so many bytes each.
    Fixed(usize),
    Bits,
    /// Bytes, and where those of each value end.
    Texts,
}

impl ColumnLayout {
    fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Boolean => Some(Self::Bits),
            DataType::Utf8 | DataType::Binary => Some(Self::Texts),
            other => other.primitive_width().map(Self::Fixed),
        }
    }
}

/// The columns of a message, as far as they are put together.
#[derive(Default)]
struct MessageBody {
    nodes: Vec<FieldNode>,
    places: Vec<ipc::Buffer>,
    parts: Vec<Buffer>,
    /// Short parts behind those.
    short: Vec<u8>,
    bytes: usize,
}

impl MessageBody {
    /// Adds a column, of which each batch has a chunk.
    fn column(&mut self, layout: &ColumnLayout, chunks: &[ArrayData]) -> Option<()> {
        let rows: usize = chunks.iter().map(ArrayData::len).sum();
        let nulls: usize = chunks.iter().map(ArrayData::null_count).sum();
        self.nodes.push(FieldNode::new(i64::try_from(rows).ok()?, i64::try_from(nulls).ok()?));
        self.buffer((nulls > 0).then(|| validity(chunks, rows)))?;
        match layout {
            ColumnLayout::Fixed(bytes) => {
                self.buffer(chunks.iter().map(|chunk| fixed(chunk, *bytes)).collect::<Option<Vec<_>>>()?)
            }
            ColumnLayout::Bits => self.buffer([bits(chunks, rows)?]),
            ColumnLayout::Texts => {
                let (ends, texts) = joined_texts(chunks, rows)?;
                self.buffer([ends])?;
                self.buffer(texts)
            }
        }
    }

    /// Adds one buffer of a column, in parts. The next one begins where buffers may.
    fn buffer(&mut self, parts: impl IntoIterator<Item = Buffer>) -> Option<()> {
        let begins = self.bytes;
        for part in parts {
            self.add(part);
        }
        let length = self.bytes - begins;
        self.places.push(ipc::Buffer::new(i64::try_from(begins).ok()?, i64::try_from(length).ok()?));
        let padding = self.bytes.next_multiple_of(ALIGNED_BYTES) - self.bytes;
        self.short.resize(self.short.len() + padding, 0);
        self.bytes += padding;
        Some(())
    }

    fn add(&mut self, part: Buffer) {
        self.bytes += part.len();
        if part.len() < COPIED_BYTES {
            self.short.extend_from_slice(part.as_slice());
        } else {
            self.set_short_apart();
            self.parts.push(part);
        }
    }

    fn set_short_apart(&mut self) {
        if !self.short.is_empty() {
            self.parts.push(Buffer::from_vec(mem::take(&mut self.short)));
        }
    }

    /// The message, as the library's own writer would have it.
    fn ended(mut self, rows: usize) -> Option<JoinedRows> {
        self.set_short_apart();
        let (rows, body_length) = (i64::try_from(rows).ok()?, i64::try_from(self.bytes).ok()?);
        let mut builder = FlatBufferBuilder::new();
        let places = builder.create_vector(&self.places);
        let nodes = builder.create_vector(&self.nodes);
        let mut record = RecordBatchBuilder::new(&mut builder);
        record.add_length(rows);
        record.add_nodes(nodes);
        record.add_buffers(places);
        let header = record.finish().as_union_value();
        let mut message = MessageBuilder::new(&mut builder);
        message.add_version(MetadataVersion::V5);
        message.add_header_type(MessageHeader::RecordBatch);
        message.add_bodyLength(body_length);
        message.add_header(header);
        let root = message.finish();
        builder.finish(root, None);
        Some(JoinedRows { metadata: builder.finished_data().to_vec(), parts: self.parts, bytes: self.bytes })
    }
}

/// Which rows have a value.
fn validity(chunks: &[ArrayData], rows: usize) -> Buffer {
    let mut joined = BooleanBufferBuilder::new(rows);
    for chunk in chunks {
        match chunk.nulls() {
            Some(nulls) => joined.append_buffer(nulls.inner()),
            None => joined.append_n(chunk.len(), true),
        }
    }
    joined.finish().into_inner()
}

fn bits(chunks: &[ArrayData], rows: usize) -> Option<Buffer> {
    let mut joined = BooleanBufferBuilder::new(rows);
    for chunk in chunks {
        joined.append_buffer(&BooleanBuffer::new(chunk.buffers().first()?.clone(), chunk.offset(), chunk.len()));
    }
    Some(joined.finish().into_inner())
}

fn fixed(chunk: &ArrayData, bytes: usize) -> Option<Buffer> {
    let values = chunk.buffers().first()?;
    let (from, length) = (chunk.offset().checked_mul(bytes)?, chunk.len().checked_mul(bytes)?);
    let is_whole = from.checked_add(length)? <= values.len();
    is_whole.then(|| values.slice_with_length(from, length))
}

/// Where the texts end in all of them, and those of each chunk.
fn joined_texts(chunks: &[ArrayData], rows: usize) -> Option<(Buffer, Vec<Buffer>)> {
    let mut ends: Vec<i32> = Vec::with_capacity(rows + 1);
    ends.push(0);
    let mut texts = Vec::with_capacity(chunks.len());
    let mut written = 0_i32;
    for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
        let (first, rest) = chunk.buffer::<i32>(0).get(..=chunk.len())?.split_first()?;
        let length = rest.last()?.checked_sub(*first)?;
        let shift = written.checked_sub(*first)?;
        written = written.checked_add(length)?;
        ends.extend(rest.iter().map(|end| end + shift));
        let (from, length) = (usize::try_from(*first).ok()?, usize::try_from(length).ok()?);
        let bytes = chunk.buffers().get(1)?;
        if from.checked_add(length)? > bytes.len() {
            return None;
        }
        texts.push(bytes.slice_with_length(from, length));
    }
    Some((Buffer::from_vec(ends), texts))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Int16Array, Int64Array, StringArray};
    use arrow::compute::concat_batches;
    use arrow::ipc::writer::{CompressionContext, DictionaryTracker, IpcDataGenerator, IpcWriteOptions};

    use super::*;

    /// Every layout of values, with a null in each third row where there are nulls.
    fn batch(from: i64, to: i64, has_nulls: bool) -> RecordBatch {
        let some = |n: i64| !has_nulls || n % 3 > 0;
        let rows = || from..to;
        let columns: [(&str, ArrayRef); 6] = [
            ("long", Arc::new(rows().map(|n| some(n).then_some(n)).collect::<Int64Array>())),
            (
                "short",
                Arc::new(rows().map(|n| some(n).then(|| i16::try_from(n % 99).unwrap())).collect::<Int16Array>()),
            ),
            ("wide", Arc::new(rows().map(|n| some(n).then(|| i128::from(n) << 70)).collect::<Decimal128Array>())),
            ("truth", Arc::new(rows().map(|n| some(n).then_some(n % 5 == 0)).collect::<BooleanArray>())),
            ("text", Arc::new(rows().map(|n| some(n).then(|| format!("{n}ä"))).collect::<StringArray>())),
            ("bytes", Arc::new(rows().map(|n| some(n).then(|| n.to_le_bytes())).collect::<BinaryArray>())),
        ];
        // a column is said to have nulls whether or not it has some
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
    }

    #[test]
    fn joined_batches_are_the_message_that_one_batch_of_them_is() {
        let all = batch(0, 9_000, true);
        let cases = [
            vec![batch(0, 2_048, false)],
            vec![batch(0, 2_048, false), batch(0, 2_048, true), batch(5, 7, false), batch(0, 2_048, true)],
            vec![all.slice(13, 4_003), all.slice(0, 1), all.slice(4_001, 0), all.slice(8_000, 777)],
            vec![batch(0, 0, false), batch(0, 3, true)],
        ];
        for batches in cases {
            let joined = JoinedRows::of(&batches).unwrap();
            let one = concat_batches(batches[0].schema_ref(), &batches).unwrap();
            let (mut none, options) = (DictionaryTracker::new(false), IpcWriteOptions::default());
            let (_, written) = IpcDataGenerator::default()
                .encode(&one, &mut none, &options, &mut CompressionContext::default())
                .unwrap();
            let body: Vec<u8> = joined.parts.iter().flat_map(|part| part.as_slice().to_vec()).collect();
            assert_eq!((body.len(), joined.metadata), (joined.bytes, written.ipc_message));
            assert!(body == written.arrow_data, "{} batches", batches.len());
        }
    }

    #[test]
    fn rows_with_lists_and_no_rows_are_not_joined() {
        let list = arrow::array::ListArray::from_iter_primitive::<arrow::datatypes::Int32Type, _, _>([Some([Some(1)])]);
        let column: ArrayRef = Arc::new(list);
        assert!(JoinedRows::of(&[RecordBatch::try_from_iter([("l", column)]).unwrap()]).is_none());
        assert!(JoinedRows::of(&[]).is_none());
    }
}
