//! A file on its way into a stage: written aside, and moved to its place once it is whole.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use md5::{Digest, Md5};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use super::aside_file::{AsideFile, grown};
use super::{FilePlace, StageFile, StageFiles, StagePath, UNFINISHED, blocking, known, opened, unavailable};
use crate::Error;
use crate::error::StageFileFault;

/// How often a folder is made again that was removed meanwhile because it was empty.
const PLACED_MAX: usize = 8;
/// Bytes that are handed to the disk together, while the next ones come.
const HANDED_BYTES: u64 = 8 << 20;

/// A file that is being written; dropped before it is finished, it has never been there.
#[derive(Debug)]
pub struct StageWriter {
    files: StageFiles,
    place: FilePlace,
    path: StagePath,
    aside: AsideFile,
    /// None of one that is summed when it is listed.
    md5: Option<Md5>,
    bytes: u64,
    /// Those of them that were handed to the disk.
    handed: u64,
    replaces: bool,
}

impl StageWriter {
    pub(super) fn create(files: StageFiles, place: FilePlace, path: StagePath) -> Result<Self, Error> {
        let folder = files.root.join(UNFINISHED);
        files.make(&folder)?;
        let aside = AsideFile::create(0o600, |number| folder.join(number.to_string()));
        let aside = aside.map_err(|error| unavailable(&error))?;
        Ok(Self { files, place, path, aside, md5: Some(Md5::new()), bytes: 0, handed: 0, replaces: true })
    }

    /// The same that replaces no file: where one is there when it is finished, that one stays.
    #[must_use]
    pub fn keeping_others(mut self) -> Self {
        self.replaces = false;
        self
    }

    /// The same whose sum is left to whoever lists it first: until then nobody asks for it.
    #[must_use]
    pub fn unsummed(mut self) -> Self {
        self.md5 = None;
        self
    }

    /// Its path below the stage.
    pub fn path(&self) -> &str {
        self.path.as_str()
    }

    /// Whether it replaces a file that is there.
    pub(super) fn replaces(&self) -> bool {
        self.replaces
    }

    /// What has been written, to be read.
    pub(super) fn reader(&self) -> Result<File, Error> {
        opened(self.aside.path()).map_err(|error| unavailable(&error))
    }

    /// Where it is while it is written.
    pub(super) fn aside(&self) -> &Path {
        self.aside.path()
    }

    /// Another name of the file that it replaces, beside where it is written; none where there is no such file.
    pub(super) fn held_aside(&self, extension: &str) -> io::Result<Option<PathBuf>> {
        if !self.replaces {
            return Ok(None);
        }
        let held = self.aside.path().with_extension(extension);
        match fs::hard_link(self.place.file(), &held) {
            Ok(()) => Ok(Some(held)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn inode(&self) -> io::Result<u64> {
        Ok(fs::symlink_metadata(self.aside.path())?.ino())
    }

    /// How many have been written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let all = grown(self.bytes, bytes.len())?;
        self.aside.write(bytes).map_err(|error| unavailable(&error))?;
        if let Some(md5) = &mut self.md5 {
            md5.update(bytes);
        }
        self.bytes = all;
        self.hand_to_disk();
        Ok(())
    }

    /// Has the disk begin to write a part once that has come: whoever finishes the file waits for the last part alone.
    fn hand_to_disk(&mut self) {
        let part = self.bytes - self.handed;
        if part < HANDED_BYTES {
            return;
        }
        if let (Some(file), Ok(from), Ok(length)) = (self.aside.file(), i64::try_from(self.handed), i64::try_from(part))
        {
            // advice alone: where it is not followed, the end takes longer
            let _ = posix_fadvise(file, from, length, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        }
        self.handed = self.bytes;
    }

    /// The same that takes no more bytes, and holds no file open until it is finished: there may be many of them.
    #[must_use]
    pub fn full(mut self) -> Self {
        self.aside.fill_up();
        self
    }

    /// The same with these bytes behind the others.
    pub async fn with(mut self, bytes: Vec<u8>) -> Result<Self, Error> {
        blocking(move || {
            self.write(&bytes)?;
            Ok(self)
        })
        .await
    }

    /// All of it is written: it is there from now on.
    pub fn finish(mut self) -> Result<StageFile, Error> {
        let kept = self.aside.whole().and_then(|file| file.sync_all().and_then(|()| file.metadata()));
        let metadata = kept.map_err(|error| unavailable(&error))?;
        let modified = metadata.modified().map_err(|error| unavailable(&error))?;
        let md5 = self.md5.take().map(|md5| hex::encode(md5.finalize()));
        for _ in 0..PLACED_MAX {
            self.files.make(&self.place.folder)?;
            match self.aside.move_to(&self.place.file(), self.replaces) {
                Ok(()) => {
                    self.settled().map_err(|error| unavailable(&error))?;
                    if let Some(md5) = &md5 {
                        known::write(&self.place, md5, &metadata);
                    }
                    let (path, bytes, inode) = (self.path.as_str().to_owned(), self.bytes, metadata.ino());
                    return Ok(StageFile { path, bytes, md5: md5.unwrap_or_default(), modified, inode });
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists && !self.replaces => {
                    return Err(StageFileFault::Exists { path: self.path.as_str().to_owned() }.into());
                }
                Err(error) => return Err(unavailable(&error)),
            }
        }
        Err(unavailable(&io::Error::from(ErrorKind::NotFound)))
    }

    /// Has the disk keep its name, and those of the folders that it is in. One that is gone meanwhile has no name to keep.
    fn settled(&self) -> io::Result<()> {
        let below = |at: &&Path| at.starts_with(&self.files.root);
        self.place.folder.ancestors().take_while(below).try_for_each(|at| match File::open(at) {
            Ok(folder) => folder.sync_all(),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        })
    }
}
