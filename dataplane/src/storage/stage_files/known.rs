//! Facts of a file, written down beside it so that it need not be read again.
//!
//! It counts only while size and time are those of the file: if it is of another content, or absent, the file is read.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::time::UNIX_EPOCH;

use md5::{Digest, Md5};
use nix::fcntl::OFlag;

use super::{FilePlace, StageFile, opened, unavailable};
use crate::Error;

const PIECE_BYTES: usize = 64 << 10;
/// A sum, three numbers, and what is between them.
const KNOWN_BYTES_MAX: u64 = 256;

/// What is told of the file at this place; nothing if it has gone.
pub(super) fn of(place: &FilePlace, path: String) -> Result<Option<StageFile>, Error> {
    match told(place, path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unavailable(&error)),
    }
}

fn told(place: &FilePlace, path: String) -> io::Result<StageFile> {
    let mut file = opened(&place.file())?;
    let metadata = file.metadata()?;
    let md5 = if let Some(md5) = read(place, &metadata) {
        md5
    } else {
        let md5 = summed(&mut file)?;
        write(place, &md5, &metadata);
        md5
    };
    Ok(StageFile { path, bytes: metadata.len(), md5, modified: metadata.modified()?, inode: metadata.ino() })
}

/// Written down for the next time. That it could not be costs time only.
pub(super) fn write(place: &FilePlace, md5: &str, metadata: &Metadata) {
    let written = || -> io::Result<()> {
        let mut to = OpenOptions::new();
        to.write(true).create(true).truncate(true).mode(0o600).custom_flags(OFlag::O_NOFOLLOW.bits());
        to.open(place.known())?.write_all(line(md5, metadata)?.as_bytes())
    };
    if let Err(error) = written() {
        tracing::debug!(%error, "what is known of a file of a stage");
    }
}

fn read(place: &FilePlace, metadata: &Metadata) -> Option<String> {
    let mut text = String::new();
    opened(&place.known()).ok()?.take(KNOWN_BYTES_MAX).read_to_string(&mut text).ok()?;
    let md5 = text.split(' ').next().filter(|md5| md5.len() == 32)?;
    (text == line(md5, metadata).ok()?).then(|| md5.to_owned())
}

fn line(md5: &str, metadata: &Metadata) -> io::Result<String> {
    let nanos = metadata.modified()?.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    Ok(format!("{md5} {} {} {nanos}", metadata.ino(), metadata.len()))
}

fn summed(file: &mut File) -> io::Result<String> {
    let (mut md5, mut piece) = (Md5::new(), vec![0; PIECE_BYTES]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex::encode(md5.finalize())),
            read => md5.update(piece.get(..read).unwrap_or_default()),
        }
    }
}
