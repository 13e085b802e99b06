//! An object of a bucket as its bytes come: whole, or an error.

use std::io::{self, Read};

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::bucket::is_replaced;
use crate::Error;
use crate::error::StageFileFault;
use crate::storage::stage_files::store::ReadBounds;

/// Pieces that wait to be read.
const PIECES_MAX: usize = 4;

/// Why a file broke off while it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadFault {
    #[error("it was replaced meanwhile: try again")]
    Replaced,
    #[error("its store broke off while it was read: try again")]
    BrokenOff,
}

impl ReadFault {
    /// Of the file of this path. It is no fault of what the file has: no load goes on without it.
    pub fn of_file(self, path: &str) -> Error {
        let path = path.to_owned();
        match self {
            Self::Replaced => StageFileFault::Replaced { path },
            Self::BrokenOff => StageFileFault::BrokenOff { path },
        }
        .into()
    }
}

/// The bytes of an object, of which there are as many as it was listed with.
pub(super) struct ObjectRead {
    pieces: mpsc::Receiver<Result<Bytes, ReadFault>>,
    piece: Bytes,
    left: u64,
}

impl ObjectRead {
    /// Has the stream read on while others take what has come.
    pub fn of(stream: BoxStream<'static, object_store::Result<Bytes>>, bytes: u64, bounds: &ReadBounds) -> Self {
        let (to, pieces) = mpsc::channel(PIECES_MAX);
        let (deadline, cancel) = (Instant::from_std(bounds.deadline), bounds.cancel.clone());
        bounds.tasks.spawn(async move {
            // Who waits for the rest of it is told that it broke off; why, the statement knows.
            let _ = cancel.run_until_cancelled(timeout_at(deadline, taken(stream, to))).await;
        });
        Self { pieces, piece: Bytes::new(), left: bytes }
    }
}

async fn taken(
    mut stream: BoxStream<'static, object_store::Result<Bytes>>,
    to: mpsc::Sender<Result<Bytes, ReadFault>>,
) {
    loop {
        let next = tokio::select! {
            () = to.closed() => return,
            next = stream.next() => next,
        };
        let piece = match next {
            None => return,
            Some(Ok(piece)) => Ok(piece),
            Some(Err(error)) if is_replaced(&error) => Err(ReadFault::Replaced),
            Some(Err(_)) => Err(ReadFault::BrokenOff),
        };
        let is_last = piece.is_err();
        if to.send(piece).await.is_err() || is_last {
            return;
        }
    }
}

impl Read for ObjectRead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() && !into.is_empty() {
            self.piece = match self.pieces.blocking_recv() {
                Some(piece) => piece.map_err(io::Error::other)?,
                None if self.left == 0 => return Ok(0),
                None => return Err(io::Error::other(ReadFault::BrokenOff)),
            };
        }
        let count = self.piece.len().min(into.len());
        let taken = self.piece.split_to(count);
        let left = u64::try_from(count).ok().and_then(|count| self.left.checked_sub(count));
        self.left = left.ok_or_else(|| io::Error::other(ReadFault::Replaced))?;
        if let Some(place) = into.get_mut(..count) {
            place.copy_from_slice(&taken);
        }
        Ok(count)
    }
}
