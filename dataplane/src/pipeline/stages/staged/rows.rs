//! The rows of files, by the kind of file: written to the temporary table one file behind the other.

use engine::{CsvSigns, FileFault, Kind, Outcome, RECORD, SpoolFile, Statement};
use sql::ast::quote;
use sql::{CsvRecords, FileRecords, LoadOptions, RecordWidth};

use super::columns::ReadFile;
use super::parquet::ParquetRows;
use super::parquet_source::ParquetAhead;
use super::records::RecordScan;
use super::source::{FileSource, refused};
use super::{ALL_FAULTS_MAX, LoadedFile, columns};
use crate::Error;
use crate::pipeline::Result;
use crate::storage::stage_files::StageFile;

/// A file in the spool, and what is taken of it by which query.
pub(super) struct SpooledQuery {
    pub spool: SpoolFile,
    pub query: String,
    pub values: Vec<String>,
}

impl FileSource<'_> {
    /// Reads the files in their order; how many rows each has.
    pub async fn fill(&mut self, files: &[StageFile]) -> Result<Vec<LoadedFile>> {
        let mut loaded = Vec::with_capacity(files.len());
        let rows = self.rows;
        let (mut faults, mut ahead) = (0, None);
        for file in files {
            if let Some(load) = rows.judged() {
                let load = load.behind(loaded.iter().map(|before: &LoadedFile| before.rows).sum());
                if load.shows() == Some(0) {
                    break;
                }
                let (judged, _) = Box::pin(self.judged(file, load, false)).await?;
                faults += judged.faults.len();
                if faults > ALL_FAULTS_MAX {
                    let message = format!("more than {ALL_FAULTS_MAX} records fail: name fewer files");
                    return Err(Error::InvalidParams { field: "FILES", message });
                }
                loaded.push(judged);
                continue;
            }
            let count = match &rows.reading.records {
                FileRecords::Csv(signs) => Box::pin(self.csv(file, signs)).await?,
                FileRecords::Json { is_array } => Box::pin(self.json(file, *is_array)).await?,
                FileRecords::Parquet { binary_is_text } => {
                    let ahead = match &mut ahead {
                        Some(ahead) => ahead,
                        none => none.insert(ParquetAhead::of(self.parquet_source()?, files)),
                    };
                    Box::pin(self.parquet(file, ahead, *binary_is_text)).await?
                }
            };
            loaded.push(LoadedFile::whole(file, count));
        }
        Ok(loaded)
    }

    async fn csv(&mut self, file: &StageFile, signs: &CsvRecords) -> Result<u64> {
        let Some((read, records)) = Box::pin(self.csv_file(file, signs)).await? else { return Ok(0) };
        let count = self.written(file, &read.values, &read.query).await?;
        if count == records {
            return Ok(count);
        }
        let reason = format!("{count} rows were read of {records} that it has");
        Err(refused(file, FileFault { line: None, reason }))
    }

    /// A file of CSV, and how many records it has; nothing where it has none.
    pub(super) async fn csv_file(
        &mut self,
        file: &StageFile,
        signs: &CsvRecords,
    ) -> Result<Option<(SpooledQuery, u64)>> {
        let mut scan = RecordScan::new(signs);
        let spool = self.csv_spooled((file, signs), |part| scan.take(&part).map(|()| part)).await?;
        let totals = scan.end().map_err(|fault| refused(file, fault))?;
        let records = totals.records.saturating_sub(u64::from(signs.has_header));
        if records == 0 {
            return Ok(None);
        }
        let (query, values) = self.csv_query(file, &spool, signs, totals.values).await?;
        Ok(Some((SpooledQuery { spool, query, values }, records)))
    }

    /// The query of a file whose records have so many values, and the values that are taken of it.
    async fn csv_query(
        &mut self,
        file: &StageFile,
        spool: &SpoolFile,
        signs: &CsvRecords,
        most: usize,
    ) -> Result<(String, Vec<String>)> {
        let CsvRecords { delimiter, quote, escape, skipped, nulls, has_header, width: of_records, .. } = signs.clone();
        let is_padded = self.rows.selects() || of_records == RecordWidth::Any;
        let signs = CsvSigns { delimiter, quote, escape, skipped, nulls, is_padded, has_header };
        let width = self.rows.width();
        let (read, values) = match self.rows.load.and_then(|load| load.by_name) {
            Some(how) => {
                let texts = columns::numbered(most);
                let signs = CsvSigns { is_padded: true, has_header: false, ..signs.clone() };
                let rows = spool.csv_rows(&signs, &texts).map_err(|error| self.query.fault(error))?;
                let (deadline, cancel) = (self.query.deadline, &self.query.ask.cancel);
                let names = self.session.first_texts(&rows, &texts, deadline, cancel).await;
                let names = names.map_err(|error| self.fault(file, error))?;
                columns::headed(self.rows, ReadFile::whole(file), (&names, how))
            }
            None if self.rows.external.is_some() => {
                let read = columns::numbered(most);
                let origin = columns::origin(self.rows, ReadFile::whole(file));
                let values = std::iter::once(columns::object(&read)).chain(origin).collect();
                (read, values)
            }
            None if self.rows.selects() => {
                let read = columns::numbered(most.max(width));
                let taken = columns::named(&read).into_iter().take(width);
                let values = taken.chain(columns::origin(self.rows, ReadFile::whole(file))).collect();
                (read, values)
            }
            None => {
                let mut read = columns::typed(self.rows);
                let values = columns::named(&read);
                if of_records == RecordWidth::Any {
                    read.extend(columns::numbered(most).into_iter().skip(values.len()));
                }
                (read, values)
            }
        };
        let query = spool.csv_rows(&signs, &read).map_err(|error| self.query.fault(error))?;
        Ok((query, values))
    }

    async fn json(&mut self, file: &StageFile, is_array: bool) -> Result<u64> {
        let spool = self.json_spooled(file, is_array).await?;
        if spool.bytes() == 0 {
            return Ok(0);
        }
        let records = spool.json_records(is_array).map_err(|error| self.query.fault(error))?;
        let values = match self.rows.load {
            Some(LoadOptions { by_name: Some(how), .. }) => {
                let keys = self.session.record_keys(&records, self.query.deadline, &self.query.ask.cancel).await;
                let keys = keys.map_err(|error| self.fault(file, error))?;
                let read = ReadFile::whole(file);
                columns::cast(self.rows, &columns::member_values(self.rows, read, (&keys, how)))
            }
            _ if self.rows.selects() => columns::whole(self.rows, ReadFile::whole(file)),
            _ => vec![quote::name(RECORD)],
        };
        self.written(file, &values, &records).await
    }

    async fn parquet(&mut self, file: &StageFile, ahead: &mut ParquetAhead, binary_is_text: bool) -> Result<u64> {
        let read = Box::pin(self.parquet_file(file, ahead, binary_is_text)).await?;
        self.written(file, &read.values, &read.query).await
    }

    pub(super) async fn parquet_file(
        &mut self,
        file: &StageFile,
        ahead: &mut ParquetAhead,
        binary_is_text: bool,
    ) -> Result<SpooledQuery> {
        let spool = self.parquet_spool(ahead).await?;
        let rows = ParquetRows::of(&spool, binary_is_text, self.rows, (self.session, self.query)).await;
        let rows = rows.map_err(|error| self.fault(file, error))?;
        let read = ReadFile::whole(file);
        let Some(LoadOptions { by_name: Some(how), .. }) = self.rows.load else {
            let is_whole = !self.rows.selects();
            let values = if is_whole { vec![quote::name(RECORD)] } else { columns::whole(self.rows, read) };
            return Ok(SpooledQuery { query: rows.records(), spool, values });
        };
        let values = columns::cast(self.rows, &columns::column_values(self.rows, read, (&rows.names, how)));
        Ok(SpooledQuery { query: rows.query, spool, values })
    }

    /// Writes the values of a query of a file; how many rows it has.
    pub(super) async fn written(&mut self, file: &StageFile, values: &[String], query: &str) -> Result<u64> {
        let sql = columns::filled(self.rows, values, query);
        let statement = Statement { sql, params: Vec::new(), writes: true };
        match self.session.run(statement, self.query.deadline, &self.query.ask.cancel).await {
            Ok(Outcome::Changed { rows, .. }) => Ok(rows),
            Ok(Outcome::Rows(_)) => Err(Error::Unverified { why: "a file is written to no table".to_owned() }),
            Err(error) => Err(self.fault(file, error)),
        }
    }

    /// What an engine's error says of a file.
    pub(super) fn fault(&self, file: &StageFile, error: engine::Error) -> Error {
        of_file(&file.path, &self.rows.reading.records, self.query.fault(error))
    }
}

/// What an error says of the file that is read.
pub(super) fn of_file(path: &str, records: &FileRecords, error: Error) -> Error {
    let Error::Engine(error) = error else { return error };
    let reason = match error.kind {
        Kind::Conversion | Kind::OutOfRange | Kind::InvalidInput => Some("a value is not of its column's type"),
        // its footer says sizes that nothing has
        Kind::Internal | Kind::OutOfMemory if matches!(records, FileRecords::Parquet { .. }) => {
            Some("it is no whole Parquet file, or needs more memory than there is")
        }
        _ => None,
    };
    let told = |reason: &str| FileFault { line: None, reason: reason.to_owned() };
    match FileFault::of(&error).or_else(|| reason.map(told)) {
        Some(fault) => Error::StagedFileRefused { path: path.to_owned(), fault },
        None => Error::Engine(error),
    }
}
