//! The records of a CSV file that may fail, of which alone the engine is asked before the others are loaded.
//!
//! Whatever is found of them, all records of the file are counted once more as they are loaded.

use engine::{CsvSigns, FailedRecords, FileColumn, Session, SpoolFile};

use super::columns;
use super::records::SiftedRecords;
use super::source::FileSource;
use crate::Error;
use crate::pipeline::Result;
use crate::storage::stage_files::StageFile;

/// The records of a file that may fail, in the spool.
#[derive(Debug)]
pub(super) struct DoubtedFile {
    /// None where it has none. It is there as long as this is.
    spool: Option<SpoolFile>,
    /// Of these alone; of nothing where there are none.
    pub query: String,
    records: u64,
}

impl DoubtedFile {
    /// Whether no record of the file may fail.
    pub fn is_empty(&self) -> bool {
        self.spool.is_none()
    }
}

impl FileSource<'_> {
    /// Those of a file; nothing where all of it is to be asked.
    pub(super) async fn doubted(
        &self,
        sifted: &mut SiftedRecords,
        (signs, columns): (&CsvSigns, &[FileColumn]),
    ) -> Option<DoubtedFile> {
        let (records, bytes) = sifted.doubtful.take()?.into_kept()?;
        if records == 0 {
            return Some(DoubtedFile { spool: None, query: String::new(), records });
        }
        // without room for them the file is asked as a whole
        let mut spool = self.pipeline.engine().ok()?.file().await.ok()?;
        spool.write(&bytes).await.ok()?;
        spool.finish().await.ok()?;
        let query = spool.csv_rows(signs, columns).ok()?;
        Some(DoubtedFile { spool: Some(spool), query, records })
    }

    /// The values of a file of which no record may fail, as the table's columns are read, and a query of it.
    ///
    /// To read texts first, and to look at each value, takes longer. The first of the `texts` is a record's line.
    pub(super) fn sure(
        &self,
        spool: &SpoolFile,
        (signs, texts): (&CsvSigns, &[FileColumn]),
    ) -> Result<(Vec<String>, String)> {
        let mut read = texts.to_vec();
        for (value, column) in read.iter_mut().skip(1).zip(&self.rows.columns) {
            value.type_name.clone_from(&column.type_name);
        }
        let values = columns::named(&read).into_iter().skip(1).take(self.rows.columns.len()).collect();
        let query = spool.csv_rows(signs, &read).map_err(|error| self.query.fault(error))?;
        Ok((values, query))
    }

    /// How many of so many records of a file fail, as those say that may: their query is `judged`.
    pub(super) async fn failed_of_doubted(
        &self,
        (file, doubted): (&StageFile, &DoubtedFile),
        judged: &str,
        records: u64,
        own: &mut Session,
    ) -> Result<FailedRecords> {
        if doubted.is_empty() {
            return Ok(FailedRecords { records, failed: 0, line: None, check: None });
        }
        let found = own.failed_records(judged, false, self.query.deadline, &self.query.ask.cancel).await;
        let found = found.map_err(|error| self.fault(file, error))?;
        if found.records != doubted.records {
            let reason = format!("{} of {} records were read that may fail", found.records, doubted.records);
            return Err(Error::Unverified { why: format!("{}: {reason}", file.path) });
        }
        Ok(FailedRecords { records, ..found })
    }
}
