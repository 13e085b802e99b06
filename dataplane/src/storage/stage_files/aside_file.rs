//! A file that is written beside its place, and moved there once it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{FILE_BYTES_MAX, opened};
use crate::Error;
use crate::error::StageFileFault;

/// The next number of an unfinished file of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A file beside its place; dropped before it is moved there, it has never been there.
#[derive(Debug)]
pub(super) struct AsideFile {
    path: PathBuf,
    /// None once all is written.
    file: Option<File>,
    is_placed: bool,
}

impl AsideFile {
    /// A new one, at the first path of a number where there is none.
    pub fn create(mode: u32, path_of: impl Fn(u64) -> PathBuf) -> io::Result<Self> {
        loop {
            let path = path_of(NEXT.fetch_add(1, Ordering::Relaxed));
            match OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
                Ok(file) => return Ok(Self { path, file: Some(file), is_placed: false }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// While it takes bytes.
    pub fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = self.file.as_mut().ok_or(ErrorKind::BrokenPipe).map_err(io::Error::from);
        file.and_then(|file| file.write_all(bytes))
    }

    /// It takes no more bytes, and holds no file open until it is whole: there may be many of them.
    pub fn fill_up(&mut self) {
        self.file = None;
    }

    /// All of it.
    pub fn whole(&mut self) -> io::Result<File> {
        self.file.take().map_or_else(|| opened(&self.path), Ok)
    }

    /// Moves it to its place, in one step: where it replaces nothing, a file that is there stays.
    pub fn move_to(&mut self, place: &Path, replaces: bool) -> io::Result<()> {
        if replaces {
            fs::rename(&self.path, place)?;
        } else {
            fs::hard_link(&self.path, place)?;
            if let Err(error) = fs::remove_file(&self.path) {
                tracing::warn!(%error, "the other name of a file of a stage cannot be removed");
            }
        }
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for AsideFile {
    fn drop(&mut self) {
        if !self.is_placed
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(%error, "an unfinished file of a stage cannot be removed");
        }
    }
}

/// How many bytes there are with so many more, if a file may have as many.
pub(super) fn grown(bytes: u64, more: usize) -> Result<u64, Error> {
    let all = u64::try_from(more).ok().and_then(|more| bytes.checked_add(more));
    let all = all.filter(|all| *all <= FILE_BYTES_MAX);
    all.ok_or_else(|| StageFileFault::TooLarge { limit: FILE_BYTES_MAX }.into())
}
