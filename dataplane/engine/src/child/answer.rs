//! Sends a statement's rows: a head, then Arrow IPC messages.
//!
//! The first rows travel with the head, and when they are all of them the statement is one frame
//! and one write. Later frames are gathered while they come fast, and leave at once when they come
//! slowly. A full socket stops the statement: that is the back-pressure.

use std::borrow::Cow;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, Schema, SchemaRef};
use arrow::ipc::writer::{
    CompressionContext, DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteOptions, write_message,
};

use super::gathered::{GatheredRows, SentRows, framed};
use crate::error::{Error, Kind};
use crate::ffi::Run;
use crate::frame::{self, HEADER_BYTES, Outgoing, RESPONSE_MAX_BYTES};
use crate::message::{Column, Head, PlanSource, kind};
use crate::row_message::{KEPT_BEGIN_BYTES, STREAM_END, are_single};
use crate::types::{Type, quoted};

/// Rows gathered before they are written.
const GATHER_BYTES: usize = 512 << 10;
/// Where a column of rows may begin in a message.
pub(super) const ALIGNED_BYTES: usize = 64;
/// How long gathered rows may wait for company.
const GATHER: Duration = Duration::from_millis(2);
/// The engine's chunk; fewer rows than this are probably all.
const CHUNK_ROWS: usize = 2048;
/// What a write may return: it is held until the transaction commits.
const RETURNED_MAX_BYTES: usize = 64 << 20;

/// How far sending came.
pub enum Sent {
    All,
    Broken(io::Error),
}

/// What is told with the first rows of a query.
#[derive(Clone, Copy)]
pub struct HeadFields {
    /// What follows makes the session as a new one.
    pub resets: bool,
    pub plan: PlanSource,
}

type Named = [(String, Type)];

pub fn columns(named: &Named) -> Vec<Column> {
    named
        .iter()
        .map(|(name, kind)| Column { name: name.clone(), type_name: kind.to_string(), nullable: true })
        .collect()
}

/// An Arrow IPC stream without rows.
pub fn empty(schema: &Schema) -> Result<Vec<u8>, Error> {
    let mut encoder = Encoder::new(schema)?;
    encoder.finish();
    Ok(encoder.made.split_off(HEADER_BYTES))
}

/// The same query with text in place of what Arrow cannot carry; none if there is nothing to do.
/// Columns are renamed by position, so that two of one name do not matter.
pub fn readable(sql: &str, named: &Named) -> Option<String> {
    if named.iter().all(|(_, kind)| kind.sent_as().is_none()) {
        return None;
    }
    let mut chosen = Vec::new();
    let mut numbered = Vec::new();
    for (index, (name, kind)) in named.iter().enumerate() {
        let column = format!("c{index}");
        chosen.push(match kind.sent_as() {
            Some(sent) => format!("cast({column} as {sent}) as {}", quoted(name)),
            None => format!("{column} as {}", quoted(name)),
        });
        numbered.push(column);
    }
    let (chosen, numbered) = (chosen.join(", "), numbered.join(", "));
    Some(format!("select {chosen} from ({sql}\n) as answer({numbered})"))
}

/// Refuses, before it runs, a write that returns what Arrow cannot carry.
pub fn sendable(named: &Named) -> Result<(), Error> {
    match named.iter().find(|(_, kind)| kind.sent_as().is_some()) {
        Some((name, kind)) => Err(Error::new(
            Kind::NotImplemented,
            format!("column {name} of type {kind} cannot be returned by a write; cast it to VARCHAR"),
        )),
        None => Ok(()),
    }
}

/// Sends rows as the engine makes them.
pub fn stream(
    (mut socket, last): (&UnixStream, &mut LastSchema),
    run: &mut Run<'_>,
    named: &Named,
    told: HeadFields,
) -> Result<Sent, Error> {
    let named = settled(run, named)?;
    let schema = run.schema()?;
    let mut encoder = last.begun(&schema)?;
    let mut frame = head_frame();
    let first = run.next()?;
    let mut ended = first.is_none();
    if let Some(batch) = first {
        encoder.add(&batch)?;
        if batch.num_rows() < CHUNK_ROWS {
            // Asking again is nearly free when these are all, and one frame instead of two.
            match run.next()? {
                Some(batch) => encoder.add(&batch)?,
                None => ended = true,
            }
        }
    }
    if ended {
        encoder.finish();
    }
    let head = Head { columns: columns(&named), ended, returning: false, resets: told.resets, plan: Some(told.plan) };
    write_head(&mut frame, &head)?;
    encoder.drain_into(&mut frame);
    let bytes = frame.close(RESPONSE_MAX_BYTES).map_err(|e| too_wide(&e))?;
    if let Err(error) = socket.write_all(&bytes) {
        return Ok(Sent::Broken(error));
    }
    if ended { Ok(Sent::All) } else { rest(socket, run, &mut encoder, GatheredRows::new(are_single(&schema))) }
}

fn rest(
    mut socket: &UnixStream,
    run: &mut Run<'_>,
    encoder: &mut Encoder,
    mut gathered: GatheredRows,
) -> Result<Sent, Error> {
    let mut written_at = Instant::now();
    loop {
        let next = run.next()?;
        let is_last = next.is_none();
        if let Some(batch) = next {
            gathered.add(batch)?;
            if gathered.bytes() < GATHER_BYTES && written_at.elapsed() < GATHER {
                continue;
            }
        }
        let (head, values) = match gathered.taken(GATHER_BYTES) {
            SentRows::Joined(joined) => joined.framed()?,
            SentRows::One(batch) => framed(&batch)?,
            SentRows::Several(batches) => {
                batches.iter().try_for_each(|batch| encoder.add(batch))?;
                (encoder.closed(kind::ROWS)?, Vec::new())
            }
        };
        let mut end = Vec::new();
        if is_last {
            encoder.finish();
            end = encoder.closed(kind::END)?;
        }
        let mut parts = vec![head.as_slice()];
        parts.extend(values.iter().map(Buffer::as_slice));
        parts.push(&end);
        if let Err(error) = frame::write_parts(&mut socket, &parts) {
            return Ok(Sent::Broken(error));
        }
        if is_last {
            return Ok(Sent::All);
        }
        written_at = Instant::now();
    }
}

/// Sends what a finished write returned, in one frame.
pub fn returned(mut socket: &UnixStream, run: &mut Run<'_>, named: &Named, plan: PlanSource) -> Result<Sent, Error> {
    let named = settled(run, named)?;
    let mut encoder = Encoder::new(run.schema()?.as_ref())?;
    while let Some(batch) = run.next()? {
        encoder.add(&batch)?;
        if encoder.len() > RETURNED_MAX_BYTES {
            return Err(Error::new(Kind::OutOfMemory, "the rows that the statement returns are over 64 MiB"));
        }
    }
    encoder.finish();
    let mut frame = head_frame();
    let plan = Some(plan);
    write_head(&mut frame, &Head { columns: columns(&named), ended: true, returning: true, resets: false, plan })?;
    encoder.drain_into(&mut frame);
    let bytes = frame.close(RESPONSE_MAX_BYTES).map_err(|e| too_wide(&e))?;
    Ok(socket.write_all(&bytes).map_or_else(Sent::Broken, |()| Sent::All))
}

/// The columns as they were asked for, once their types are known: a type that waited for its
/// parameter is now settled, and so is the name of the column, and one that Arrow cannot carry is refused rather than
/// sent wrong.
fn settled<'n>(run: &Run<'_>, named: &'n Named) -> Result<Cow<'n, Named>, Error> {
    sendable(run.columns())?;
    if named == run.columns() {
        return Ok(Cow::Borrowed(named)); // as nearly always
    }
    if named.len() != run.columns().len() {
        return Ok(Cow::Owned(run.columns().to_vec()));
    }
    let pairs = named.iter().zip(run.columns());
    let choose = |((name, asked), (found, got)): (&(String, Type), &(String, Type))| {
        let kind = if asked.sent_as().is_some() { asked } else { got };
        let name = if asked.is_open() { found } else { name };
        (name.clone(), kind.clone())
    };
    Ok(Cow::Owned(pairs.map(choose).collect()))
}

fn head_frame() -> Outgoing {
    Outgoing::new(kind::HEAD)
}

fn write_head(frame: &mut Outgoing, head: &Head) -> Result<(), Error> {
    let mut head = serde_json::to_vec(head).map_err(Error::internal)?;
    // so that the rows behind it begin where columns may
    let whole = (head.len() + size_of::<u32>()).next_multiple_of(ALIGNED_BYTES);
    head.resize(whole - size_of::<u32>(), b' ');
    let length = u32::try_from(head.len()).map_err(Error::internal)?;
    frame.payload().extend_from_slice(&length.to_le_bytes());
    frame.payload().extend_from_slice(&head);
    Ok(())
}

pub(super) fn too_wide(error: &io::Error) -> Error {
    Error::new(Kind::OutOfMemory, error.to_string())
}

/// How the stream of the last answer began: one of the same columns begins so too.
#[derive(Default)]
pub struct LastSchema(Option<(SchemaRef, Vec<u8>)>);

impl LastSchema {
    /// A stream of rows that look so, without any yet.
    fn begun(&mut self, schema: &SchemaRef) -> Result<Encoder, Error> {
        if let Some((_, begin)) = self.0.as_ref().filter(|(last, _)| Arc::ptr_eq(last, schema)) {
            return Ok(Encoder::behind(begin.clone()));
        }
        let encoder = Encoder::new(schema)?;
        if are_single(schema) && encoder.made.len() <= KEPT_BEGIN_BYTES {
            self.0 = Some((Arc::clone(schema), encoder.made.clone()));
        }
        Ok(encoder)
    }
}

/// An Arrow IPC stream, cut into frames anywhere between two of its messages. What it has made of the next one stands
/// behind the room for a header.
struct Encoder {
    made: Vec<u8>,
    dictionaries: DictionaryTracker,
    compression: CompressionContext,
    options: IpcWriteOptions,
}

impl Encoder {
    fn new(schema: &Schema) -> Result<Self, Error> {
        let mut encoder = Self::behind(vec![0; HEADER_BYTES]);
        let Self { dictionaries, options, .. } = &mut encoder;
        let begin = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(schema, dictionaries, options);
        encoder.write(begin)?;
        Ok(encoder)
    }

    /// One that goes on behind what was made.
    fn behind(made: Vec<u8>) -> Self {
        let (dictionaries, compression) = (DictionaryTracker::new(false), CompressionContext::default());
        Self { made, dictionaries, compression, options: IpcWriteOptions::default() }
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        batch.columns().iter().try_for_each(|column| fits(column))?;
        let Self { dictionaries, compression, options, .. } = self;
        let encoded = IpcDataGenerator::default().encode(batch, dictionaries, options, compression);
        let (before, rows) = encoded.map_err(Error::internal)?;
        before.into_iter().chain([rows]).try_for_each(|message| self.write(message))
    }

    fn write(&mut self, message: EncodedData) -> Result<(), Error> {
        write_message(&mut self.made, message, &self.options).map_err(Error::internal)?;
        Ok(())
    }

    /// Writes the end mark: without it a decoder keeps its last message for later.
    fn finish(&mut self) {
        self.made.extend_from_slice(&STREAM_END);
    }

    fn len(&self) -> usize {
        self.made.len().saturating_sub(HEADER_BYTES)
    }

    /// The frame of what it has made; none of nothing.
    fn closed(&mut self, kind: u8) -> Result<Vec<u8>, Error> {
        if self.len() == 0 {
            return Ok(Vec::new());
        }
        let made = std::mem::replace(&mut self.made, vec![0; HEADER_BYTES]);
        Outgoing::of(kind, made).close(RESPONSE_MAX_BYTES).map_err(|e| too_wide(&e))
    }

    fn drain_into(&mut self, frame: &mut Outgoing) {
        frame.payload().extend_from_slice(self.made.get(HEADER_BYTES..).unwrap_or_default());
        self.made.truncate(HEADER_BYTES);
    }
}

/// A `HUGEINT` travels as a decimal of 38 digits and may have 39: readers would cut it.
pub(super) fn fits(column: &dyn Array) -> Result<(), Error> {
    const BOUND: u128 = 10_u128.pow(38);
    // a DECIMAL of up to 18 digits has 64 bits; a longer one of a file has what the file says
    if matches!(column.data_type(), DataType::Decimal128(digits, _) if *digits <= 18) {
        return Ok(());
    }
    let Some(numbers) = column.as_primitive_opt::<Decimal128Type>() else {
        return Ok(());
    };
    if numbers.iter().flatten().all(|number| number.unsigned_abs() < BOUND) {
        return Ok(());
    }
    Err(Error::new(Kind::OutOfRange, "an integer of over 38 digits; cast it to VARCHAR"))
}

/// The single text that an inner question answers with; of EXPLAIN the plan, which stands last.
pub fn text(run: &mut Run<'_>) -> Result<String, Error> {
    let batch = run.next()?.ok_or_else(|| Error::internal("no row"))?;
    let column = batch.columns().last().and_then(|c| c.as_string_opt::<i32>()).filter(|c| c.len() == 1);
    Ok(column.ok_or_else(|| Error::internal("one text was expected"))?.value(0).to_owned())
}

/// The single number that a statement answers with, or 0.
pub fn count(run: &mut Run<'_>) -> Result<u64, Error> {
    let Some(batch) = run.next()? else {
        return Ok(0);
    };
    let column = batch.columns().first().and_then(|c| c.as_primitive_opt::<Int64Type>()).filter(|c| !c.is_empty());
    Ok(column.and_then(|c| u64::try_from(c.value(0)).ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Decimal128Array, DictionaryArray, StringArray};
    use arrow::datatypes::Int32Type;
    use arrow::ipc::writer::StreamWriter;

    use super::*;

    #[test]
    fn a_stream_is_as_the_library_writes_it_whether_or_not_its_columns_came_before() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
        let words: ArrayRef = Arc::new(["b", "b"].into_iter().collect::<DictionaryArray<Int32Type>>());
        let mut last = LastSchema::default();
        for column in [texts, words] {
            let batch = RecordBatch::try_from_iter([("t", column)]).unwrap();
            let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
            writer.write(&batch).unwrap();
            let written = writer.into_inner().unwrap();
            for _ in 0..2 {
                let mut encoder = last.begun(&batch.schema()).unwrap();
                encoder.add(&batch).unwrap();
                encoder.finish();
                assert_eq!(encoder.made.split_off(HEADER_BYTES), written);
            }
        }
    }

    #[test]
    fn a_number_of_39_digits_is_told_whatever_its_column_is_said_to_hold() {
        let column = |number: i128, digits: u8| {
            Decimal128Array::from(vec![Some(number), None]).with_precision_and_scale(digits, 0).unwrap()
        };
        let most = 10_i128.pow(38) - 1;
        assert!(fits(&column(most, 38)).is_ok() && fits(&column(7, 18)).is_ok());
        for digits in [19, 37, 38] {
            assert!(fits(&column(most + 1, digits)).is_err() && fits(&column(-most - 1, digits)).is_err(), "{digits}");
        }
    }
}
