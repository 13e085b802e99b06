//! A file on its way into a folder of the host: written beside its place, and moved there once it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use super::folder::{FolderFiles, UNFINISHED_FILE, told};
use crate::Error;
use crate::error::StageFileFault;
use crate::storage::stage_files::{FILE_BYTES_MAX, StageFile, StagePath, opened, unavailable};

/// The next name of an unfinished file of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A file that is being written to a folder; dropped before it is finished, it has never been there.
#[derive(Debug)]
pub(super) struct FolderWriter {
    path: StagePath,
    place: PathBuf,
    aside: PathBuf,
    /// None once all is written.
    file: Option<File>,
    bytes: u64,
    replaces: bool,
    is_placed: bool,
}

impl FolderWriter {
    pub fn create(files: &FolderFiles, path: StagePath, replaces: bool) -> Result<Self, Error> {
        let (folder, place) = files.place(&path);
        if !files.is_there(&folder)? {
            let made = fs::DirBuilder::new().recursive(true).mode(0o750).create(&folder);
            made.map_err(|error| unavailable(&error))?;
            if !files.is_there(&folder)? {
                return Err(StageFileFault::Unavailable.into());
            }
        }
        if !replaces && place.symlink_metadata().is_ok() {
            return Err(StageFileFault::Exists { path: path.as_str().to_owned() }.into());
        }
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let aside = folder.join(format!("{UNFINISHED_FILE}{}.{number}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o640).open(&aside) {
                Ok(file) => {
                    let (file, bytes, is_placed) = (Some(file), 0, false);
                    return Ok(Self { path, place, aside, file, bytes, replaces, is_placed });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(unavailable(&error)),
            }
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes = grown(self.bytes, bytes.len())?;
        let file = self.file.as_mut().ok_or(ErrorKind::BrokenPipe).map_err(io::Error::from);
        file.and_then(|file| file.write_all(bytes)).map_err(|error| unavailable(&error))
    }

    /// It takes no more bytes, and holds no file open until it is finished: there may be many of them.
    pub fn fill_up(&mut self) {
        self.file = None;
    }

    /// All of it is written: it is there from now on.
    pub fn finish(mut self) -> Result<StageFile, Error> {
        let file = self.file.take().map_or_else(|| opened(&self.aside), Ok);
        let file = file.map_err(|error| unavailable(&error))?;
        let kept = file.sync_all().and_then(|()| self.moved());
        match kept {
            Ok(()) => self.is_placed = true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(StageFileFault::Exists { path: self.path.as_str().to_owned() }.into());
            }
            Err(error) => return Err(unavailable(&error)),
        }
        let placed = file.metadata().and_then(|metadata| told(self.path.as_str().to_owned(), &metadata));
        placed.map_err(|error| unavailable(&error))
    }

    /// Moves it to its place, in one step: where it replaces nothing, a file that is there stays.
    fn moved(&self) -> io::Result<()> {
        if self.replaces {
            return fs::rename(&self.aside, &self.place);
        }
        fs::hard_link(&self.aside, &self.place)?;
        if let Err(error) = fs::remove_file(&self.aside) {
            tracing::warn!(%error, "the other name of a file of a stage cannot be removed");
        }
        Ok(())
    }
}

impl Drop for FolderWriter {
    fn drop(&mut self) {
        if !self.is_placed
            && let Err(error) = fs::remove_file(&self.aside)
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
