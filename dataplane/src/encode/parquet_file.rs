//! Rows as a Parquet file, piece by piece; columns are encoded side by side.
//!
//! Numbers, texts, blobs, dates, times, lists, structs and maps have Parquet's own types, and a DECIMAL keeps its digits. A
//! TIMESTAMP is of its unit, with a time zone in UTC and without one local. VARIANT and JSON are the text of the JSON. An
//! interval has months, days and nanoseconds, which Parquet has no type for; it is refused.

mod column_forms;

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;

use super::batch_bytes::batch_bytes;
use super::column::Column;

pub use column_forms::ColumnForms;

pub const CONTENT_TYPE: &str = "application/vnd.apache.parquet";

/// A row group is held in memory until it is whole, so it ends at the first of these.
const GROUP_ROWS: usize = 122_880;
const GROUP_BYTES: usize = 16 << 20;
/// Bytes of rows that are encoded together: fewer would not be worth a thread.
const TOGETHER_BYTES: usize = 4 << 20;
const THREADS_MAX: usize = 4;

/// Makes the file; the bytes that have been made are taken out after each step.
#[derive(Debug)]
pub struct ParquetEncoder {
    writer: SerializedFileWriter<Vec<u8>>,
    schema: SchemaRef,
    forms: ColumnForms,
    groups: ArrowRowGroupWriterFactory,
    /// For each column those of its leaves in the row group that is not whole; none before its first rows are encoded.
    columns: Vec<Vec<ArrowColumnWriter>>,
    rows: usize,
    /// Rows of it that are not encoded yet, and their bytes.
    waiting: Vec<RecordBatch>,
    held_bytes: usize,
}

impl ParquetEncoder {
    pub fn new(schema: SchemaRef, is_compressed: bool) -> Result<Self, ParquetError> {
        let compression = if is_compressed { Compression::SNAPPY } else { Compression::UNCOMPRESSED };
        Self::behind(ColumnForms::new(schema, compression))
    }

    /// Of a file that comes behind another one, whose columns have shown how they are written.
    pub fn behind(forms: ColumnForms) -> Result<Self, ParquetError> {
        let schema = forms.schema();
        let writer = ArrowWriter::try_new(Vec::new(), SchemaRef::clone(&schema), Some(forms.properties()))?;
        let (writer, groups) = writer.into_serialized_writer()?;
        Ok(Self { writer, schema, forms, groups, columns: Vec::new(), rows: 0, waiting: Vec::new(), held_bytes: 0 })
    }

    pub fn add(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        self.waiting.push(batch.clone());
        self.held_bytes = self.held_bytes.saturating_add(batch_bytes(batch));
        self.rows += batch.num_rows();
        if self.held_bytes >= TOGETHER_BYTES {
            self.encode()?;
        }
        if self.rows >= GROUP_ROWS || self.encoded_bytes() >= GROUP_BYTES {
            self.end_group()?;
        }
        Ok(())
    }

    /// Those of the row group that is not whole.
    fn encoded_bytes(&self) -> usize {
        self.columns.iter().flatten().map(ArrowColumnWriter::get_estimated_total_bytes).sum()
    }

    /// Encodes the rows that wait, each column on one of some threads.
    fn encode(&mut self) -> Result<(), ParquetError> {
        if self.columns.is_empty() {
            self.columns = self.writers_of_group()?;
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.held_bytes = 0;
        let columns = self.columns.iter_mut().zip(self.schema.fields()).enumerate();
        let mut work: Vec<_> = columns
            .map(|(place, (writers, field))| {
                let arrays: Vec<ArrayRef> =
                    waiting.iter().filter_map(|batch| batch.columns().get(place).cloned()).collect();
                (writers, field, arrays)
            })
            .collect();
        work.sort_by_cached_key(|(_, _, arrays)| Reverse(weight(arrays))); // the largest one begins first
        side_by_side(work, |(writers, field, arrays)| written(writers, field, &arrays)).map(drop)
    }

    /// Those of a new row group.
    fn writers_of_group(&self) -> Result<Vec<Vec<ArrowColumnWriter>>, ParquetError> {
        let schema = self.writer.schema_descr();
        let mut columns: Vec<Vec<ArrowColumnWriter>> = self.schema.fields().iter().map(|_| Vec::new()).collect();
        let leaves = self.groups.create_column_writers(self.writer.flushed_row_groups().len())?;
        for (leaf, writer) in leaves.into_iter().enumerate() {
            let column = columns.get_mut(schema.get_column_root_idx(leaf));
            column.ok_or_else(|| ParquetError::General("a leaf is of no column".to_owned()))?.push(writer);
        }
        Ok(columns)
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        self.encode()?;
        let columns: Vec<_> = self.columns.drain(..).flatten().enumerate().collect();
        // which compresses the last pages, and the dictionaries
        let mut chunks = side_by_side(columns, |(place, column)| Ok((place, column.close()?)))?;
        chunks.sort_by_key(|(place, _)| *place);
        let mut group = self.writer.next_row_group()?;
        for (_, chunk) in chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        let shown = group.close()?;
        if let Some(groups) = self.forms.behind(&shown)? {
            self.groups = groups;
        }
        self.rows = 0;
        Ok(())
    }

    /// About how many bytes there will be of the rows that came since the last were taken out.
    pub fn waiting_bytes(&self) -> usize {
        self.held_bytes.saturating_add(self.writer.inner().len() + self.encoded_bytes())
    }

    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.writer.inner_mut())
    }

    /// The last bytes, which tell a whole file from one that broke off.
    pub fn end(self) -> Result<Vec<u8>, ParquetError> {
        self.end_before().map(|(bytes, _)| bytes)
    }

    /// The same of a file that another one comes behind.
    pub fn end_before(mut self) -> Result<(Vec<u8>, ColumnForms), ParquetError> {
        if self.rows > 0 {
            self.end_group()?;
        }
        Ok((self.writer.into_inner()?, self.forms))
    }
}

/// Writes the values of a column.
fn written(writers: &mut [ArrowColumnWriter], field: &Field, arrays: &[ArrayRef]) -> Result<(), ParquetError> {
    for array in arrays {
        for (leaf, writer) in compute_leaves(field, array)?.iter().zip(writers.iter_mut()) {
            writer.write(leaf)?;
        }
    }
    Ok(())
}

/// About how many bytes these are.
fn weight(arrays: &[ArrayRef]) -> usize {
    arrays.iter().map(|array| array.to_data().get_slice_memory_size().unwrap_or_default()).sum()
}

/// Does each piece of work on one of some threads, this one among them; their results are in no order.
fn side_by_side<W: Send, G: Send>(
    work: Vec<W>,
    each: impl Fn(W) -> Result<G, ParquetError> + Sync,
) -> Result<Vec<G>, ParquetError> {
    let count = engine::processors::available().map_or(1, usize::from).min(THREADS_MAX).min(work.len());
    let waiting = Mutex::new(work.into_iter());
    let some = || -> Result<Vec<G>, ParquetError> {
        let mut given = Vec::new();
        loop {
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(piece) = next else { return Ok(given) };
            given.push(each(piece)?);
        }
    };
    std::thread::scope(|scope| {
        let further = || {
            engine::processors::unbind(); // on the processor of the thread that made it, it would wait for that one
            some()
        };
        let threads: Vec<_> = (1..count).map(|_| scope.spawn(further)).collect();
        let mut given = some();
        for thread in threads {
            let broken_off = || Err(ParquetError::General("a thread of an encoder broke off".to_owned()));
            let more = thread.join().unwrap_or_else(|_| broken_off());
            given = given.and_then(|mut all| {
                all.extend(more?);
                Ok(all)
            });
        }
        given
    })
}

/// The same columns under these names, each of which may be NULL.
pub fn named(schema: &Schema, name: impl Fn(usize, &Field) -> String) -> SchemaRef {
    let fields = schema.fields().iter().enumerate();
    let renamed = |(place, field): (usize, &FieldRef)| Field::new(name(place, field), field.data_type().clone(), true);
    SchemaRef::new(Schema::new(fields.map(renamed).collect::<Vec<_>>()))
}

/// Why these columns cannot be in a Parquet file, if they cannot.
pub fn refusal(columns: &[Column], schema: &Schema) -> Option<String> {
    let place = schema.fields().iter().position(|field| !is_writable(field.data_type()))?;
    let type_name = columns.get(place).map_or("", |column| column.type_name.as_str());
    let number = place + 1;
    Some(format!("a Parquet file has no {type_name}, the type of column {number}: cast it to VARCHAR"))
}

fn is_writable(kind: &DataType) -> bool {
    match kind {
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(..)
        | DataType::Date32
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => true,
        DataType::Dictionary(_, of) => matches!(**of, DataType::Utf8 | DataType::LargeUtf8),
        DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) | DataType::Map(of, _) => {
            is_writable(of.data_type())
        }
        DataType::Struct(fields) => !fields.is_empty() && fields.iter().all(|field| is_writable(field.data_type())),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Decimal128Array, Int64Array, ListArray, StringArray, StructArray, TimestampMicrosecondArray};
    use arrow::compute::concat_batches;
    use arrow::datatypes::{Int32Type, IntervalUnit};
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;

    fn batch() -> RecordBatch {
        let decimals = Decimal128Array::from(vec![Some(i128::MAX / 10), None]).with_precision_and_scale(38, 4).unwrap();
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None]), None]);
        let moments = TimestampMicrosecondArray::from(vec![Some(-1), None]);
        let columns: [(&str, ArrayRef); 6] = [
            ("n", Arc::new(Int64Array::from(vec![Some(i64::MIN), None]))),
            ("t", Arc::new(StringArray::from(vec![Some("ü"), None]))),
            ("d", Arc::new(decimals)),
            ("l", Arc::new(list)),
            ("m", Arc::new(moments.clone())),
            ("z", Arc::new(moments.with_timezone("UTC"))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let schema = named(&batch.schema(), |_, field| field.name().clone());
        let batch = RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec()).unwrap();
        concat_batches(&schema, &vec![batch; 1024]).unwrap()
    }

    #[test]
    fn the_pieces_are_one_file_of_row_groups() {
        let batch = batch();
        for is_compressed in [false, true] {
            let mut encoder = ParquetEncoder::new(batch.schema(), is_compressed).unwrap();
            let mut whole = Vec::new();
            for _ in 0..=GROUP_ROWS / batch.num_rows() {
                encoder.add(&batch).unwrap();
                whole.extend(encoder.take());
            }
            assert!(encoder.waiting_bytes() > 0);
            whole.extend(encoder.end().unwrap());
            let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(whole)).unwrap();
            assert_eq!(reader.metadata().num_row_groups(), 2);
            let rows = usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap();
            assert_eq!(rows, GROUP_ROWS + batch.num_rows());
            let mut batches = reader.with_batch_size(batch.num_rows()).build().unwrap();
            assert_eq!(batches.next().unwrap().unwrap().columns(), batch.columns());
        }
    }

    #[test]
    fn numbers_of_which_few_come_again_have_no_dictionary() {
        let numbers = |most: i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values((0..50_000).map(|n| n % most))) };
        let batch = RecordBatch::try_from_iter([("all", numbers(50_000)), ("few", numbers(100))]).unwrap();
        let mut encoder = ParquetEncoder::new(batch.schema(), false).unwrap();
        encoder.add(&batch).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(encoder.end().unwrap())).unwrap();
        let dictionary = |place: usize| {
            let column = reader.metadata().row_group(0).column(place);
            column.data_page_offset() - column.dictionary_page_offset().unwrap()
        };
        assert!(dictionary(0) < 8 * 30_000, "{}", dictionary(0));
        assert!(dictionary(1) < 8 * 200, "{}", dictionary(1));
        let mut batches = reader.with_batch_size(batch.num_rows()).build().unwrap();
        assert_eq!(batches.next().unwrap().unwrap().columns(), batch.columns());
    }

    #[test]
    fn a_column_goes_without_what_has_shown_to_be_in_vain() {
        let rows = || (0_i64..).take(GROUP_ROWS);
        let odd: ArrayRef =
            Arc::new(Int64Array::from_iter_values(rows().map(|n| n.wrapping_mul(-7_046_029_254_386_353_131))));
        let few: ArrayRef = Arc::new(Int64Array::from_iter_values(rows().map(|n| n % 100)));
        let batch = RecordBatch::try_from_iter([("odd", odd), ("few", few)]).unwrap();
        let mut encoder = ParquetEncoder::new(batch.schema(), true).unwrap();
        for _ in 0..3 {
            encoder.add(&batch).unwrap();
        }
        let (first, forms) = encoder.end_before().unwrap();
        let mut next = ParquetEncoder::behind(forms).unwrap();
        next.add(&batch).unwrap();
        let read = |file: Vec<u8>| ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).unwrap();
        let [first, second] = [first, next.end().unwrap()].map(read);
        let told = |of: &ParquetRecordBatchReaderBuilder<Bytes>, group: usize| {
            let form = |column: usize| {
                let column = of.metadata().row_group(group).column(column);
                (column.dictionary_page_offset().is_some(), column.compression())
            };
            [form(0), form(1)]
        };
        let whole = (true, Compression::SNAPPY);
        assert_eq!(told(&first, 0), [whole; 2]);
        for (file, group) in [(&first, 1), (&first, 2), (&second, 0)] {
            assert_eq!(told(file, group), [(false, Compression::UNCOMPRESSED), whole]);
        }
        let batches = first.with_batch_size(GROUP_ROWS).build().unwrap();
        assert!(batches.map(Result::unwrap).all(|read| read.columns() == batch.columns()));
    }

    #[test]
    fn a_struct_has_a_leaf_for_each_of_its_members() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![None, Some("b")]));
        let pair = StructArray::try_from(vec![("n", Arc::clone(&numbers)), ("t", texts)]).unwrap();
        let columns: [(&str, ArrayRef); 2] = [("pair", Arc::new(pair)), ("n", numbers)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut encoder = ParquetEncoder::new(batch.schema(), true).unwrap();
        encoder.add(&batch).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(encoder.end().unwrap())).unwrap();
        assert_eq!(reader.build().unwrap().next().unwrap().unwrap().columns(), batch.columns());
    }

    #[test]
    fn a_file_of_no_rows_has_its_columns() {
        let encoder = ParquetEncoder::new(batch().schema(), true).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(encoder.end().unwrap())).unwrap();
        assert_eq!(reader.schema().fields().len(), 6);
        assert_eq!(reader.build().unwrap().count(), 0);
    }

    #[test]
    fn an_interval_has_no_type_of_parquet() {
        let interval = Arc::new(Field::new("i", DataType::Interval(IntervalUnit::MonthDayNano), true));
        let within = Field::new("s", DataType::Struct(vec![Arc::clone(&interval)].into()), true);
        let empty = Field::new("e", DataType::Struct(Vec::<Field>::new().into()), true);
        for field in [interval.as_ref().clone(), within, empty] {
            let schema = Schema::new(vec![Field::new("n", DataType::Int64, true), field]);
            assert!(refusal(&[], &schema).unwrap().contains("column 2"));
        }
        assert_eq!(refusal(&[], &batch().schema()), None);
    }
}
