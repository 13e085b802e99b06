//! A stream of Arrow, or its file, as it comes: read message by message, and written again as Parquet.
//!
//! Arrow's own reader validates each message. Nothing is held of the file but one message, its dictionaries, and the
//! rows that are not yet written. Values that are small only while they are shared are spread out a piece at a time.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::buffer::Buffer;
use arrow::compute::{CastOptions, cast_with_options, take};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::errors::ParquetError;

use super::incoming::refused;
use crate::Error;
use crate::protocols::agents::flight::{ByteBudget, FlightColumns, IngestFields, MESSAGE_BYTES_MAX};

/// The first bytes of a file; a stream follows them.
const MAGIC: &[u8] = b"ARROW1\0\0";
/// Between them and the stream, as often as a writer likes; no message begins so.
const PADDING: [u8; 8] = [0; 8];
/// Of a stream that has dictionaries: they are held to its end.
const KEYED_BYTES_MAX: usize = 64 << 20;
/// Bytes that are read at once before the schema is known.
const FIRST_BYTES: usize = 1 << 10;
/// Written at once.
const ROWS_MAX: usize = 20_000;
const ROW_BYTES_MAX: usize = 4 << 20;
/// Held for a row group.
const GROUP_BYTES: usize = 32 << 20;

/// The rows of a stream on their way into Parquet.
#[derive(Default)]
pub struct ArrowRows {
    decoder: StreamDecoder,
    /// Bytes that have come and are not read.
    input: Buffer,
    /// Whether it is a file, as soon as that can be told.
    is_file: Option<bool>,
    /// Its last message has been read.
    is_ended: bool,
    /// Bytes that were read, and those of them since the last batch.
    read: usize,
    since_batch: usize,
    table: Option<ParquetTable>,
    /// A batch, and how many of its rows are written.
    batch: Option<(RecordBatch, usize)>,
    rows: u64,
}

impl ArrowRows {
    /// Rows that were written.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// More of the file.
    pub fn take(&mut self, bytes: Vec<u8>) {
        self.input = if self.input.is_empty() {
            Buffer::from_vec(bytes)
        } else {
            Buffer::from_vec([self.input.as_slice(), &bytes].concat())
        };
    }

    /// Reads and writes a piece; whether there may be another in what has come.
    pub fn turn(&mut self) -> Result<bool, Error> {
        if let Some((batch, taken)) = self.batch.take() {
            return self.write(batch, taken).map(|()| true);
        }
        if self.is_file.is_none() {
            if self.input.len() < MAGIC.len() {
                return Ok(false);
            }
            let is_file = self.input.starts_with(MAGIC);
            if is_file {
                self.input.advance(MAGIC.len());
            }
            self.is_file = Some(is_file);
        }
        if self.is_file == Some(true) && self.read == 0 {
            // writers fill up the first bytes to their alignment
            while self.input.starts_with(&PADDING) {
                self.input.advance(PADDING.len());
            }
            if self.input.len() < PADDING.len() {
                return Ok(false);
            }
        }
        if self.is_ended {
            self.input = Buffer::default(); // a file's footer
        }
        if self.input.is_empty() {
            return Ok(false);
        }
        self.read_on()?;
        Ok(true)
    }

    /// Reads up to the end of a batch, or of what has come.
    fn read_on(&mut self) -> Result<(), Error> {
        let most = if self.table.is_some() { self.input.len() } else { FIRST_BYTES.min(self.input.len()) };
        let mut piece = self.input.slice_with_length(0, most);
        let batch = match self.decoder.decode(&mut piece) {
            Ok(batch) => batch,
            // It is at its end, and there are bytes behind it.
            Err(_) if self.decoder.finish().is_ok() => {
                self.is_ended = true;
                return if self.is_file == Some(true) { Ok(()) } else { Err(refused("bytes follow the Arrow stream")) };
            }
            Err(error) => return Err(unreadable(&error)),
        };
        let read = most - piece.len();
        self.input.advance(read);
        self.read = self.read.saturating_add(read);
        self.since_batch = self.since_batch.saturating_add(read);
        if self.since_batch > MESSAGE_BYTES_MAX {
            let most = MESSAGE_BYTES_MAX >> 20;
            return Err(refused(format!("a batch of Arrow has at most {most} MiB: write smaller batches")));
        }
        if self.table.is_none() {
            self.table = self.decoder.schema().map(|schema| ParquetTable::of(&schema)).transpose()?;
        }
        if self.read > KEYED_BYTES_MAX && self.table.as_ref().is_some_and(|table| table.is_keyed) {
            let most = KEYED_BYTES_MAX >> 20;
            return Err(refused(format!("a stream with dictionaries has at most {most} MiB: write plain columns")));
        }
        if let Some(batch) = batch {
            // A row takes a bit at least.
            if batch.num_rows() / 8 > self.since_batch {
                return Err(refused("a batch of Arrow has more rows than its bytes can hold"));
            }
            self.since_batch = 0;
            self.batch = Some((batch, 0));
        }
        Ok(())
    }

    fn write(&mut self, batch: RecordBatch, taken: usize) -> Result<(), Error> {
        let Some(table) = &mut self.table else { return Err(refused("the Arrow stream has no schema")) };
        let left = batch.num_rows().saturating_sub(taken).min(ROWS_MAX);
        if left == 0 {
            return Ok(());
        }
        let piece = batch.slice(taken, left);
        let fit = table.fit(&piece)?;
        if fit == 0 {
            let (number, most) = (self.rows + 1, ROW_BYTES_MAX >> 20);
            return Err(refused(format!("row {number} is larger than {most} MiB")));
        }
        table.write(&piece.slice(0, fit))?;
        self.rows += u64::try_from(fit).unwrap_or(u64::MAX);
        self.batch = Some((batch, taken + fit));
        Ok(())
    }

    /// The bytes of Parquet that are ready.
    pub fn written(&mut self) -> Vec<u8> {
        self.table.as_mut().map(|table| std::mem::take(table.writer.inner_mut())).unwrap_or_default()
    }

    /// The last bytes of Parquet. All that has come is written.
    pub fn end(&mut self) -> Result<Vec<u8>, Error> {
        let is_whole = self.decoder.finish().is_ok() && (self.is_ended || self.is_file == Some(false));
        match self.table.take() {
            Some(table) if is_whole => table.writer.into_inner().map_err(|error| unwritten(&error)),
            Some(_) => Err(refused("the Arrow stream breaks off before its end")),
            None => Err(refused("the body is no Arrow stream")),
        }
    }
}

/// The file that the rows are written to.
struct ParquetTable {
    schema: SchemaRef,
    writer: ArrowWriter<Vec<u8>>,
    /// The places of columns whose values are measured: they may be larger than the bytes that they came in.
    measured: Vec<usize>,
    is_keyed: bool,
}

impl ParquetTable {
    fn of(schema: &Schema) -> Result<Self, Error> {
        // What an ingest of Flight refuses is refused here, too.
        IngestFields::of(schema)?.declared()?;
        let fields = schema.fields().iter().map(|field| {
            let kind = kept(field.data_type()).ok_or_else(|| {
                refused(format!("column {} of type {} cannot be written", field.name(), field.data_type()))
            })?;
            Ok::<_, Error>(Field::new(field.name(), kind, true))
        });
        let written = Arc::new(Schema::new(fields.collect::<Result<Vec<_>, Error>>()?));
        let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(Vec::new(), Arc::clone(&written), options);
        let measured = schema.fields().iter().enumerate().filter(|(_, field)| is_shared(field.data_type()));
        Ok(Self {
            schema: written,
            writer: writer.map_err(|error| unwritten(&error))?,
            measured: measured.map(|(place, _)| place).collect(),
            is_keyed: schema.fields().iter().any(|field| matches!(field.data_type(), DataType::Dictionary(..))),
        })
    }

    /// How many of the first rows may be spread out at once.
    fn fit(&self, piece: &RecordBatch) -> Result<usize, Error> {
        if self.measured.is_empty() {
            return Ok(piece.num_rows());
        }
        let measured = piece.project(&self.measured).map_err(|error| unreadable(&error))?;
        let columns =
            FlightColumns::of(&measured).map_err(|_| refused("a value of the Arrow stream cannot be read"))?;
        let mut budget = ByteBudget(ROW_BYTES_MAX);
        Ok((0..columns.rows()).take_while(|row| columns.row(*row, &mut budget).is_ok()).count())
    }

    fn write(&mut self, piece: &RecordBatch) -> Result<(), Error> {
        let columns = piece.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| spread(column, field.data_type())).collect::<Result<Vec<_>, _>>();
        let rows = columns.and_then(|columns| RecordBatch::try_new(Arc::clone(&self.schema), columns));
        self.writer.write(&rows.map_err(|error| unreadable(&error))?).map_err(|error| unwritten(&error))?;
        if self.writer.memory_size() > GROUP_BYTES {
            self.writer.flush().map_err(|error| unwritten(&error))?;
        }
        Ok(())
    }
}

/// A column without its dictionary, in the type that it is written as. A value that does not fit is an error, not NULL.
fn spread(column: &ArrayRef, kind: &DataType) -> Result<ArrayRef, ArrowError> {
    let plain = match column.as_any_dictionary_opt() {
        Some(keyed) => take(keyed.values(), keyed.keys(), None)?,
        None => Arc::clone(column),
    };
    if plain.data_type() == kind {
        return Ok(plain);
    }
    cast_with_options(&plain, kind, &CastOptions { safe: false, ..CastOptions::default() })
}

/// The type that a column is written as: one that Parquet has; none for what is not taken.
fn kept(kind: &DataType) -> Option<DataType> {
    Some(match kind {
        DataType::Dictionary(_, item) if is_shared(item) || matches!(**item, DataType::FixedSizeBinary(_)) => {
            return None;
        }
        DataType::Dictionary(_, item) => kept(item)?,
        DataType::Duration(_) | DataType::Interval(_) => return None,
        DataType::FixedSizeBinary(size) | DataType::FixedSizeList(_, size) if *size <= 0 => return None,
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Date64 => DataType::Date32,
        other => other.clone(),
    })
}

/// Whether values of the type may share their bytes, or take next to none.
fn is_shared(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, item) => {
            matches!(**item, DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary)
        }
        other => other.is_nested() || matches!(other, DataType::Utf8View | DataType::BinaryView),
    }
}

fn unreadable(error: &ArrowError) -> Error {
    refused(format!("the Arrow stream cannot be read: {error}"))
}

fn unwritten(error: &ParquetError) -> Error {
    refused(format!("the rows of the Arrow stream cannot be written: {error}"))
}
