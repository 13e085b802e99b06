//! A file on its way into a folder of the host: written beside its place, and moved there once it is whole.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use super::folder::{FolderFiles, UNFINISHED_FILE, told};
use crate::Error;
use crate::error::StageFileFault;
use crate::storage::stage_files::aside_file::{AsideFile, grown};
use crate::storage::stage_files::{StageFile, StagePath, unavailable};

/// A file that is being written to a folder; dropped before it is finished, it has never been there.
#[derive(Debug)]
pub(super) struct FolderWriter {
    path: StagePath,
    place: PathBuf,
    aside: AsideFile,
    bytes: u64,
    replaces: bool,
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
        let named = |number: u64| folder.join(format!("{UNFINISHED_FILE}{}.{number}", std::process::id()));
        let aside = AsideFile::create(0o640, named).map_err(|error| unavailable(&error))?;
        Ok(Self { path, place, aside, bytes: 0, replaces })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes = grown(self.bytes, bytes.len())?;
        self.aside.write(bytes).map_err(|error| unavailable(&error))
    }

    /// It takes no more bytes, and holds no file open until it is finished: there may be many of them.
    pub fn fill_up(&mut self) {
        self.aside.fill_up();
    }

    /// All of it is written: it is there from now on.
    pub fn finish(mut self) -> Result<StageFile, Error> {
        let file = self.aside.whole().map_err(|error| unavailable(&error))?;
        let kept = file.sync_all().and_then(|()| self.aside.move_to(&self.place, self.replaces));
        match kept {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(StageFileFault::Exists { path: self.path.as_str().to_owned() }.into());
            }
            Err(error) => return Err(unavailable(&error)),
        }
        let placed = file.metadata().and_then(|metadata| told(self.path.as_str().to_owned(), &metadata));
        placed.map_err(|error| unavailable(&error))
    }
}
