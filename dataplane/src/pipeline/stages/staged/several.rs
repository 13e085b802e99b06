//! Several files that COPY INTO's own statement reads together, through one temporary view.
//!
//! As of a file that is alone (`viewed`), their rows are written once. An error does not tell which file it is of: so
//! each of them is read by itself then, in their order, until one fails.

use engine::{FileFault, Session, SpoolFile};
use sql::FileRecords;

use super::packing::FilePacking;
use super::parquet_source::ParquetAhead;
use super::rows::{self, SpooledQuery};
use super::source::{FileSource, refused};
use super::viewed::{is_of_length, miscount};
use super::{LoadedFile, TakenIn};
use crate::Error;
use crate::pipeline::stages::execute::Ran;
use crate::pipeline::{Pipeline, Query, Result};
use crate::storage::stage_files::StageFile;

/// Files that are read together, and their bytes: they take room until the statement has run.
const FILES_MAX: usize = 64;
const BYTES_MAX: u64 = 128 << 20;

/// The files behind a view, there as long as this is.
#[derive(Debug)]
pub(super) struct ViewedFiles {
    parts: Vec<ViewedPart>,
    records: FileRecords,
}

/// One of them, and the query of its rows.
#[derive(Debug)]
struct ViewedPart {
    file: StageFile,
    query: String,
    rows: u64,
    /// It is there as long as this is.
    _spool: SpoolFile,
}

impl FileSource<'_> {
    /// Whether files may be read together: they are few, not so large, and leave room for those of other statements.
    pub(super) fn may_be_together(&self, files: &[StageFile]) -> bool {
        let bytes: u64 = files.iter().map(|file| file.bytes).fold(0, u64::saturating_add);
        let room = self.pipeline.engine().map_or(0, |engine| engine.files_bytes_max() / 2);
        let compression = self.rows.reading.compression;
        let is_plain = |file: &StageFile| matches!(FilePacking::of(compression, &file.path), Ok(FilePacking::None));
        let judges = self.rows.load.is_none() || self.rows.judged().is_some();
        let are_few = (2..=FILES_MAX).contains(&files.len()) && bytes <= BYTES_MAX.min(room);
        !judges && are_few && files.iter().all(is_plain)
    }

    /// Takes the files in, and puts a view of all their rows in the place of the table of these.
    pub(super) async fn viewed_together(
        &mut self,
        files: &[StageFile],
    ) -> Result<(Vec<LoadedFile>, Option<ViewedFiles>)> {
        let rows = self.rows;
        let mut ahead = ParquetAhead::of(self.parquet_source()?, files);
        let (mut loaded, mut parts) = (Vec::with_capacity(files.len()), Vec::with_capacity(files.len()));
        for file in files {
            let read = match &rows.reading.records {
                FileRecords::Csv(signs) => Box::pin(self.csv_file(file, signs)).await?,
                FileRecords::Parquet { binary_is_text } => {
                    Some(Box::pin(self.counted_parquet(file, &mut ahead, *binary_is_text)).await?)
                }
                FileRecords::Json { .. } => return Err(Error::Unverified { why: "JSON is not counted".to_owned() }),
            };
            let Some((SpooledQuery { spool, query, values }, count)) = read else {
                loaded.push(LoadedFile::whole(file, 0));
                continue;
            };
            loaded.push(LoadedFile::whole(file, count));
            let query = self.valued(&values, &query);
            parts.push(ViewedPart { file: file.clone(), query, rows: count, _spool: spool });
        }
        if parts.is_empty() {
            return Ok((loaded, None));
        }
        let all: Vec<&str> = parts.iter().map(|part| part.query.as_str()).collect();
        let made = self.put_view(&all.join(" union all ")).await;
        made.map_err(|error| self.query.fault(error))?;
        Ok((loaded, Some(ViewedFiles { parts, records: rows.reading.records.clone() })))
    }
}

impl TakenIn {
    /// Whether the statement reads several files together.
    pub(in crate::pipeline) fn are_several(&self) -> bool {
        self.several.is_some()
    }

    /// The end of a statement that has read several files: its error names the one that it is of.
    pub(in crate::pipeline) async fn named(&self, pipeline: &Pipeline, query: &Query, ran: Result<Ran>) -> Result<Ran> {
        let (Some(several), Some(report)) = (&self.several, &self.report) else { return ran };
        let counted: u64 = report.files.iter().map(|file| file.rows).sum();
        let error = match ran {
            Ok(ran) if ran.rows.changed == Some(counted) => return Ok(ran),
            Ok(mut ran) => {
                ran.lease.failed();
                Error::Unverified { why: "other rows of files were read than they have".to_owned() }
            }
            Err(error) if is_of_length(&error) || !several.may_cause(&error) => return Err(error),
            Err(error) => error,
        };
        let mut own = pipeline.engine()?.session().await.map_err(|error| query.fault(error))?;
        for part in &several.parts {
            Box::pin(several.read(part, query, &mut own)).await?;
        }
        match &error {
            // whose words name a file that is not the stage's
            Error::Engine(found) if FileFault::of(found).is_some() => {
                Err(Error::Unverified { why: "files that are read by themselves fail together".to_owned() })
            }
            _ => Err(error),
        }
    }
}

impl ViewedFiles {
    /// Whether an error may be one of a file.
    fn may_cause(&self, error: &Error) -> bool {
        matches!(rows::of_file("", &self.records, error.clone()), Error::StagedFileRefused { .. })
    }

    /// Reads all values of a file, whose fault it tells.
    async fn read(&self, part: &ViewedPart, query: &Query, own: &mut Session) -> Result<()> {
        let all = format!("select 1 from ({}) as _sluice_read where hash(_sluice_read) <> 0", part.query);
        match own.row_count(&all, query.deadline, &query.ask.cancel).await {
            Ok(count) if count == part.rows => Ok(()),
            Ok(count) => {
                let is_by_footer = matches!(self.records, FileRecords::Parquet { .. });
                Err(refused(&part.file, miscount(is_by_footer, part.rows, count)))
            }
            Err(error) => Err(rows::of_file(&part.file.path, &self.records, query.fault(error))),
        }
    }
}
