//! A file that COPY INTO's own statement reads, through a temporary view: its rows are written once.
//!
//! Else they are copied into a temporary table before, of which the statement reads. A view stays in its session as that
//! does, so it is made where the session ends with the statement. Its columns have the types of the table that is
//! loaded: no value of it fails on its way into that, so an error of a value is one of the file.

use engine::{FileFault, Kind, SpoolFile, Statement};
use sql::ast::quote;
use sql::{Column, FileRecords};

use super::parquet_source::ParquetAhead;
use super::rows::{self, SpooledQuery};
use super::source::FileSource;
use super::{LoadedFile, TakenIn};
use crate::Error;
use crate::pipeline::Result;
use crate::storage::stage_files::StageFile;

/// The file behind a view, there as long as this is.
#[derive(Debug)]
pub(super) struct ViewedFile {
    path: String,
    records: FileRecords,
    /// Its rows were counted by its footer alone.
    is_counted_by_footer: bool,
    pub spool: SpoolFile,
}

impl ViewedFile {
    /// That the statement has read other than as many rows as were counted before.
    pub fn miscounted(&self, counted: u64, read: u64) -> Error {
        let fault = miscount(self.is_counted_by_footer, counted, read);
        Error::StagedFileRefused { path: self.path.clone(), fault }
    }
}

impl FileSource<'_> {
    /// Reads files for COPY INTO; those that are viewed the statement reads itself.
    pub async fn loaded(
        &mut self,
        files: &[StageFile],
        is_viewed: bool,
        taken: &mut TakenIn,
    ) -> Result<Vec<LoadedFile>> {
        match files {
            [file] if is_viewed => {
                let (loaded, viewed) = Box::pin(self.viewed(file)).await?;
                taken.viewed = viewed;
                Ok(vec![loaded])
            }
            _ if is_viewed => match Box::pin(self.viewed_together(files)).await {
                // others have taken the room meanwhile: one behind the other they need less of it
                Err(Error::Engine(error)) if error.kind == Kind::TempSpace => Box::pin(self.fill(files)).await,
                read => {
                    let loaded;
                    (loaded, taken.several) = read?;
                    Ok(loaded)
                }
            },
            _ => Box::pin(self.fill(files)).await,
        }
    }

    /// Whether the statement may read the files itself, and does the same then: all of them are loaded as they are.
    pub fn may_be_viewed(&self, files: &[StageFile]) -> bool {
        let rows = self.rows;
        let is_plain = rows.load.is_some_and(|load| load.validates.is_none() && !load.transforms);
        let is_json = matches!(rows.reading.records, FileRecords::Json { .. });
        let has_types = types(&rows.columns).eq(types(&rows.filled));
        let are_few = files.len() == 1 || self.may_be_together(files);
        are_few && is_plain && !is_json && has_types && self.query.ask.transaction.is_none()
    }

    async fn viewed(&mut self, file: &StageFile) -> Result<(LoadedFile, Option<ViewedFile>)> {
        let rows = self.rows;
        if let Some(load) = rows.judged() {
            return Box::pin(self.judged(file, load, true)).await;
        }
        let read = match &rows.reading.records {
            FileRecords::Csv(signs) => Box::pin(self.csv_file(file, signs)).await?,
            FileRecords::Parquet { binary_is_text } => {
                let mut alone = ParquetAhead::of(self.parquet_source()?, std::slice::from_ref(file));
                Some(Box::pin(self.counted_parquet(file, &mut alone, *binary_is_text)).await?)
            }
            FileRecords::Json { .. } => None,
        };
        let Some((read, records)) = read else { return Ok((LoadedFile::whole(file, 0), None)) };
        let mut viewed = Box::pin(self.view_of_values(file, &read.values, &read.query, read.spool)).await?;
        viewed.is_counted_by_footer = matches!(rows.reading.records, FileRecords::Parquet { .. });
        Ok((LoadedFile::whole(file, records), Some(viewed)))
    }

    /// Puts a view of these values of a query in the place of the table of a file's rows.
    pub async fn view_of_values(
        &mut self,
        file: &StageFile,
        values: &[String],
        query: &str,
        spool: SpoolFile,
    ) -> Result<ViewedFile> {
        self.view_of(file, &self.valued(values, query), spool).await
    }

    /// A query of these values of another, by the names of the columns.
    pub(super) fn valued(&self, values: &[String], query: &str) -> String {
        let column = |(column, value): (&Column, &String)| format!("{value} as {}", quote::name(&column.name));
        let columns: Vec<_> = self.rows.columns.iter().zip(values).map(column).collect();
        format!("select {} from ({query}) as file", columns.join(", "))
    }

    /// The same of all rows of a query.
    pub async fn view_of(&mut self, file: &StageFile, query: &str, spool: SpoolFile) -> Result<ViewedFile> {
        self.put_view(query).await.map_err(|error| self.fault(file, error))?;
        let (path, records) = (file.path.clone(), self.rows.reading.records.clone());
        Ok(ViewedFile { path, records, is_counted_by_footer: false, spool })
    }

    /// Puts a view in the place of the table of the files' rows.
    pub(super) async fn put_view(&mut self, query: &str) -> std::result::Result<(), engine::Error> {
        let view = format!("create temp view {} as {query}", quote::name(&self.rows.kept_as));
        for sql in [format!("drop table {}", self.rows.place()), view] {
            let statement = Statement { sql, params: Vec::new(), writes: true };
            self.session.keep(statement, self.query.deadline, &self.query.ask.cancel).await?;
        }
        Ok(())
    }

    /// The next Parquet file, and how many rows it has by its footer.
    pub(super) async fn counted_parquet(
        &mut self,
        file: &StageFile,
        ahead: &mut ParquetAhead,
        binary_is_text: bool,
    ) -> Result<(SpooledQuery, u64)> {
        let read = Box::pin(self.parquet_file(file, ahead, binary_is_text)).await?;
        let count = self.session.row_count(&read.query, self.query.deadline, &self.query.ask.cancel).await;
        let count = count.map_err(|error| self.fault(file, error))?;
        Ok((read, count))
    }
}

/// The words for a file of which so many records were counted, and others read.
pub(super) fn miscount(is_by_footer: bool, counted: u64, read: u64) -> FileFault {
    let reason = if is_by_footer {
        format!("its footer says {counted} rows, and {read} were read of it")
    } else {
        format!("{read} rows were read of {counted} that it has")
    };
    FileFault { line: None, reason }
}

fn types(columns: &[Column]) -> impl Iterator<Item = &str> {
    columns.iter().map(|column| column.type_name.as_str())
}

/// What an error of a load's statement says of the file that it reads.
pub(super) fn fault(viewed: Option<&ViewedFile>, error: Error) -> Error {
    match viewed {
        Some(ViewedFile { path, records, .. }) if !is_of_length(&error) => rows::of_file(path, records, error),
        _ => error,
    }
}

/// What an error of a query says of the file that it reads: only what surely is of that, as it may fail by itself.
pub(super) fn fault_of_query(viewed: Option<&ViewedFile>, error: Error) -> Error {
    let is_of_file = matches!(&error, Error::Engine(error) if is_of_reader(error));
    match viewed {
        Some(ViewedFile { path, records, .. }) if is_of_file => rows::of_file(path, records, error),
        _ => error,
    }
}

fn is_of_reader(error: &engine::Error) -> bool {
    error.kind == Kind::Internal || (error.kind == Kind::InvalidInput && FileFault::of(error).is_some())
}

/// Whether a text was too long for its column, which the statement finds and no reader of the file.
pub(super) fn is_of_length(error: &Error) -> bool {
    let Error::Engine(error) = error else { return false };
    FileFault::of(error).is_none() && error.message.contains(sql::dialect::TOO_LONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_counted_wrongly_is_told_by_what_counted_it() {
        let by_footer = miscount(true, 5, 3);
        assert_eq!(by_footer.reason, "its footer says 5 rows, and 3 were read of it");
        let by_reading = miscount(false, 5, 3);
        assert_eq!(by_reading.reason, "3 rows were read of 5 that it has");
    }
}
