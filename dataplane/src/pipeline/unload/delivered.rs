//! The rows of an answer on their way into files: the next ones come and are encoded while some are written.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::encoder::{EncodedRows, RowEncoder};
use super::files::UnloadFiles;
use super::open_file::FullFile;
use crate::encode::batch_bytes::batch_bytes;
use crate::error::StageFileFault;
use crate::pipeline::Result;
use crate::storage::stage_files::blocking;
use crate::{Error, Rows};

/// Batches that are encoded side by side.
const AHEAD_MAX: usize = 2;
/// Batches that are encoded, and not written yet.
const ENCODED_MAX: usize = 64;
/// Bytes of all of these together, but for a batch that is alone.
const HELD_BYTES_MAX: usize = 16 << 20;

/// A batch of rows that is encoded, and the room that it takes until it is written.
#[derive(Debug)]
struct EncodedBatch {
    parts: Vec<EncodedRows>,
    _room: OwnedSemaphorePermit,
}

/// Writes the rows of the answer, all of them.
pub(super) async fn written(rows: &mut Rows, mut files: UnloadFiles) -> Result<Vec<FullFile>> {
    let (encoder, (to, mut batches)) = (files.encoder(), mpsc::channel::<EncodedBatch>(ENCODED_MAX));
    let adding = tokio::task::spawn_blocking(move || {
        while let Some(batch) = batches.blocking_recv() {
            files.add(&batch.parts)?;
        }
        Ok::<_, Error>(files)
    });
    let sent = encoded(rows, &encoder, to).await;
    // also where rows failed: nothing of the files is left once that is told
    let added = adding.await.unwrap_or_else(|_| Err(StageFileFault::Unavailable.into()));
    sent?;
    let files = added?;
    blocking(move || files.end()).await
}

/// Encodes the rows of the answer, for as long as somebody takes them.
async fn encoded(rows: &mut Rows, encoder: &RowEncoder, to: mpsc::Sender<EncodedBatch>) -> Result<()> {
    let room = Arc::new(Semaphore::new(HELD_BYTES_MAX));
    let (mut ahead, mut next, mut is_over) = (VecDeque::new(), None, false);
    loop {
        while !is_over && ahead.len() < AHEAD_MAX {
            let came = match next.take() {
                None => rows.next().await.transpose()?,
                kept => kept,
            };
            let Some(batch) = came else {
                is_over = true;
                break;
            };
            let (bytes, of_all) = (room_of(&batch), Arc::clone(&room));
            let taken = if ahead.is_empty() {
                of_all.acquire_many_owned(bytes).await.map_err(|_| Error::from(StageFileFault::Unavailable))?
            } else if let Ok(taken) = of_all.try_acquire_many_owned(bytes) {
                taken
            } else {
                next = Some(batch); // those before it are sent first
                break;
            };
            let encoder = encoder.clone();
            let encode = move || Ok::<_, Error>(EncodedBatch { parts: encoder.encoded(&batch)?, _room: taken });
            ahead.push_back(tokio::task::spawn_blocking(encode)); // which begins at once
        }
        let Some(encoding) = ahead.pop_front() else { return Ok(()) };
        let batch = encoding.await.unwrap_or_else(|_| Err(StageFileFault::Unavailable.into()))?;
        if to.send(batch).await.is_err() {
            return Ok(()); // why they are not taken, whoever writes them says
        }
    }
}

/// The room that a batch takes: one that is larger than all of it waits for all before it.
fn room_of(batch: &RecordBatch) -> u32 {
    u32::try_from(batch_bytes(batch).min(HELD_BYTES_MAX)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, StringArray};
    use futures::stream;
    use sql::StatementKind;

    use super::*;

    #[tokio::test]
    async fn rows_that_are_wide_come_once_those_before_them_are_written() {
        let unload = sql::parse("copy into @s from (select 'x') file_format = (type = csv)").unwrap();
        let StatementKind::Unload(unload) = unload.kind() else { panic!("it unloads nothing") };
        let encoder = RowEncoder::of(unload, &[]);
        let wide: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(HELD_BYTES_MAX / 3 * 2)]));
        let wide = RecordBatch::try_from_iter([("text", wide)]).unwrap();
        let mut rows = Rows::new(stream::iter(vec![Ok(wide); 3]), Arc::default());
        let (to, mut batches) = mpsc::channel::<EncodedBatch>(ENCODED_MAX);
        let reading = async move {
            for _ in 0..3 {
                let held = batches.recv().await.unwrap();
                assert_eq!(held.parts.len(), 1);
                assert!(batches.try_recv().is_err(), "another one beside it");
            }
            assert!(batches.recv().await.is_none());
        };
        let (sent, ()) = tokio::join!(encoded(&mut rows, &encoder, to), reading);
        sent.unwrap();
    }
}
