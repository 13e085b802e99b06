//! The files of one stage: found by what the statement chooses, and copied into the engine's spool, unpacked.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use engine::{FileFault, Session, SpoolFile, Statement};
use flate2::read::MultiGzDecoder;
use sql::{FileChoice, FileCompression, StagedRows};

use crate::Error;
use crate::pipeline::listed_files::compiled;
use crate::pipeline::{Pipeline, Query, Result};
use crate::storage::stage_files::{StageFile, blocking};

/// As much as is read of a file at once.
const PART_BYTES: usize = 256 << 10;

/// Ends of names of files that are packed otherwise than by gzip.
const PACKED: [&str; 5] = [".bz2", ".zst", ".br", ".deflate", ".raw_deflate"];

/// The end of names of those that are packed by it.
const PACKED_BY_GZIP: &str = ".gz";

/// Where the files of a stage come from, and the session that they go to.
pub(super) struct FileSource<'a> {
    pub pipeline: &'a Pipeline,
    pub query: &'a Query,
    pub session: &'a mut Session,
    pub rows: &'a StagedRows,
}

impl FileSource<'_> {
    /// Makes the table of their rows.
    pub async fn made(&mut self) -> Result<()> {
        let statement = Statement { sql: self.rows.made(), params: Vec::new(), writes: true };
        let made = self.session.keep(statement, self.query.deadline, &self.query.ask.cancel).await;
        made.map_err(|error| self.query.fault(error))
    }

    /// Those that the statement chooses, by their paths.
    pub async fn chosen(&mut self) -> Result<Vec<StageFile>> {
        let FileChoice { prefix, names, pattern } = self.rows.chosen.clone();
        let (files, stage_id, begin) = (self.pipeline.stage_files.clone(), self.rows.stage_id.clone(), prefix.clone());
        let mut listed = blocking(move || files.list(&stage_id, &begin)).await?;
        if !names.is_empty() {
            return named(&prefix, &names, listed);
        }
        if let Some(pattern) = pattern {
            let pattern = compiled(&pattern)?;
            listed.retain(|file| pattern.is_match(&self.rows.named(&file.path)));
        }
        Ok(listed)
    }

    /// Copies a file into the spool: of each part of it, and of an empty one at its end, what `take` makes of it.
    pub async fn spooled(
        &mut self,
        file: &StageFile,
        mut take: impl FnMut(Vec<u8>) -> std::result::Result<Vec<u8>, FileFault> + Send,
    ) -> Result<SpoolFile> {
        let (files, stage_id, listed) = (self.pipeline.stage_files.clone(), self.rows.stage_id.clone(), file.clone());
        let is_packed = is_packed(self.rows.reading.compression, &file.path)?;
        let opened = move || {
            let opened = files.open(&stage_id, &listed.path)?;
            if is_listed(&opened, &listed) {
                return Ok(unpacked(opened, is_packed));
            }
            let reason = "it was replaced meanwhile: try again".to_owned();
            Err(refused(&listed, FileFault { line: None, reason }))
        };
        let mut bytes = blocking(opened).await?;
        let mut spool = self.pipeline.engine()?.file().await.map_err(|error| self.query.fault(error))?;
        loop {
            self.goes_on()?;
            let path = file.path.clone();
            let (source, part) = blocking(move || part(bytes, &path, is_packed)).await?;
            bytes = source;
            let is_end = part.is_empty();
            let taken = take(part).map_err(|fault| refused(file, fault))?;
            spool.write(&taken).await.map_err(|error| self.query.fault(error))?;
            if is_end {
                break;
            }
        }
        spool.finish().await.map_err(|error| self.query.fault(error))?;
        Ok(spool)
    }

    fn goes_on(&self) -> Result<()> {
        if self.query.ask.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if self.query.left().is_zero() { Err(Error::Timeout(self.query.timeout)) } else { Ok(()) }
    }
}

/// What is wrong with a file.
pub(super) fn refused(file: &StageFile, fault: FileFault) -> Error {
    Error::StagedFileRefused { path: file.path.clone(), fault }
}

/// The files of these names behind the prefix, all of which must be there.
fn named(prefix: &str, names: &[String], listed: Vec<StageFile>) -> Result<Vec<StageFile>> {
    let between = if prefix.is_empty() || prefix.ends_with('/') { "" } else { "/" };
    let wanted: Vec<String> = names.iter().map(|name| format!("{prefix}{between}{name}")).collect();
    let is_absent = |path: &&String| !listed.iter().any(|file| file.path == **path);
    if let Some(path) = wanted.iter().find(is_absent) {
        let fault = FileFault { line: None, reason: "the stage has no such file".to_owned() };
        return Err(Error::StagedFileRefused { path: path.clone(), fault });
    }
    Ok(listed.into_iter().filter(|file| wanted.contains(&file.path)).collect())
}

fn is_packed(compression: FileCompression, path: &str) -> Result<bool> {
    match compression {
        FileCompression::None => Ok(false),
        FileCompression::Gzip => Ok(true),
        FileCompression::ByName => {
            let lower = path.to_ascii_lowercase();
            if let Some(end) = PACKED.iter().find(|end| lower.ends_with(**end)) {
                return Err(Error::Unsupported { what: format!("a file of a stage whose name ends in {end}") });
            }
            Ok(lower.ends_with(PACKED_BY_GZIP))
        }
    }
}

/// Whether an open file is the one that was listed: what is written down of a load is the sum of that.
fn is_listed(opened: &File, listed: &StageFile) -> bool {
    let is_it = |metadata: Metadata| {
        metadata.ino() == listed.inode
            && metadata.len() == listed.bytes
            && metadata.modified().is_ok_and(|modified| modified == listed.modified)
    };
    opened.metadata().is_ok_and(is_it)
}

fn unpacked(file: File, is_packed: bool) -> Box<dyn Read + Send> {
    if is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) }
}

/// The next part of a file; empty at its end.
fn part(mut bytes: Box<dyn Read + Send>, path: &str, is_packed: bool) -> Result<(Box<dyn Read + Send>, Vec<u8>)> {
    let mut part = Vec::with_capacity(PART_BYTES);
    let limit = u64::try_from(PART_BYTES).unwrap_or(u64::MAX);
    let read = bytes.by_ref().take(limit).read_to_end(&mut part);
    if let Err(error) = read {
        tracing::warn!(%error, "a file of a stage");
        let reason = if is_packed { "it is no whole gzip file" } else { "it cannot be read now" };
        let fault = FileFault { line: None, reason: reason.to_owned() };
        return Err(Error::StagedFileRefused { path: path.to_owned(), fault });
    }
    Ok((bytes, part))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_file_that_was_replaced_is_not_the_one_that_was_listed() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a.csv");
        std::fs::write(&place, "1\n").unwrap();
        let opened = File::open(&place).unwrap();
        let metadata = opened.metadata().unwrap();
        let (modified, inode) = (metadata.modified().unwrap(), metadata.ino());
        let listed = StageFile { path: "a.csv".to_owned(), bytes: 2, md5: String::new(), modified, inode };
        assert!(!is_listed(&opened, &StageFile { inode: inode + 1, ..listed.clone() }));
        assert!(is_listed(&opened, &listed));
        assert!(!is_listed(&opened, &StageFile { bytes: 3, ..listed.clone() }));
        assert!(!is_listed(&opened, &StageFile { modified: modified - Duration::from_secs(1), ..listed }));
    }
}
