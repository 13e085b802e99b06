//! The rows of a statement, as the engine makes them.
//!
//! Nobody reads ahead: what is not asked for stays in the child, and stops it. Dropping rows before
//! their end ends the statement; the session is free again once the child has let go.

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use bytes::Bytes;
use futures::Stream;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::line::Connected;
use crate::message::{Column, Head, PlanSource, kind};
use crate::opened::Opened;
use crate::row_message::{RowMessage, are_single};
use crate::spool::SpoolFile;

pub struct Rows {
    pub schema: SchemaRef,
    pub columns: Vec<Column>,
    pub plan: Option<PlanSource>,
    decoder: Box<StreamDecoder>,
    /// Messages that are not decoded yet.
    pending: Buffer,
    /// The same bytes.
    frame: Bytes,
    first: Option<RecordBatch>,
    /// Each batch is one message.
    are_single: bool,
    /// That of the batch that was given last.
    message: Option<RowMessage>,
    /// The session, until the last frame is read.
    connected: Option<OwnedMutexGuard<Connected>>,
    /// The session is as a new one then.
    resets: bool,
    cancel: CancellationToken,
    /// The file that they are read of, there as long as they come.
    file: Option<Box<SpoolFile>>,
}

impl Rows {
    pub(crate) fn open(
        mut connected: OwnedMutexGuard<Connected>,
        payload: &Bytes,
        cancel: CancellationToken,
    ) -> Result<Self, Error> {
        let opened = Opened::known_or_read(payload, &mut connected.last_head)?;
        let Opened { head: Head { columns, ended, resets, plan, .. }, schema, decoder, pending, frame, first } = opened;
        let connected = if ended {
            read_whole(&mut connected, resets);
            None
        } else {
            Some(connected)
        };
        let (are_single, message) = (are_single(&schema), None);
        Ok(Self {
            schema,
            columns,
            plan,
            decoder,
            pending,
            frame,
            first,
            are_single,
            message,
            connected,
            resets,
            cancel,
            file: None,
        })
    }

    /// The next rows, or none after the last.
    pub async fn next(&mut self) -> Option<Result<RecordBatch, Error>> {
        self.message = None;
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        loop {
            match self.decoded() {
                Ok(Some(batch)) => return Some(Ok(batch)),
                Ok(None) => {}
                Err(error) => return Some(Err(Error::internal(error))),
            }
            let connected = self.connected.as_mut()?;
            match connected.receive(&self.cancel).await {
                Ok((kind::ROWS, payload)) => self.take(payload),
                Ok((kind::END, payload)) => {
                    read_whole(connected, self.resets);
                    self.connected = None;
                    self.take(payload);
                }
                Ok((other, _)) => {
                    return Some(Err(Error::internal(format!("a frame of kind {other} among rows"))));
                }
                Err(error) => {
                    self.connected = None;
                    return Some(Err(error));
                }
            }
        }
    }

    /// They are read of this file, which is gone once they are.
    pub fn read_of(&mut self, file: SpoolFile) {
        self.file = Some(Box::new(file));
    }

    /// The message that the rows which were given last came as, where it holds them alone.
    pub fn message(&mut self) -> Option<RowMessage> {
        self.message.take()
    }

    fn take(&mut self, payload: Bytes) {
        self.pending = Buffer::from(payload.clone());
        self.frame = payload;
    }

    fn decoded(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        // what is decoded next is a whole message only where the one before has ended
        let is_between = self.are_single && self.decoder.finish().is_ok();
        let length = self.pending.len();
        let decoded = self.decoder.decode(&mut self.pending)?;
        let taken = self.frame.split_to((length - self.pending.len()).min(self.frame.len()));
        if decoded.is_some() && is_between {
            self.message = RowMessage::of(taken);
        }
        Ok(decoded)
    }

    /// The rows as a stream, each batch with the message that it came as; dropping it is dropping them.
    pub fn into_stream(self) -> impl Stream<Item = Result<(RecordBatch, Option<RowMessage>), Error>> + Send + 'static {
        futures::stream::unfold(self, |mut rows| async move {
            let batch = rows.next().await?;
            let message = rows.message();
            Some((batch.map(|batch| (batch, message)), rows))
        })
    }

    /// Gives the rest up, and waits until the session is free.
    pub async fn finish(mut self) {
        if let Some(mut connected) = self.connected.take() {
            connected.drain().await;
        }
    }
}

fn read_whole(connected: &mut Connected, resets: bool) {
    connected.finish();
    if resets {
        connected.was_reset();
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        if let Some(mut connected) = self.connected.take() {
            let shared = std::sync::Arc::clone(connected.shared());
            shared.spawn(async move { connected.drain().await });
        }
    }
}

/// What a write returned, held until its transaction is decided.
#[derive(Debug, Clone)]
pub struct Held {
    pub schema: SchemaRef,
    pub columns: Vec<Column>,
    pub batches: Vec<RecordBatch>,
}

impl Held {
    /// With where its plan is from.
    pub(crate) fn read(payload: &Bytes) -> Result<(Self, Option<PlanSource>), Error> {
        let Opened { head, schema, mut decoder, mut pending, first, .. } = Opened::read(payload)?;
        let mut batches: Vec<_> = first.into_iter().collect();
        while let Some(batch) = decoder.decode(&mut pending).map_err(Error::internal)? {
            batches.push(batch);
        }
        Ok((Self { schema, columns: head.columns, batches }, head.plan))
    }

    pub fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| u64::try_from(batch.num_rows()).unwrap_or(u64::MAX)).sum()
    }
}
