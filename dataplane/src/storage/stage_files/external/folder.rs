//! Files of a folder of the host that an integration names. A link is never followed. All of it blocks.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sql::FOLDER_SCHEME;

use super::object_read::ReadFault;
use crate::Error;
use crate::error::StageFileFault;
use crate::storage::stage_files::store::replaced;
use crate::storage::stage_files::{LISTED_MAX, StageFile, StagePath, is_folder, names_in, opened, unavailable};

/// How the name of a file begins that is not whole yet.
pub(super) const UNFINISHED_FILE: &str = ".sluice-unfinished.";
/// Folders that one list looks into.
const FOLDERS_MAX: usize = 10_000;

/// The files below a folder, which lies in the integration's own.
#[derive(Debug, Clone)]
pub(super) struct FolderFiles {
    /// The integration's; links on the way to it are the operator's own.
    base: PathBuf,
    root: PathBuf,
}

impl FolderFiles {
    /// The folder of this URL, if it is the integration's or lies in it.
    pub fn below(base: &str, url: &str) -> Option<Self> {
        let (base, root) = (PathBuf::from(base), PathBuf::from(url.strip_prefix(FOLDER_SCHEME)?));
        let is_own = base.is_absolute() && base.parent().is_some() && root.starts_with(&base);
        is_own.then_some(Self { base, root })
    }

    pub fn list(&self, prefix: &str) -> Result<Vec<StageFile>, Error> {
        let (mut found, mut looked_into) = (Vec::new(), 0_usize);
        let mut folders = vec![(self.root.clone(), String::new())];
        while let Some((folder, before)) = folders.pop() {
            looked_into += 1;
            if looked_into > FOLDERS_MAX {
                return Err(StageFileFault::Many { limit: FOLDERS_MAX }.into());
            }
            if !self.is_there(&folder)? {
                continue;
            }
            for name in names_in(&folder)?.into_iter().filter(|name| !name.starts_with(UNFINISHED_FILE)) {
                let (place, path) = (folder.join(&name), format!("{before}{name}"));
                let Some(metadata) = looked_at(&place)? else { continue };
                if metadata.is_dir() {
                    let below = format!("{path}/");
                    if below.starts_with(prefix) || prefix.starts_with(&below) {
                        folders.push((place, below));
                    }
                } else if metadata.is_file() && path.starts_with(prefix) {
                    if found.len() == LISTED_MAX {
                        return Err(StageFileFault::Many { limit: LISTED_MAX }.into());
                    }
                    found.push(told(path, &metadata).map_err(|error| unavailable(&error))?);
                }
            }
        }
        Ok(found)
    }

    /// The file of this path, if there is one that a list has.
    pub fn found(&self, path: &StagePath) -> Result<Option<StageFile>, Error> {
        let (folder, place) = self.place(path);
        let is_unfinished = path.as_str().split('/').any(|name| name.starts_with(UNFINISHED_FILE));
        let is_below = folder == self.base || looked_at(&folder)?.is_some_and(|metadata| metadata.is_dir());
        if is_unfinished || !is_below || !self.is_there(&folder)? {
            return Ok(None);
        }
        let metadata = looked_at(&place)?.filter(Metadata::is_file);
        let found = metadata.map(|metadata| told(path.as_str().to_owned(), &metadata));
        found.transpose().map_err(|error| unavailable(&error))
    }

    pub fn open_listed(&self, path: &StagePath, listed: &StageFile) -> Result<Box<dyn Read + Send>, Error> {
        let missing = || Error::from(StageFileFault::Missing { path: path.as_str().to_owned() });
        let (folder, place) = self.place(path);
        if !self.is_there(&folder)? {
            return Err(missing());
        }
        let file = match opened(&place) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(missing()),
            Err(error) => return Err(unavailable(&error)),
        };
        let sum = file.metadata().and_then(|metadata| tag(&metadata)).map_err(|error| unavailable(&error))?;
        if sum != listed.md5 {
            return Err(replaced(path.as_str()));
        }
        Ok(Box::new(UnchangedFile { file, sum }))
    }

    pub fn remove(&self, path: &StagePath) -> Result<bool, Error> {
        let (folder, place) = self.place(path);
        if !self.is_there(&folder)? || !looked_at(&place)?.is_some_and(|metadata| metadata.is_file()) {
            return Ok(false);
        }
        match fs::remove_file(place) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(unavailable(&error)),
        }
    }

    /// Whether the file that was listed is gone now; another that has come in its place stays.
    pub fn remove_listed(&self, path: &StagePath, listed: &StageFile) -> Result<bool, Error> {
        let (folder, place) = self.place(path);
        let found = if self.is_there(&folder)? { looked_at(&place)? } else { None };
        let Some(metadata) = found else { return Ok(true) };
        let sum = tag(&metadata).map_err(|error| unavailable(&error))?;
        let is_listed = metadata.is_file() && sum == listed.md5;
        if is_listed { self.remove(path).map(|_| true) } else { Ok(false) }
    }

    /// The folder that the file is in, and the file.
    pub fn place(&self, path: &StagePath) -> (PathBuf, PathBuf) {
        let place = self.root.join(path.as_str());
        (place.parent().unwrap_or(&self.root).to_owned(), place)
    }

    /// Whether the folder is there. A link between the integration's folder and it is refused.
    pub fn is_there(&self, folder: &Path) -> Result<bool, Error> {
        is_folder(&self.base, folder)
    }
}

/// A file that is read; at its end it is compared with what was opened.
struct UnchangedFile {
    file: File,
    sum: String,
}

impl Read for UnchangedFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        if count == 0 && !into.is_empty() && tag(&self.file.metadata()?)? != self.sum {
            return Err(io::Error::other(ReadFault::Replaced));
        }
        Ok(count)
    }
}

/// What is at this place; nothing if it has gone.
fn looked_at(place: &Path) -> Result<Option<Metadata>, Error> {
    match fs::symlink_metadata(place) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unavailable(&error)),
    }
}

pub(super) fn told(path: String, metadata: &Metadata) -> io::Result<StageFile> {
    let (md5, modified) = (tag(metadata)?, metadata.modified()?);
    Ok(StageFile { path, bytes: metadata.len(), md5, modified, inode: metadata.ino() })
}

/// Another for another content: a sum would have each file read to be listed.
fn tag(metadata: &Metadata) -> io::Result<String> {
    let nanos = metadata.modified()?.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    Ok(format!("{:x}-{nanos:x}-{:x}", metadata.ino(), metadata.len()))
}
