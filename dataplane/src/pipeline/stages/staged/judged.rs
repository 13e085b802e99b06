//! Files whose failed records are left out, or with them the whole file, as COPY INTO's `ON_ERROR` says.
//!
//! A statement that fails in the engine takes its transaction with it. So a file is read first on a session of its own,
//! which says how many of its records fail and which is the first of them; then the others are written, all or none. Of
//! CSV, only those records are read first that do not surely pass, and where each does, its values are read as they are
//! loaded. A file whose texts become values by a format is read so whatever `ON_ERROR` says: no record of it is sure.

use engine::{CsvSigns, FailedRecords, FileColumn, FileFault, Session, SpoolFile};
use sql::ast::quote;
use sql::{CsvRecords, FileRecords, LoadOptions, NameMatching, OnError, RecordWidth};

use super::checks::RecordChecks;
use super::columns::ReadFile;
use super::doubted::DoubtedFile;
use super::parquet::ParquetRows;
use super::parquet_source::ParquetAhead;
use super::records::{DoubtfulRecords, RecordSift, SiftedRecords};
use super::source::{FileSource, refused};
use super::viewed::ViewedFile;
use super::{FAULTS_MAX, LoadedFile, RecordFault, columns};
use crate::Error;
use crate::pipeline::Result;
use crate::storage::stage_files::StageFile;

/// The column of CSV that says the line of a record.
const LINE: &str = "_sluice_line";

/// A file in the spool, as it is asked for its records.
struct SpooledRecords {
    /// It is there as long as this is.
    spool: SpoolFile,
    query: String,
    /// What each record has for the columns of the table.
    values: Vec<Option<String>>,
    /// Which line or record it is.
    line: String,
    sifted: SiftedRecords,
    /// Those that may fail; none where each of them may.
    doubted: Option<DoubtedFile>,
    /// What each of them has as the columns are read, and a query of it, where none of them may fail.
    sure: Option<(Vec<String>, String)>,
}

impl FileSource<'_> {
    /// Loads what can be loaded of a file; where it `is_viewed`, the statement reads that.
    pub async fn judged(
        &mut self,
        file: &StageFile,
        load: LoadOptions,
        is_viewed: bool,
    ) -> Result<(LoadedFile, Option<ViewedFile>)> {
        match Box::pin(self.judged_whole(file, load, is_viewed)).await {
            // one that cannot be read is left out whole
            Err(Error::StagedFileRefused { fault, .. }) if load.on_error != OnError::Abort || load.tells_faults() => {
                Ok((LoadedFile::unread(file, load.on_error, fault), None))
            }
            done => done,
        }
    }

    async fn judged_whole(
        &mut self,
        file: &StageFile,
        load: LoadOptions,
        is_viewed: bool,
    ) -> Result<(LoadedFile, Option<ViewedFile>)> {
        let mut own = self.pipeline.engine()?.session().await.map_err(|error| self.query.fault(error))?;
        let rows = self.rows;
        let read = match &rows.reading.records {
            FileRecords::Csv(signs) => Box::pin(self.csv_records(file, signs, load, &mut own)).await?,
            FileRecords::Json { is_array } => Box::pin(self.json_values(file, *is_array, load, &mut own)).await?,
            FileRecords::Parquet { binary_is_text } => {
                Box::pin(self.parquet_values(file, *binary_is_text, load, &mut own)).await?
            }
        };
        let Some(read) = read else { return Ok((LoadedFile::whole(file, 0), None)) };
        let checks = if rows.selects() {
            RecordChecks::none(&read.values)
        } else {
            RecordChecks::of(rows, &read.values, load.truncates)
        };
        let is_csv = matches!(rows.reading.records, FileRecords::Csv(_));
        let found = Box::pin(self.failed(file, &read, &checks, &mut own)).await?;
        let failed = read.sifted.failed + found.failed;
        let parsed = read.sifted.failed + found.records;
        let failures = if load.tells_faults() && found.failed > 0 {
            let judged = checks.judged(&read.query, &read.line);
            let told = own.failures(&judged, FAULTS_MAX, self.query.deadline, &self.query.ask.cancel).await;
            told.map_err(|error| self.fault(file, error))?
        } else {
            found.line.zip(found.check).into_iter().collect()
        };
        let faults_max = if load.tells_faults() { FAULTS_MAX } else { 1 };
        let faults = faults_of(read.sifted.faults, is_csv, &failures, &checks, faults_max);
        let is_kept = !load.tells_faults();
        if let Some(first) = faults.first().filter(|_| is_kept && load.on_error == OnError::Abort) {
            return Err(refused(file, first.fault.clone()));
        }
        let limit = load.on_error.limit(parsed);
        let mut told = LoadedFile { path: file.path.clone(), parsed, rows: 0, limit, failed, faults };
        let is_skipped = matches!(load.on_error, OnError::SkipFile(_)) && failed >= limit;
        if is_kept && !is_skipped && found.records > found.failed {
            let (names, kept) = read.sure.unwrap_or_else(|| (checks.names(), checks.passed(&read.query, &read.line)));
            if is_viewed {
                told.rows = found.records - found.failed;
                let viewed = Box::pin(self.view_of_values(file, &names, &kept, read.spool)).await?;
                return Ok((told, Some(viewed)));
            }
            told.rows = self.written(file, &names, &kept).await?;
            if told.rows != found.records - found.failed {
                return Err(Error::Unverified { why: format!("{} was read in two ways", file.path) });
            }
        }
        Ok((told, None))
    }

    /// How many records of a file fail by a value, and the first of them.
    async fn failed(
        &self,
        file: &StageFile,
        read: &SpooledRecords,
        checks: &RecordChecks,
        own: &mut Session,
    ) -> Result<FailedRecords> {
        let is_csv = matches!(self.rows.reading.records, FileRecords::Csv(_));
        let let_through = read.sifted.records;
        if is_csv && let_through == 0 {
            return Ok(FailedRecords { records: 0, failed: 0, line: None, check: None });
        }
        if let Some(doubted) = &read.doubted {
            let judged = checks.judged(&doubted.query, &read.line);
            return Box::pin(self.failed_of_doubted((file, doubted), &judged, let_through, own)).await;
        }
        let judged = checks.judged(&read.query, &read.line);
        // broken records of CSV were found before
        let found = own.failed_records(&judged, !is_csv, self.query.deadline, &self.query.ask.cancel).await;
        let found = found.map_err(|error| self.fault(file, error))?;
        if is_csv && found.records != let_through {
            let reason = format!("{} rows were read of {let_through} that it has", found.records);
            return Err(Error::Unverified { why: format!("{}: {reason}", file.path) });
        }
        Ok(found)
    }

    async fn csv_records(
        &mut self,
        file: &StageFile,
        signs: &CsvRecords,
        load: LoadOptions,
        own: &mut Session,
    ) -> Result<Option<SpooledRecords>> {
        let selects = self.rows.selects();
        let is_exact = signs.width == RecordWidth::Exact && !selects;
        let columns = if selects { self.rows.width() } else { self.rows.columns.len() };
        let width = (is_exact && load.by_name.is_none()).then_some(columns);
        let mut sift = RecordSift::new(signs, width).ok_or_else(|| Error::Unsupported {
            what: "ON_ERROR, VALIDATION_MODE, TRUNCATECOLUMNS or a format of dates, of a file whose values are told apart \
                   by a digit"
                .to_owned(),
        })?;
        sift = sift.first(load.shows());
        if selects || !self.rows.metadata.is_empty() {
            sift = sift.numbered();
        } else if load.by_name.is_none() && load.validates.is_none() && !self.rows.has_formats() {
            sift = sift.doubting(DoubtfulRecords::of(signs, self.rows, load.truncates));
        }
        let part =
            |place: u64| format!("cast(split_part({}, '{}', {place}) as bigint)", quote::name(LINE), sift.sign());
        let (line, number) = (part(2), part(3));
        let spool = self.csv_spooled((file, signs), |part| sift.take(&part)).await?;
        let mut sifted = sift.into_records();
        let mut read = vec![FileColumn { name: LINE.to_owned(), type_name: "VARCHAR".to_owned() }];
        let most = if load.by_name.is_some() { sifted.values } else { sifted.values.max(columns) };
        read.extend(columns::numbered(most));
        let CsvRecords { delimiter, quote, escape, nulls, has_header, .. } = signs.clone();
        let signs = CsvSigns { delimiter, quote, escape, skipped: 0, nulls, is_padded: !is_exact, has_header };
        let values = match load.by_name {
            _ if sifted.records == 0 => Vec::new(),
            Some(how) => {
                let of = ReadFile { file, number: &number };
                self.headed(of, (&spool, &signs, read.as_slice()), how, own).await?
            }
            None => {
                let texts = (1..=columns).map(|place| quote::name(&format!("${place}")));
                let of = ReadFile { file, number: &number };
                let origin = if selects { columns::origin(self.rows, of) } else { Vec::new() };
                texts.chain(origin).map(Some).collect()
            }
        };
        let query = spool.csv_rows(&signs, &read).map_err(|error| self.query.fault(error))?;
        let doubted = Box::pin(self.doubted(&mut sifted, (&signs, read.as_slice()))).await;
        let sure = match &doubted {
            Some(doubted) if doubted.is_empty() && !load.truncates => {
                Some(self.sure(&spool, (&signs, read.as_slice()))?)
            }
            _ => None,
        };
        Ok(Some(SpooledRecords { spool, query, values, line, sifted, doubted, sure }))
    }

    /// The values of CSV by the names that its first record has for them.
    async fn headed(
        &mut self,
        of: ReadFile<'_>,
        (spool, signs, read): (&SpoolFile, &CsvSigns, &[FileColumn]),
        how: NameMatching,
        own: &mut Session,
    ) -> Result<Vec<Option<String>>> {
        let signs = CsvSigns { is_padded: true, has_header: false, ..signs.clone() };
        let first = spool.csv_rows(&signs, read).map_err(|error| self.query.fault(error))?;
        let names = own.first_texts(&first, read, self.query.deadline, &self.query.ask.cancel).await;
        let names = names.map_err(|error| self.fault(of.file, error))?;
        Ok(columns::headed_values(self.rows, of, (names.get(1..).unwrap_or_default(), how)))
    }

    async fn json_values(
        &mut self,
        file: &StageFile,
        is_array: bool,
        load: LoadOptions,
        own: &mut Session,
    ) -> Result<Option<SpooledRecords>> {
        let spool = self.json_spooled(file, is_array).await?;
        if spool.bytes() == 0 {
            return Ok(None);
        }
        let query = spool.json_records(is_array).map_err(|error| self.query.fault(error))?;
        let query = columns::limited(query, load.shows());
        let values = match load.by_name {
            Some(how) => {
                let keys = own.record_keys(&query, self.query.deadline, &self.query.ask.cancel).await;
                let keys = keys.map_err(|error| self.fault(file, error))?;
                columns::member_values(self.rows, ReadFile::whole(file), (&keys, how))
            }
            None => columns::records(self.rows, ReadFile::whole(file)),
        };
        Ok(Some(SpooledRecords::numbered(spool, query, values)))
    }

    async fn parquet_values(
        &mut self,
        file: &StageFile,
        binary_is_text: bool,
        load: LoadOptions,
        own: &mut Session,
    ) -> Result<Option<SpooledRecords>> {
        let mut alone = ParquetAhead::of(self.parquet_source()?, std::slice::from_ref(file));
        let spool = self.parquet_spool(&mut alone).await?;
        let rows = ParquetRows::of(&spool, binary_is_text, self.rows, (own, self.query)).await;
        let rows = rows.map_err(|error| self.fault(file, error))?;
        let (query, values) = match load.by_name {
            Some(how) => {
                let values = columns::column_values(self.rows, ReadFile::whole(file), (&rows.names, how));
                (rows.query, values)
            }
            None => (rows.records(), columns::records(self.rows, ReadFile::whole(file))),
        };
        let query = columns::limited(query, load.shows());
        Ok(Some(SpooledRecords::numbered(spool, query, values)))
    }
}

impl SpooledRecords {
    /// Records that have no lines are counted.
    fn numbered(spool: SpoolFile, query: String, values: Vec<Option<String>>) -> Self {
        let line = "row_number() over ()".to_owned();
        Self { spool, query, values, line, sifted: SiftedRecords::default(), doubted: None, sure: None }
    }
}

/// The first faults of a file, of those that were found before its records were read and then.
fn faults_of(
    sifted: Vec<FileFault>,
    is_csv: bool,
    failures: &[(u64, usize)],
    checks: &RecordChecks,
    most: usize,
) -> Vec<RecordFault> {
    let sifted = sifted.into_iter().map(|fault| RecordFault { fault, column: None });
    let failed = failures.iter().filter_map(|(record, check)| {
        let (column, reason) = checks.fault(*check)?;
        let fault = if is_csv {
            FileFault { line: Some(*record), reason: reason.to_owned() }
        } else {
            FileFault { line: None, reason: format!("record {record}: {reason}") }
        };
        Some(RecordFault { fault, column: Some(column.to_owned()) })
    });
    let mut faults: Vec<RecordFault> = sifted.chain(failed).collect();
    faults.sort_by_key(|one| one.fault.line);
    faults.truncate(most);
    faults
}
