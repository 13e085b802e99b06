//! Files of internal stages: a folder for each stage, named by its id, beside the environment's database.
//!
//! On disk a part of a path has a prefix: one for a folder, one for a file, one for the facts that are kept of a file.
//! So no path that a caller writes is a name of ours. A link is never followed. All of it blocks.

mod aside_file;
mod external;
mod file_parts;
mod known;
pub mod parquet_parts;
mod path;
mod store;
mod together;
mod users;
mod writer;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::fcntl::OFlag;

use crate::Error;
use crate::error::StageFileFault;

pub use external::{ExternalFiles, ReachableHosts, ReadFault};
pub use file_parts::FileParts;
pub use path::StagePath;
pub use store::{ReadBounds, StageStore};
pub use users::{user_stage, user_stages};
pub use writer::StageWriter;

/// Files that one list may have.
pub const LISTED_MAX: usize = 10_000;
/// Bytes that one file may have.
pub const FILE_BYTES_MAX: u64 = 5 << 30;

/// Before the name of a folder, of a file, and of what is known of a file.
const FOLDER: &str = "d.";
const FILE: &str = "f.";
const KNOWN: &str = "k.";
/// Where files are that are not whole yet. No id of a stage has a dot.
const UNFINISHED: &str = ".unfinished";
/// A stage's id is that of the statement that made it.
const ID_BYTES_MAX: usize = 64;

/// The files of the internal stages of an environment, in a folder beside its database.
#[derive(Debug, Clone)]
pub struct StageFiles {
    root: PathBuf,
}

/// A file of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageFile {
    /// Below the stage, with slashes between its parts.
    pub path: String,
    pub bytes: u64,
    /// In hexadecimal; of an external stage, the tag that another content would not have. Empty of one that was unloaded
    /// now, until it is listed.
    pub md5: String,
    pub modified: SystemTime,
    /// Another file of the same path has another.
    pub inode: u64,
}

/// Where a file is on disk.
#[derive(Debug)]
struct FilePlace {
    folder: PathBuf,
    name: String,
}

impl FilePlace {
    fn file(&self) -> PathBuf {
        self.folder.join(format!("{FILE}{}", self.name))
    }

    fn known(&self) -> PathBuf {
        self.folder.join(format!("{KNOWN}{}", self.name))
    }
}

impl StageFiles {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder that all of them are below.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Removes what a dead process has not finished. For the folder's owner alone.
    pub fn forget_unfinished(&self) -> io::Result<()> {
        self.take_back_listed()?;
        match fs::remove_dir_all(self.root.join(UNFINISHED)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The files whose paths begin so, sorted by path; none of a stage that has none.
    pub fn list(&self, stage_id: &str, prefix: &str) -> Result<Vec<StageFile>, Error> {
        let mut found = Vec::new();
        let mut folders = vec![(self.folder(stage_id)?, String::new())];
        while let Some((folder, before)) = folders.pop() {
            if !self.is_there(&folder)? {
                continue;
            }
            for name in names_in(&folder)? {
                if let Some(part) = name.strip_prefix(FOLDER) {
                    let path = format!("{before}{part}/");
                    if path.starts_with(prefix) || prefix.starts_with(&path) {
                        folders.push((folder.join(&name), path));
                    }
                } else if let Some(part) = name.strip_prefix(FILE) {
                    let path = format!("{before}{part}");
                    if !path.starts_with(prefix) {
                        continue;
                    }
                    if found.len() == LISTED_MAX {
                        return Err(StageFileFault::Many { limit: LISTED_MAX }.into());
                    }
                    found.extend(known::of(&FilePlace { folder: folder.clone(), name: part.to_owned() }, path)?);
                }
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// The file, to be read; what replaces or removes it meanwhile does not change what is read.
    pub fn open(&self, stage_id: &str, path: &str) -> Result<File, Error> {
        let path = StagePath::read(path)?;
        let place = self.place(stage_id, &path)?;
        let missing = || Error::from(StageFileFault::Missing { path: path.as_str().to_owned() });
        if !self.is_there(&place.folder)? {
            return Err(missing());
        }
        match opened(&place.file()) {
            Ok(file) => Ok(file),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(missing()),
            Err(error) => Err(unavailable(&error)),
        }
    }

    /// Takes in a file, which is there once it is whole, in place of one that was there before.
    pub fn writer(&self, stage_id: &str, path: &str) -> Result<StageWriter, Error> {
        let path = StagePath::read(path)?;
        let place = self.place(stage_id, &path)?;
        StageWriter::create(self.clone(), place, path)
    }

    /// Whether there was such a file, which is gone now.
    pub fn remove(&self, stage_id: &str, path: &str) -> Result<bool, Error> {
        let path = StagePath::read(path)?;
        let place = self.place(stage_id, &path)?;
        if !self.is_there(&place.folder)? {
            return Ok(false);
        }
        match fs::remove_file(place.file()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(unavailable(&error)),
        }
        // It is a memory only: what is left of it fits no file that comes in its place.
        let _ = fs::remove_file(place.known());
        self.remove_empty(&place.folder);
        Ok(true)
    }

    /// Whether the file that was listed is gone now; another that has come in its place stays.
    pub fn remove_listed(&self, stage_id: &str, listed: &StageFile) -> Result<bool, Error> {
        let path = StagePath::read(&listed.path)?;
        let place = self.place(stage_id, &path)?;
        let there = if self.is_there(&place.folder)? { known::of(&place, listed.path.clone())? } else { None };
        match there {
            None => Ok(true),
            Some(file) if file == *listed => self.remove(stage_id, &listed.path).map(|_| true),
            Some(_) => Ok(false),
        }
    }

    /// Removes all files of a stage.
    pub fn drop_stage(&self, stage_id: &str) -> Result<(), Error> {
        match fs::remove_dir_all(self.folder(stage_id)?) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(unavailable(&error)),
            _ => Ok(()),
        }
    }

    /// The ids of the stages that have a folder.
    pub fn stages(&self) -> Result<Vec<String>, Error> {
        if !self.is_there(&self.root)? {
            return Ok(Vec::new());
        }
        Ok(names_in(&self.root)?.into_iter().filter(|name| is_id(name)).collect())
    }

    fn folder(&self, stage_id: &str) -> Result<PathBuf, Error> {
        if is_id(stage_id) { Ok(self.root.join(stage_id)) } else { Err(StageFileFault::Unavailable.into()) }
    }

    fn place(&self, stage_id: &str, path: &StagePath) -> Result<FilePlace, Error> {
        let mut folder = self.folder(stage_id)?;
        let mut parts = path.as_str().split('/');
        let name = parts.next_back().unwrap_or_default().to_owned();
        folder.extend(parts.map(|part| format!("{FOLDER}{part}")));
        Ok(FilePlace { folder, name })
    }

    /// Whether the folder is there.
    fn is_there(&self, folder: &Path) -> Result<bool, Error> {
        is_folder(&self.root, folder)
    }

    /// Makes the folder, and those that it is in.
    fn make(&self, folder: &Path) -> Result<(), Error> {
        if self.is_there(folder)? {
            return Ok(());
        }
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| unavailable(&error))?;
        if self.is_there(folder)? { Ok(()) } else { Err(StageFileFault::Unavailable.into()) }
    }

    /// Removes the folders that nothing is left in, up to the stage's own.
    fn remove_empty(&self, folder: &Path) {
        let below = |at: &&Path| *at != self.root.as_path() && at.starts_with(&self.root);
        for at in folder.ancestors().take_while(below) {
            if fs::remove_dir(at).is_err() {
                break;
            }
        }
    }
}

/// Does what blocks where nobody waits for it.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(StageFileFault::Unavailable.into()))
}

/// Whether the folder is there, below this one. A link on the way to it is refused, wherever it leads.
fn is_folder(root: &Path, folder: &Path) -> Result<bool, Error> {
    let below = folder.strip_prefix(root).map_err(|_| Error::from(StageFileFault::Unavailable))?;
    let mut at = root.to_owned();
    for part in below.components() {
        at.push(part);
        match fs::symlink_metadata(&at) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(unavailable(&io::Error::from(ErrorKind::NotADirectory))),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(unavailable(&error)),
        }
    }
    Ok(root.is_dir())
}

fn is_id(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(fits)
}

/// The folder's entries. One that is gone has none.
fn names_in(folder: &Path) -> Result<Vec<String>, Error> {
    let read = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            names.extend(entry?.file_name().into_string().ok()); // each of ours is UTF-8
        }
        Ok(names)
    };
    match read() {
        Ok(names) => Ok(names),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unavailable(&error)),
    }
}

/// A file itself, not what a link of its name leads to.
fn opened(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(ErrorKind::InvalidInput.into()) }
}

/// What the disk says is for the log alone.
fn unavailable(error: &io::Error) -> Error {
    let fault = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StageFileFault::NoRoom,
        _ => StageFileFault::Unavailable,
    };
    tracing::warn!(%error, "a file of a stage");
    fault.into()
}

#[cfg(test)]
mod tests;
