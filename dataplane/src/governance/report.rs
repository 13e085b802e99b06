//! The local log of what was asked and done: two entries a query, in order.
//!
//! `started` is written before the first byte leaves, with write(2), so that a killed process
//! loses nothing; fsync follows within 50 ms (`flush`), so that a dead machine loses little. The
//! log is JSON lines in segment files named by their first sequence number, each entry within its
//! bounds (`Body::bounded`), so that whatever somebody has asked, its line can be read again and
//! shipped. A segment goes when the control plane has stored all of it and no query that began in it
//! is still open. A `started` without a `finished` at the next start ends as `interrupted`, with the
//! estimated credits.

mod segments;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contract::report::{Body, Entry, Finished, MicroCredits, Outcome, Started};
use contract::{Entropy, QueryId, SharedClock, Timestamp};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::disk::{private_folder, replace};
use segments::Segment;

pub use segments::Cursor;

const SEGMENT_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Not yet shipped entries may fill this much disk; then no query may start.
const BYTES_MAX: u64 = 1024 * 1024 * 1024;
const FLUSH_EVERY: Duration = Duration::from_millis(50);

/// The log of one data plane.
#[derive(Debug)]
pub struct Log {
    id: String,
    folder: PathBuf,
    writer: Mutex<Writer>,
    /// The last sequence number written, for the shipper to wait on.
    written: watch::Sender<u64>,
    /// The last one stored by the control plane.
    acked: watch::Sender<u64>,
    dirty: Notify,
}

#[derive(Debug)]
struct Writer {
    file: File,
    segments: Vec<Segment>,
    next: u64,
    /// Queries that began and have not finished, by the sequence of their `started`.
    open: BTreeMap<QueryId, u64>,
    unsynced: bool,
    /// The folder is another's: what is still to be said will be said as `interrupted`.
    closed: bool,
}

impl Log {
    /// Opens the log in this folder, or begins one; ends what a dead process left open.
    pub fn open(folder: &Path, clock: &SharedClock, entropy: &Entropy) -> io::Result<Self> {
        private_folder(folder)?;
        let id = identity(folder, clock.now(), entropy)?;
        let found = segments::recover(folder)?;
        let acked = acked(folder)?;
        let next = found.next.max(acked + 1);
        let (file, segment) = segments::create(folder, next)?;
        let mut segments = found.segments;
        segments.retain(|kept| kept.first != segment.first);
        segments.push(segment);
        let open = found.open.iter().map(|(id, (at, _))| (id.clone(), *at)).collect();
        let log = Self {
            id,
            folder: folder.to_owned(),
            writer: Mutex::new(Writer { file, segments, next, open, unsynced: false, closed: false }),
            written: watch::Sender::new(next - 1),
            acked: watch::Sender::new(acked),
            dirty: Notify::new(),
        };
        for (query_id, (_, estimate)) in found.open {
            log.append(vec![Body::Finished(Box::new(interrupted(query_id, estimate, clock.now())))])?;
        }
        Ok(log)
    }

    /// Names the log that the sequence numbers count in.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Writes the entry that must stand before anything else happens. Fails when the disk does,
    /// or when too much waits to be shipped.
    pub fn started(&self, started: Started) -> io::Result<()> {
        if self.waiting_bytes() > BYTES_MAX {
            return Err(io::Error::other("too many entries wait for the control plane"));
        }
        self.append(vec![Body::Started(Box::new(started))])
    }

    pub fn finished(&self, finished: Finished) -> io::Result<()> {
        self.append(vec![Body::Finished(Box::new(finished))])
    }

    /// What happened outside of any query.
    pub fn happened(&self, body: Body) -> io::Result<()> {
        self.append(vec![body])
    }

    /// Both entries of a query that was refused.
    pub fn refused(&self, started: Started, finished: Finished) -> io::Result<()> {
        if self.waiting_bytes() > BYTES_MAX {
            return Err(io::Error::other("too many entries wait for the control plane"));
        }
        self.append(vec![Body::Started(Box::new(started)), Body::Finished(Box::new(finished))])
    }

    /// One write for all of them: they are in the log together or not at all.
    fn append(&self, bodies: Vec<Body>) -> io::Result<()> {
        let bodies: Vec<Body> = bodies.into_iter().map(|body| body.bounded(&str::to_owned)).collect();
        let mut writer = self.writer();
        writer.roll_if_full(&self.folder)?;
        let mut lines = Vec::with_capacity(1024);
        let mut sequence = writer.next;
        for body in &bodies {
            serde_json::to_writer(&mut lines, &Entry { sequence, body: body.clone() })?;
            lines.push(b'\n');
            sequence += 1;
        }
        writer.write(&lines)?;
        for body in bodies {
            let at = writer.next;
            match body {
                Body::Started(started) => writer.open.insert(started.query_id, at),
                Body::Finished(finished) => writer.open.remove(&finished.query_id),
                Body::BranchMerged(_) | Body::TriggerFired(_) | Body::TriggerError(_) => None,
            };
            writer.next += 1;
        }
        self.written.send_replace(sequence - 1);
        drop(writer);
        self.dirty.notify_one();
        Ok(())
    }

    /// Takes no more entries: the folder is about to be let go.
    pub fn close(&self) {
        self.writer().closed = true;
    }

    /// fsync in groups until told to stop, and once more then.
    pub async fn flush(&self, shutdown: CancellationToken) {
        loop {
            let last = tokio::select! {
                () = self.dirty.notified() => false,
                () = shutdown.cancelled() => true,
            };
            if !last {
                tokio::time::sleep(FLUSH_EVERY).await;
            }
            if let Some(file) = self.unsynced() {
                let synced = tokio::task::spawn_blocking(move || file.sync_data()).await;
                if !matches!(synced, Ok(Ok(()))) {
                    tracing::error!("the query log could not be synced to disk");
                }
            }
            if last {
                return;
            }
        }
    }

    fn unsynced(&self) -> Option<File> {
        let mut writer = self.writer();
        if !std::mem::take(&mut writer.unsynced) {
            return None;
        }
        writer.file.try_clone().ok()
    }

    /// The last sequence number written.
    pub fn written(&self) -> watch::Receiver<u64> {
        self.written.subscribe()
    }

    /// The last sequence number that the control plane has stored.
    pub fn acked(&self) -> watch::Receiver<u64> {
        self.acked.subscribe()
    }

    /// A reader of everything after `sequence`.
    pub fn after(&self, sequence: u64) -> Cursor {
        Cursor::new(self.folder.clone(), sequence)
    }

    /// Everything up to `sequence` is stored: remembers it, and drops segments nobody needs.
    pub fn store_acked(&self, sequence: u64) -> io::Result<()> {
        if sequence <= *self.acked.borrow() {
            return Ok(());
        }
        replace(&self.folder.join("acked"), sequence.to_string().as_bytes())?;
        self.acked.send_replace(sequence);
        self.writer().drop_stored(sequence)
    }

    fn waiting_bytes(&self) -> u64 {
        self.writer().segments.iter().map(|segment| segment.bytes).sum()
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    /// After a failed write the file is cut back, so that no half line precedes the next entry.
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.closed {
            return Err(io::Error::other("the log is closed"));
        }
        let Some(segment) = self.segments.last_mut() else {
            return Err(io::Error::other("the log has no segment"));
        };
        if let Err(error) = self.file.write_all(lines) {
            self.file.set_len(segment.bytes)?;
            return Err(error);
        }
        segment.bytes += u64::try_from(lines.len()).unwrap_or(u64::MAX);
        self.unsynced = true;
        Ok(())
    }

    fn roll_if_full(&mut self, folder: &Path) -> io::Result<()> {
        if self.segments.last().is_some_and(|segment| segment.bytes < SEGMENT_BYTES_MAX) {
            return Ok(());
        }
        self.file.sync_data()?;
        let (file, segment) = segments::create(folder, self.next)?;
        self.file = file;
        self.segments.push(segment);
        Ok(())
    }

    fn drop_stored(&mut self, acked: u64) -> io::Result<()> {
        let oldest_open = self.open.values().min().copied().unwrap_or(u64::MAX);
        while let [first, second, ..] = self.segments.as_slice() {
            let last = second.first - 1;
            if last > acked || last >= oldest_open {
                break;
            }
            std::fs::remove_file(&first.path)?;
            self.segments.remove(0);
        }
        Ok(())
    }
}

fn identity(folder: &Path, now: Timestamp, entropy: &Entropy) -> io::Result<String> {
    let file = folder.join("id");
    match std::fs::read_to_string(&file) {
        Ok(id) if !id.is_empty() => Ok(id),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => {
            let id = contract::ids::fresh(now, entropy);
            replace(&file, id.as_bytes())?;
            Ok(id)
        }
    }
}

fn acked(folder: &Path) -> io::Result<u64> {
    match std::fs::read_to_string(folder.join("acked")) {
        Ok(text) => text.trim().parse().map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

fn interrupted(query_id: QueryId, estimate: MicroCredits, at: Timestamp) -> Finished {
    Finished {
        query_id,
        outcome: Outcome::Interrupted,
        error_code: None,
        rows_returned: 0,
        micro_credits: estimate,
        cache_hit: false,
        execution_time_ms: 0.0,
        transpilation_time_ms: 0.0,
        stages: Vec::new(),
        at,
    }
}

#[cfg(test)]
mod tests;
