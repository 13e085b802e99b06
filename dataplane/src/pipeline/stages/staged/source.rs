//! The files of one stage: found by what the statement chooses, and copied into the engine's spool, unpacked.

use std::io::Read;

use engine::{FileFault, Session, SpoolFile, Statement};
use sql::{CsvRecords, FileChoice, StagedRows};

use super::decoded::DecodedText;
use super::packing::FilePacking;
use super::records::RespelledCsv;
use super::stripped_nulls::StrippedNulls;
use crate::Error;
use crate::error::StageFileFault;
use crate::limits::json_depth::JsonDepth;
use crate::pipeline::listed_files::compiled;
use crate::pipeline::{Pipeline, Query, Result};
use crate::storage::stage_files::{ReadBounds, ReadFault, StageFile, StageStore, blocking};

/// As much as is read of a file at once.
const PART_BYTES: usize = 1 << 20;

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
        let store = self.store()?;
        let mut listed = self.query.in_time(Box::pin(store.list(&prefix))).await?;
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
        let packing = FilePacking::of(self.rows.reading.compression, &file.path)?;
        let bounds = self.bounds();
        let store = self.store()?;
        let opened = self.query.in_time(Box::pin(store.open_listed(file, &bounds))).await?;
        let bytes = blocking(move || Ok(packing.unpacked(opened))).await?; // which reads the head of a gzip file
        let mut spool = self.pipeline.engine()?.file().await.map_err(|error| self.query.fault(error))?;
        let read_on = |bytes| {
            let path = file.path.clone();
            tokio::task::spawn_blocking(move || part(bytes, &path, packing)) // which begins at once
        };
        let mut reading = read_on(bytes);
        loop {
            self.goes_on()?;
            let read = reading.await.unwrap_or_else(|_| Err(StageFileFault::Unavailable.into()));
            // where it broke off because the statement has ended, that is told
            let (source, part) = if read.is_err() { self.goes_on().and(read)? } else { read? };
            let next = (!part.is_empty()).then(|| read_on(source)); // while this one is looked at
            let taken = take(part).map_err(|fault| refused(file, fault))?;
            fits(&spool, taken.len(), packing.is_packed()).map_err(|fault| refused(file, fault))?;
            spool.write(&taken).await.map_err(|error| self.query.fault(error))?;
            match next {
                Some(next) => reading = next,
                None => break,
            }
        }
        spool.finish().await.map_err(|error| self.query.fault(error))?;
        Ok(spool)
    }

    /// The same of a CSV file, which is written anew before where its reader is told other signs than it has.
    pub async fn csv_spooled(
        &mut self,
        (file, signs): (&StageFile, &CsvRecords),
        mut take: impl FnMut(Vec<u8>) -> std::result::Result<Vec<u8>, FileFault> + Send,
    ) -> Result<SpoolFile> {
        let rows = self.rows;
        let Some(spelling) = &rows.reading.spelling else { return Box::pin(self.text_spooled(file, take)).await };
        let mut respelled = RespelledCsv::new(spelling, signs);
        let anew = |part: Vec<u8>| passed_on(respelled.take(&part)?, part.is_empty(), &mut take);
        Box::pin(self.text_spooled(file, anew)).await
    }

    /// The same of a file of JSON, which may not nest too deep, without the nulls that its format leaves out.
    pub async fn json_spooled(&mut self, file: &StageFile, is_array: bool) -> Result<SpoolFile> {
        let too_deep = |line| FileFault { line: Some(line), reason: JsonDepth::reason() };
        let (mut depth, strips) = (JsonDepth::default(), self.rows.reading.strips_nulls);
        let mut stripped = strips.then(|| StrippedNulls::new(is_array));
        let looked_at = |part: Vec<u8>| {
            depth.take(&part).map_err(too_deep)?;
            match &mut stripped {
                Some(stripped) => stripped.take(&part),
                None => Ok(part),
            }
        };
        Box::pin(self.text_spooled(file, looked_at)).await
    }

    /// The same of a file of text, which is made UTF-8 before where it is other.
    pub async fn text_spooled(
        &mut self,
        file: &StageFile,
        mut take: impl FnMut(Vec<u8>) -> std::result::Result<Vec<u8>, FileFault> + Send,
    ) -> Result<SpoolFile> {
        let Some(decoding) = self.rows.reading.decoding else { return Box::pin(self.spooled(file, take)).await };
        let mut decoded = DecodedText::new(decoding);
        let plain = |part: Vec<u8>| passed_on(decoded.take(&part)?, part.is_empty(), &mut take);
        Box::pin(self.spooled(file, plain)).await
    }

    pub(super) fn bounds(&self) -> ReadBounds {
        ReadBounds {
            tasks: self.pipeline.tasks.clone(),
            deadline: self.query.deadline,
            cancel: self.query.ask.cancel.clone(),
        }
    }

    /// Where the files are, by the rules of the moment.
    pub(super) fn store(&self) -> Result<StageStore> {
        self.pipeline.stage_store(&*self.pipeline.rules()?, &self.rows.stage_id, self.rows.location.as_ref())
    }

    pub(super) fn goes_on(&self) -> Result<()> {
        if self.query.ask.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if self.query.left().is_zero() { Err(Error::Timeout(self.query.timeout)) } else { Ok(()) }
    }
}

/// The bytes that `take` makes of those that were made of a part of a file, and of the end behind the last ones.
fn passed_on(
    made: Vec<u8>,
    is_last: bool,
    mut take: impl FnMut(Vec<u8>) -> std::result::Result<Vec<u8>, FileFault>,
) -> std::result::Result<Vec<u8>, FileFault> {
    // none would be the end
    let mut given = if made.is_empty() { Vec::new() } else { take(made)? };
    if is_last {
        given.extend(take(Vec::new())?);
    }
    Ok(given)
}

/// Whether so many bytes more of a file may be read at all: a small packed file may have very many.
pub(super) fn fits(spool: &SpoolFile, more: usize, is_packed: bool) -> std::result::Result<(), FileFault> {
    let (bytes, limit) = (u64::try_from(more).unwrap_or(u64::MAX), spool.bytes_max());
    if spool.bytes().saturating_add(bytes) <= limit {
        return Ok(());
    }
    let has = if is_packed { "unpacked it has" } else { "it has" };
    let reason = format!("{has} more than {} MiB, which is all that may be read at one time", limit >> 20);
    Err(FileFault { line: None, reason: format!("{reason}: put it there in parts") })
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

/// The next part of a file; empty at its end.
pub(super) fn part(
    mut bytes: Box<dyn Read + Send>,
    path: &str,
    packing: FilePacking,
) -> Result<(Box<dyn Read + Send>, Vec<u8>)> {
    let mut part = Vec::with_capacity(PART_BYTES);
    let limit = u64::try_from(PART_BYTES).unwrap_or(u64::MAX);
    let read = bytes.by_ref().take(limit).read_to_end(&mut part);
    if let Err(error) = read {
        tracing::warn!(%error, "a file of a stage");
        if let Some(fault) = error.get_ref().and_then(|error| error.downcast_ref::<ReadFault>()) {
            return Err(fault.of_file(path));
        }
        // only how a file is packed can be wrong with it here: all else is of the disk
        if !packing.is_packed() || error.raw_os_error().is_some() {
            return Err(StageFileFault::Unavailable.into());
        }
        let fault = FileFault { line: None, reason: packing.broken().to_owned() };
        return Err(Error::StagedFileRefused { path: path.to_owned(), fault });
    }
    Ok((bytes, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_file_is_told_once_and_behind_its_last_bytes() {
        let mut taken = Vec::new();
        for (made, is_last) in [(&b"a"[..], false), (&b""[..], false), (&b"b"[..], true)] {
            let given = passed_on(made.to_vec(), is_last, |bytes| {
                taken.push(bytes.clone());
                Ok(bytes)
            });
            assert_eq!(given.unwrap(), made);
        }
        assert_eq!(taken, [&b"a"[..], &b"b"[..], &b""[..]]);
    }
}
