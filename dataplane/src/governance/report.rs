//! The local log of what was asked and done: two entries a query, in order.
//!
//! `started` is written before the first byte leaves, with write(2), so that a killed process
//! loses nothing; fsync follows within 50 ms (`flush`), so that a dead machine loses little. No
//! statement waits for it. What is synced is shipped, nothing sooner: a dead machine never counts
//! anew from a number that the control plane has stored.
//!
//! The log is JSON lines in segment files named by their first sequence number, each entry within its
//! bounds (`Body::cut`), so that whatever somebody has asked, its line can be read again and
//! shipped. A segment goes when the control plane has stored all of it and no query that began in it
//! is still open. A `started` without a `finished` at the next start ends as `interrupted`, with the
//! estimated credits.

mod segments;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contract::report::{Body, Finished, MicroCredits, Outcome, Started};
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
    /// The last sequence number written.
    written: AtomicU64,
    /// The last one that a dead machine keeps, for the shipper to wait on.
    synced: watch::Sender<u64>,
    /// The last one stored by the control plane.
    acked: watch::Sender<u64>,
    /// The same, as it stands in its file.
    kept: Mutex<u64>,
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
    /// Full segments that are not synced yet.
    full: Vec<File>,
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
        // A process that was killed may have left any of them unsynced.
        let full = segments.iter().map(|segment| File::open(&segment.path)).collect::<io::Result<_>>()?;
        segments.retain(|kept| kept.first != segment.first);
        segments.push(segment);
        let open = found.open.iter().map(|(id, (at, _))| (id.clone(), *at)).collect();
        let log = Self {
            id,
            folder: folder.to_owned(),
            writer: Mutex::new(Writer { file, segments, next, open, unsynced: true, full, closed: false }),
            written: AtomicU64::new(next - 1),
            synced: watch::Sender::new(acked),
            acked: watch::Sender::new(acked),
            kept: Mutex::new(acked),
            dirty: Notify::new(),
        };
        for (query_id, (_, estimate)) in found.open {
            log.finished(interrupted(query_id, estimate, clock.now()))?;
        }
        log.sync()?;
        Ok(log)
    }

    /// Names the log that the sequence numbers count in.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Writes the entry that must stand before anything else happens. Fails when the disk does,
    /// or when too much waits to be shipped.
    pub fn started(&self, started: Started) -> io::Result<()> {
        self.append([Body::Started(Box::new(started))])
    }

    pub fn finished(&self, finished: Finished) -> io::Result<()> {
        self.append([Body::Finished(Box::new(finished))])
    }

    /// What happened outside of any query.
    pub fn happened(&self, body: Body) -> io::Result<()> {
        self.append([body])
    }

    /// Both entries of a query that was refused.
    pub fn refused(&self, started: Started, finished: Finished) -> io::Result<()> {
        self.append([Body::Started(Box::new(started)), Body::Finished(Box::new(finished))])
    }

    /// One write for all of them: they are in the log together or not at all. Their JSON is made before the lock is taken,
    /// for which each statement waits.
    fn append<const N: usize>(&self, bodies: [Body; N]) -> io::Result<()> {
        let mut written = Vec::with_capacity(N);
        for body in bodies.map(Body::cut) {
            let mut text: Vec<u8> = Vec::with_capacity(1024);
            serde_json::to_writer(&mut text, &body)?;
            written.push((text, body));
        }
        let mut writer = self.writer();
        let begins = written.iter().any(|(_, body)| matches!(body, Body::Started(_)));
        if begins && writer.waiting_bytes() > BYTES_MAX {
            return Err(io::Error::other("too many entries wait for the control plane"));
        }
        writer.roll_if_full(&self.folder)?;
        let mut lines: Vec<u8> = Vec::with_capacity(2048);
        for (sequence, (text, _)) in (writer.next..).zip(&written) {
            write!(lines, "{{\"sequence\":{sequence},\"body\":")?;
            lines.extend_from_slice(text);
            lines.extend_from_slice(b"}\n");
        }
        writer.write(&lines)?;
        for (_, body) in written {
            let sequence = writer.next;
            match body {
                Body::Started(started) => writer.open.insert(started.query_id, sequence),
                Body::Finished(finished) => writer.open.remove(&finished.query_id),
                Body::BranchMerged(_) | Body::TriggerFired(_) | Body::TriggerError(_) => None,
            };
            writer.next += 1;
        }
        self.written.store(writer.next - 1, Ordering::Release);
        drop(writer);
        self.dirty.notify_one();
        Ok(())
    }

    /// Takes no more entries: the folder is about to be let go.
    pub fn close(&self) {
        self.writer().closed = true;
    }

    /// fsync in groups until told to stop, and once more then.
    pub async fn flush(self: Arc<Self>, shutdown: CancellationToken) {
        loop {
            let last = shutdown.run_until_cancelled(self.dirty.notified()).await.is_none();
            if !last {
                tokio::time::sleep(FLUSH_EVERY).await;
            }
            let log = Arc::clone(&self);
            if !matches!(tokio::task::spawn_blocking(move || log.sync()).await, Ok(Ok(()))) {
                tracing::error!("the query log could not be synced to disk");
            }
            if last {
                return;
            }
        }
    }

    /// Brings to disk what is written. Blocking, and nobody who writes waits for it. What the disk does not take is
    /// shipped all the same: then the control plane has the only copy.
    pub fn sync(&self) -> io::Result<()> {
        let (last, files) = self.writer().unsynced()?;
        let outcome = files.iter().map(File::sync_data).fold(Ok(()), Result::and);
        self.synced.send_if_modified(|synced| std::mem::replace(synced, last.max(*synced)) < last);
        outcome
    }

    /// The last sequence number written.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// The last sequence number that may be shipped.
    pub fn synced(&self) -> watch::Receiver<u64> {
        self.synced.subscribe()
    }

    /// The last sequence number that the control plane has stored.
    pub fn acked(&self) -> watch::Receiver<u64> {
        self.acked.subscribe()
    }

    /// A reader of everything after `sequence`.
    pub fn after(&self, sequence: u64) -> Cursor {
        Cursor::new(self.folder.clone(), sequence)
    }

    /// Everything up to `sequence` is stored. Is that news?
    pub fn store_acked(&self, sequence: u64) -> bool {
        self.acked.send_if_modified(|acked| std::mem::replace(acked, sequence.max(*acked)) < sequence)
    }

    /// Whether more is stored than is written down as stored.
    pub fn has_unkept(&self) -> bool {
        *self.acked.borrow() > *self.kept()
    }

    /// Writes down what is stored, and drops segments nobody needs. Blocking. Until then a killed process sends again
    /// what is stored, and the control plane stores it once.
    pub fn keep_acked(&self) -> io::Result<()> {
        let mut kept = self.kept();
        let acked = *self.acked.borrow();
        if acked <= *kept {
            return Ok(());
        }
        replace(&self.folder.join("acked"), acked.to_string().as_bytes())?;
        *kept = acked;
        self.writer().drop_stored(acked)
    }

    fn kept(&self) -> MutexGuard<'_, u64> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    fn waiting_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

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
        let (file, segment) = segments::create(folder, self.next)?;
        self.full.push(std::mem::replace(&mut self.file, file));
        self.segments.push(segment);
        Ok(())
    }

    /// The last sequence number written, and the files that hold what is not synced up to it.
    fn unsynced(&mut self) -> io::Result<(u64, Vec<File>)> {
        let last = self.unsynced.then(|| self.file.try_clone()).transpose()?;
        self.unsynced = false;
        Ok((self.next - 1, std::mem::take(&mut self.full).into_iter().chain(last).collect()))
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
