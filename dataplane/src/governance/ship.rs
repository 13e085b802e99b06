//! Ships what is synced of the local log to the control plane, in order, until all of it is stored there.
//!
//! What is not acknowledged is sent again after a reconnect; the control plane stores each sequence
//! number once, so nothing is lost or doubled. Attempts wait longer and longer until one is acknowledged:
//! a stream that opens is no success yet.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;

use super::link::{Backoff, Link};
use super::proto::{Ack, Entries};
use super::report::{Cursor, Log};

/// Entries in one message, and their bytes; the last one may exceed these, within its own bounds
/// (`ENTRY_BYTES_MAX`). The control plane takes as many entries, and more bytes.
const BATCH_MAX: usize = 1_000;
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Messages under way without an answer.
const WINDOW: usize = 4;
/// Behind a message of so many entries, those that come next are waited for.
///
/// Each message is a transaction of the control plane, most of whose work is the same for one entry and for hundreds.
const BUSY_MIN: usize = 32;
const GATHER: Duration = Duration::from_millis(500);
/// How long a stopping process waits for its last entries to be stored.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// Between two times that what is acknowledged is written down.
const KEEP_EVERY: Duration = Duration::from_secs(1);

/// Ships until told to stop, and then what is left, as far as the control plane takes it in time.
pub async fn run(log: Arc<Log>, link: Link, shutdown: CancellationToken) {
    let mut backoff = Backoff::new();
    let late = async {
        shutdown.cancelled().await;
        tokio::time::sleep(DRAIN_MAX).await;
    };
    tokio::select! {
        biased;
        () = ship(&log, &link, &mut backoff, &shutdown) => {}
        () = late => {}
    }
    if let Err(error) = keep(&log).await {
        tracing::warn!(%error, "what is stored is not written down: it is sent again");
    }
    if !is_stored(&log) {
        tracing::warn!("entries of the query log are left for the next start");
    }
}

/// A broken stream is opened again; once we are stopping, an attempt that fails is the last.
async fn ship(log: &Arc<Log>, link: &Link, backoff: &mut Backoff, shutdown: &CancellationToken) {
    loop {
        let stopping = shutdown.is_cancelled();
        if stopping && is_stored(log) {
            return;
        }
        if let Err(error) = session(log, link, backoff, shutdown).await {
            tracing::warn!(%error, "entries wait: the control plane does not take them");
            if stopping {
                return;
            }
        }
        shutdown.run_until_cancelled(tokio::time::sleep(backoff.next())).await;
    }
}

fn is_stored(log: &Log) -> bool {
    *log.acked().borrow() >= log.written()
}

#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("{}", .0.message())]
    Refused(#[from] tonic::Status),
    #[error("{0}")]
    Disk(#[from] std::io::Error),
    #[error("the stream ended")]
    Ended,
}

/// One stream: ends when it breaks, or when everything is stored and we are stopping.
async fn session(
    log: &Arc<Log>,
    link: &Link,
    backoff: &mut Backoff,
    shutdown: &CancellationToken,
) -> Result<(), Stopped> {
    let (outgoing, messages) = mpsc::channel(WINDOW);
    let acks = link.client().report(ReceiverStream::new(messages)).await?.into_inner();
    spoken(log, (outgoing, acks), backoff, shutdown).await
}

/// What is said on a stream, and heard.
async fn spoken(
    log: &Arc<Log>,
    (outgoing, mut acks): (mpsc::Sender<Entries>, impl Stream<Item = Result<Ack, tonic::Status>> + Unpin),
    backoff: &mut Backoff,
    shutdown: &CancellationToken,
) -> Result<(), Stopped> {
    let mut synced = log.synced();
    let mut cursor = log.after(*log.acked().borrow());
    let (mut keep_at, mut send_at) = (Instant::now(), Instant::now());
    loop {
        let last = *synced.borrow_and_update();
        let sent_all = last <= cursor.position();
        let stored_all = *log.acked().borrow() >= cursor.position();
        if sent_all && stored_all && shutdown.is_cancelled() {
            return Ok(());
        }
        let gathers = !sent_all && !shutdown.is_cancelled() && Instant::now() < send_at;
        tokio::select! {
            ack = acks.next() => {
                if store(log, &ack.ok_or(Stopped::Ended)??) {
                    backoff.reset();
                }
            }
            permit = outgoing.reserve(), if !sent_all && !gathers => {
                let permit = permit.map_err(|_| Stopped::Ended)?;
                let (read_on, entries) = read(cursor, last).await?;
                cursor = read_on;
                // where others are behind it already, they follow at once
                if entries.len() >= BUSY_MIN && cursor.position() >= last {
                    send_at = Instant::now() + GATHER;
                }
                permit.send(Entries { log: log.id().to_owned(), entries });
            }
            changed = synced.changed(), if sent_all => changed.map_err(|_| Stopped::Ended)?,
            () = tokio::time::sleep_until(keep_at), if log.has_unkept() => {
                keep(log).await?;
                keep_at = Instant::now() + KEEP_EVERY;
            }
            () = tokio::time::sleep_until(send_at), if gathers => {}
            () = shutdown.cancelled(), if gathers || (sent_all && stored_all) => {}
        }
    }
}

/// Whether it acknowledges anything that nobody had acknowledged.
fn store(log: &Log, ack: &Ack) -> bool {
    ack.log == log.id() && log.store_acked(ack.sequence)
}

/// Writes down what is acknowledged.
async fn keep(log: &Arc<Log>) -> Result<(), Stopped> {
    let log = Arc::clone(log);
    tokio::task::spawn_blocking(move || log.keep_acked()).await.map_err(|_| Stopped::Ended)?.map_err(Stopped::Disk)
}

async fn read(mut cursor: Cursor, last: u64) -> Result<(Cursor, Vec<Vec<u8>>), Stopped> {
    let read = tokio::task::spawn_blocking(move || {
        let entries = cursor.next(last, BATCH_MAX, BATCH_BYTES_MAX);
        (cursor, entries)
    });
    let (cursor, entries) = read.await.map_err(|_| Stopped::Ended)?;
    Ok((cursor, entries?))
}

#[cfg(test)]
mod tests;
