//! Files that the engine may read: one folder of its child, and in it a file for each statement.
//!
//! Everything else on disk is closed to the child (`child/harden`). A file is written by the parent as its bytes come,
//! and is gone with whoever holds it. What all of them take is bounded.

use std::io::{self, Read, SeekFrom, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

use crate::error::{Error, Kind};

/// What is copied before it is asked whether anybody waits for it still.
const COPIED_BYTES: u64 = 64 << 20;
/// The same of parts, each of which is held in memory.
const COPIED_PARTS: usize = 32;

/// The folder, and what the files in it take.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    bytes_max: u64,
    bytes: AtomicU64,
    files: AtomicU64,
}

impl Spool {
    pub fn new(folder: PathBuf, bytes_max: u64) -> Self {
        Self { folder, bytes_max, bytes: AtomicU64::new(0), files: AtomicU64::new(0) }
    }

    /// What all files may take together.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    fn take(&self, bytes: u64) -> Result<(), Error> {
        let taken = self.bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, |held| {
            held.checked_add(bytes).filter(|all| *all <= self.bytes_max)
        });
        taken.map(drop).map_err(|_| Error::new(Kind::TempSpace, "the files that are being read take all their room"))
    }
}

/// A file that the engine may read, until this is dropped.
#[derive(Debug)]
pub struct SpoolFile {
    spool: Arc<Spool>,
    path: PathBuf,
    /// None once it is whole.
    open: Option<File>,
    bytes: u64,
}

impl SpoolFile {
    pub(crate) async fn create(spool: &Arc<Spool>) -> Result<Self, Error> {
        let number = spool.files.fetch_add(1, Ordering::Relaxed);
        let path = spool.folder.join(number.to_string());
        let open = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .await
            .map_err(|error| unwritten(&error))?;
        Ok(Self { spool: Arc::clone(spool), path, open: Some(open), bytes: 0 })
    }

    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.opened(bytes.len())?.write_all(bytes).await.map_err(|error| unwritten(&error))
    }

    /// It has so many bytes from now on. Those that are not written take no room, and are zeros to whoever reads them.
    pub async fn stretch(&mut self, bytes: u64) -> Result<(), Error> {
        self.opened(0)?.set_len(bytes).await.map_err(|error| unwritten(&error))
    }

    /// Writes bytes at their place.
    pub async fn write_at(&mut self, place: u64, bytes: &[u8]) -> Result<(), Error> {
        let open = self.opened(bytes.len())?;
        open.seek(SeekFrom::Start(place)).await.map_err(|error| unwritten(&error))?;
        open.write_all(bytes).await.map_err(|error| unwritten(&error))
    }

    /// All of it is another file of so many bytes, which the system copies; where it can, both share them.
    pub async fn copy(&mut self, from: std::fs::File, bytes: u64) -> Result<(), Error> {
        self.copy_to(from, bytes, Vec::new()).await
    }

    /// The same of so many bytes of another file, with this `ending` behind them.
    pub async fn copy_to(&mut self, mut from: std::fs::File, bytes: u64, ending: Vec<u8>) -> Result<(), Error> {
        let bytes_behind = u64::try_from(ending.len()).map_err(Error::internal)?;
        self.spool.take(bytes_behind)?;
        self.bytes += bytes_behind;
        self.spool.take(bytes)?;
        self.bytes += bytes;
        let whole = || Error::new(Kind::InvalidInput, "the file is whole already");
        let mut to = self.open.take().ok_or_else(whole)?.into_std().await;
        let mut left = bytes;
        while left > 0 {
            let more = left.min(COPIED_BYTES);
            let copied = tokio::task::spawn_blocking(move || {
                let copied = io::copy(&mut (&from).take(more), &mut to)?;
                Ok::<_, io::Error>((copied, from, to))
            });
            let count;
            (count, from, to) = copied.await.map_err(Error::internal)?.map_err(|error| unwritten(&error))?;
            if count == 0 {
                return Err(Error::unavailable("a file became shorter while it was copied"));
            }
            left -= count;
        }
        if ending.is_empty() {
            return Ok(());
        }
        let written = tokio::task::spawn_blocking(move || to.write_all(&ending));
        written.await.map_err(Error::internal)?.map_err(|error| unwritten(&error))
    }

    /// Copies parts of another file to the same places.
    pub async fn copy_parts(&mut self, mut from: std::fs::File, parts: &[Range<u64>]) -> Result<(), Error> {
        let bytes = parts.iter().map(|part| part.end.saturating_sub(part.start)).fold(0, u64::saturating_add);
        self.spool.take(bytes)?;
        self.bytes += bytes;
        let whole = || Error::new(Kind::InvalidInput, "the file is whole already");
        let mut to = self.open.take().ok_or_else(whole)?.into_std().await;
        for some in parts.chunks(COPIED_PARTS) {
            let some = some.to_vec();
            let copied = tokio::task::spawn_blocking(move || {
                let mut held = Vec::new();
                some.into_iter().try_for_each(|part| copy_part((&from, &to), part, &mut held))?;
                Ok::<_, io::Error>((from, to))
            });
            (from, to) = copied.await.map_err(Error::internal)?.map_err(|error| unwritten(&error))?;
        }
        self.open = Some(File::from_std(to));
        Ok(())
    }

    /// The file, for so many bytes more.
    fn opened(&mut self, more: usize) -> Result<&mut File, Error> {
        let more = u64::try_from(more).map_err(Error::internal)?;
        self.spool.take(more)?;
        self.bytes += more;
        self.open.as_mut().ok_or_else(|| Error::new(Kind::InvalidInput, "the file is whole already"))
    }

    /// All of it is written.
    pub async fn finish(&mut self) -> Result<(), Error> {
        match self.open.take() {
            Some(mut open) => open.flush().await.map_err(|error| unwritten(&error)),
            None => Ok(()),
        }
    }

    /// What is written of it, to be looked at.
    pub async fn reader(&self) -> Result<std::fs::File, Error> {
        let opened = File::open(&self.path).await.map_err(|error| unwritten(&error))?;
        Ok(opened.into_std().await)
    }

    /// How large it may be where there is no other.
    pub fn bytes_max(&self) -> u64 {
        self.spool.bytes_max
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        self.spool.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        match std::fs::remove_file(&self.path) {
            // A child that was started anew has an empty folder.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, "a file that was read cannot be removed");
            }
            _ => {}
        }
    }
}

fn copy_part((from, to): (&std::fs::File, &std::fs::File), part: Range<u64>, held: &mut Vec<u8>) -> io::Result<()> {
    held.resize(usize::try_from(part.end.saturating_sub(part.start)).map_err(io::Error::other)?, 0);
    from.read_exact_at(held, part.start)?;
    to.write_all_at(held, part.start)
}

/// The disk is full, or the child was started anew and its folder emptied.
fn unwritten(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::new(Kind::TempSpace, "the disk has no room for the file")
        }
        _ => Error::unavailable(format!("the file cannot be kept for the engine: {error}")),
    }
}
