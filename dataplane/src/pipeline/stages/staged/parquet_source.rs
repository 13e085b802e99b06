//! Parquet files on their way into the spool, some side by side: of large ones only the columns that are read.
//!
//! A file gets the chunks of these columns at their places, and a footer of them alone. The engine reads it as it reads a
//! whole one. A part that is held in memory is small, and so are the files that come before they are read.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;
use engine::{Engine, SpoolFile};
use futures::{StreamExt, stream};
use sql::FileCompression;
use tokio_util::task::AbortOnDropHandle;

use super::packing::FilePacking;
use super::parquet::ReadColumns;
use super::source::{FileSource, fits, part, refused};
use crate::Error;
use crate::error::StageFileFault;
use crate::pipeline::Result;
use crate::storage::stage_files::parquet_parts::{ColumnParts, footer_place};
use crate::storage::stage_files::{FILE_BYTES_MAX, FileParts, ReadBounds, StageFile, StageStore, blocking};

/// What is read of the end of an object, for its footer.
const TAIL_BYTES: u64 = 64 << 10;
/// A file that is read whole: more requests would take longer than its bytes.
const WHOLE_BYTES: u64 = 256 << 10;
/// Parts of one file that are asked for at once.
const PARTS_MAX: usize = 4;
/// Files that come at once.
const FILES_MAX: usize = 3;
/// Bytes of all files that have come or come, but for one that is alone.
const AHEAD_BYTES_MAX: u64 = 256 << 20;

/// Takes Parquet files of a stage into the spool.
#[derive(Clone)]
pub(super) struct ParquetSource {
    store: StageStore,
    engine: Engine,
    bounds: ReadBounds,
    columns: ReadColumns,
    compression: FileCompression,
}

/// A file's end as the engine gets it, and what else of the file is read.
struct FoundParts {
    tail: Bytes,
    /// Where that begins.
    place: u64,
    /// Where the footer does.
    end: u64,
    columns: ColumnParts,
}

impl ParquetSource {
    /// The file in the spool: whole, or with the columns that are read.
    async fn spooled(&self, file: &StageFile) -> Result<SpoolFile> {
        match Box::pin(self.columns(file)).await? {
            Some(spool) => Ok(spool),
            None => Box::pin(self.whole(file)).await,
        }
    }

    async fn whole(&self, file: &StageFile) -> Result<SpoolFile> {
        let packing = FilePacking::of(self.compression, &file.path)?;
        if !packing.is_packed()
            && let Some(own) = self.store.open_own(file).await?
        {
            let mut spool = self.engine.file().await?;
            let bytes = usize::try_from(file.bytes).unwrap_or(usize::MAX);
            fits(&spool, bytes, false).map_err(|fault| refused(file, fault))?;
            spool.copy(own, file.bytes).await?;
            return Ok(spool);
        }
        let opened = self.store.open_listed(file, &self.bounds).await?;
        let mut bytes = blocking(move || Ok(packing.unpacked(opened))).await?;
        let mut spool = self.engine.file().await?;
        loop {
            let path = file.path.clone();
            let (rest, taken) = blocking(move || part(bytes, &path, packing)).await?;
            bytes = rest;
            if taken.is_empty() {
                break;
            }
            fits(&spool, taken.len(), packing.is_packed()).map_err(|fault| refused(file, fault))?;
            spool.write(&taken).await?;
        }
        spool.finish().await?;
        Ok(spool)
    }

    /// A file of which only some columns are there; none of one that is to be read whole.
    async fn columns(&self, file: &StageFile) -> Result<Option<SpoolFile>> {
        let is_fit = (WHOLE_BYTES..=FILE_BYTES_MAX).contains(&file.bytes);
        let packing = FilePacking::of(self.compression, &file.path)?;
        if !is_fit || matches!(self.columns, ReadColumns::All) || packing.is_packed() {
            return Ok(None);
        }
        let Some(parts) = self.store.parts(file).await? else { return Ok(None) };
        let Some(found) = Box::pin(self.found(&parts)).await else { return Ok(None) };
        if found.columns.bytes() > file.bytes / 5 * 4 {
            return Box::pin(self.copied(file, &parts, found)).await;
        }
        let FoundParts { tail, place, columns, .. } = found;
        let mut spool = self.engine.file().await?;
        let bytes = usize::try_from(columns.bytes()).unwrap_or(usize::MAX);
        fits(&spool, bytes, false).map_err(|fault| refused(file, fault))?;
        spool.stretch(place.saturating_add(u64::try_from(tail.len()).unwrap_or(u64::MAX))).await?;
        let own = match &parts {
            FileParts::OnDisk { file, .. } => file.try_clone().ok(), // else it is read as an object is
            FileParts::Object(_) => None,
        };
        match own {
            Some(own) => spool.copy_parts(own, &columns.pieces(place)).await?,
            None => fetch(&parts, columns.pieces(place), &mut spool).await?,
        }
        spool.write_at(place, &tail).await?;
        spool.finish().await?;
        let written = spool.reader().await?;
        // what no file of ours has may stop the library that looks at it
        let are_filled = blocking(move || Ok(columns.are_filled(written))).await.unwrap_or(false);
        Ok(are_filled.then_some(spool))
    }

    /// A file of the environment with a footer of these columns alone; none of one that is to be read as it is.
    async fn copied(&self, file: &StageFile, parts: &FileParts, found: FoundParts) -> Result<Option<SpoolFile>> {
        let FileParts::OnDisk { file: own, .. } = parts else { return Ok(None) };
        let (Some(ending), Ok(own)) = (found.columns.ending(), own.try_clone()) else { return Ok(None) };
        let mut spool = self.engine.file().await?;
        let bytes = usize::try_from(file.bytes).unwrap_or(usize::MAX);
        fits(&spool, bytes, false).map_err(|fault| refused(file, fault))?;
        spool.copy_to(own, found.end, ending).await?;
        Ok(Some(spool))
    }

    /// What is read of a file; none where its footer does not say it. Why, reading all of it tells.
    async fn found(&self, parts: &FileParts) -> Option<FoundParts> {
        let bytes = parts.bytes();
        let mut place = bytes.saturating_sub(TAIL_BYTES);
        let mut tail = parts.read(place..bytes).await.ok()?;
        let footer = footer_place(bytes, &tail)?;
        if footer.start < place {
            place = footer.start;
            tail = parts.read(place..bytes).await.ok()?;
        }
        let start = usize::try_from(footer.start - place).ok()?;
        let stop = usize::try_from(footer.end - place).ok()?;
        let (chosen, footer_bytes) = (self.columns.clone(), tail.get(start..stop).map(Bytes::copy_from_slice)?);
        let columns = blocking(move || Ok(ColumnParts::of(&footer_bytes, footer.start, |names| chosen.chosen(names))));
        let columns = columns.await.ok().flatten()?;
        if let Some(ending) = columns.ending() {
            tail = Bytes::from([tail.get(..start)?, ending.as_slice()].concat());
        }
        Some(FoundParts { tail, place, end: footer.start, columns })
    }
}

/// Takes these pieces of a file into the spool, each at its place, some side by side.
async fn fetch(parts: &FileParts, pieces: Vec<Range<u64>>, spool: &mut SpoolFile) -> Result<()> {
    let asked = pieces.into_iter().map(|piece| {
        let parts = parts.clone();
        async move {
            let start = piece.start;
            parts.read(piece).await.map(|bytes| (start, bytes))
        }
    });
    let mut came = stream::iter(asked).buffer_unordered(PARTS_MAX);
    while let Some(piece) = came.next().await {
        let (start, bytes) = piece?;
        spool.write_at(start, &bytes).await?;
    }
    Ok(())
}

/// Files of a stage that come into the spool in their order, the next ones while one is read.
pub(super) struct ParquetAhead {
    source: ParquetSource,
    files: VecDeque<StageFile>,
    coming: VecDeque<(u64, AbortOnDropHandle<Result<SpoolFile>>)>,
    /// Bytes of those that come and of the one that is read.
    held: u64,
    /// Bytes of the one that is read.
    read: u64,
}

impl ParquetAhead {
    pub fn of(source: ParquetSource, files: &[StageFile]) -> Self {
        Self { source, files: files.iter().cloned().collect(), coming: VecDeque::new(), held: 0, read: 0 }
    }

    /// The next file; whoever asks is done with the one before.
    async fn next(&mut self) -> Result<SpoolFile> {
        self.held -= std::mem::take(&mut self.read);
        self.begin();
        let unknown = || Error::Unverified { why: "a file is read that is not one of the stage's".to_owned() };
        let (bytes, coming) = self.coming.pop_front().ok_or_else(unknown)?;
        self.read = bytes;
        self.begin();
        coming.await.unwrap_or_else(|_| Err(StageFileFault::Unavailable.into()))
    }

    /// Has the next ones come, as far as there is room.
    pub fn begin(&mut self) {
        while self.coming.len() < FILES_MAX
            && let Some(next) = self.files.front()
            && (self.held == 0 || self.held.saturating_add(next.bytes) <= AHEAD_BYTES_MAX)
            && let Some(file) = self.files.pop_front()
        {
            let (source, bytes) = (self.source.clone(), file.bytes);
            self.held += bytes;
            let coming = self.source.bounds.tasks.spawn(async move { source.spooled(&file).await });
            self.coming.push_back((bytes, AbortOnDropHandle::new(coming)));
        }
    }
}

impl FileSource<'_> {
    /// What takes its Parquet files into the spool.
    pub(super) fn parquet_source(&self) -> Result<ParquetSource> {
        Ok(ParquetSource {
            store: self.store()?,
            engine: self.pipeline.engine()?,
            bounds: self.bounds(),
            columns: ReadColumns::of(self.rows),
            compression: self.rows.reading.compression,
        })
    }

    /// The next of these files, in the time that the statement has.
    pub(super) async fn parquet_spool(&mut self, ahead: &mut ParquetAhead) -> Result<SpoolFile> {
        let query = self.query;
        let came = query.in_time(ahead.next()).await;
        // where it broke off because the statement has ended, that is told
        let came = if came.is_err() { self.goes_on().and(came) } else { came };
        came.map_err(|error| match error {
            Error::Engine(error) => query.fault(error),
            other => other,
        })
    }
}
