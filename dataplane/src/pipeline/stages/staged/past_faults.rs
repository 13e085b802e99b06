//! The records that an earlier load could not load, as rows: its files are read once more, as it has read them.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef};
use engine::{FileFault, Statement};
use sql::ast::quote;
use sql::{PastFile, PastRows};

use super::answered::faults;
use super::source::{FileSource, refused};
use super::{ALL_FAULTS_MAX, LoadedFile, RecordFault};
use crate::Error;
use crate::encode::cell::{self, Cell};
use crate::pipeline::Result;
use crate::storage::stage_files::StageFile;

/// Rows that one statement writes.
const WRITTEN_MAX: usize = 1_000;

/// A file of the load, and what the stage has of it now; none of one that is gone.
type FoundFile = (String, Option<StageFile>);

impl FileSource<'_> {
    /// Fills the table with a row for each record that fails; tells the files before they are read for it.
    pub async fn past_faults(&mut self, past: &PastRows, reads: impl FnOnce(&[StageFile]) + Send) -> Result<()> {
        self.made().await?;
        let Some(load) = past.rows.load.filter(|_| !past.files.is_empty()) else { return Ok(()) };
        let found = self.found(&past.files).await?;
        let there: Vec<StageFile> = found.iter().filter_map(|(_, there)| there.clone()).collect();
        reads(&there);
        let (mut told, mut count) = (Vec::with_capacity(found.len()), 0);
        for (path, there) in found {
            let judged = match there {
                Some(there) => {
                    let (pipeline, query, session) = (self.pipeline, self.query, &mut *self.session);
                    let mut as_loaded = FileSource { pipeline, query, session, rows: &past.rows };
                    Box::pin(as_loaded.judged(&there, load, false)).await?.0
                }
                None => missing(path),
            };
            count += judged.faults.len();
            if count > ALL_FAULTS_MAX {
                let message = format!(
                    "more than {ALL_FAULTS_MAX} records of it failed: look at fewer FILES with \
                     VALIDATION_MODE = RETURN_ALL_ERRORS"
                );
                return Err(Error::InvalidParams { field: "JOB_ID", message });
            }
            told.push(judged);
        }
        self.filled_with(&told).await
    }

    /// The files of the load. One that has changed since is another, and ends the statement before any is read.
    async fn found(&mut self, files: &[PastFile]) -> Result<Vec<FoundFile>> {
        let store = self.store()?;
        let listed = self.query.in_time(Box::pin(store.list(prefix(files)))).await?;
        let mut there: HashMap<String, StageFile> = listed.into_iter().map(|file| (file.path.clone(), file)).collect();
        let found = |file: &PastFile| match there.remove(&file.path) {
            Some(now) if now.bytes != file.bytes || now.md5 != file.md5 => {
                let reason = "it has changed since that load: load it again, and validate that load".to_owned();
                Err(refused(&now, FileFault { line: None, reason }))
            }
            now => Ok((file.path.clone(), now)),
        };
        files.iter().map(found).collect()
    }

    async fn filled_with(&mut self, files: &[LoadedFile]) -> Result<()> {
        let files: Vec<&LoadedFile> = files.iter().collect();
        let columns = faults(&files);
        let count = columns.first().map_or(0, Array::len);
        let rows: Vec<String> = (0..count).map(|row| values(&columns, row)).collect();
        for some in rows.chunks(WRITTEN_MAX) {
            let sql = format!("insert into {} values {}", self.rows.place(), some.join(", "));
            let statement = Statement { sql, params: Vec::new(), writes: true };
            let ran = self.session.run(statement, self.query.deadline, &self.query.ask.cancel).await;
            ran.map(drop).map_err(|error| self.query.fault(error))?;
        }
        Ok(())
    }
}

/// A row of these columns, as a statement writes it.
fn values(columns: &[ArrayRef], row: usize) -> String {
    let value = |column: &ArrayRef| match cell::at(column.as_ref(), row) {
        Cell::Text(text) => quote::text(text),
        Cell::Integer(number) => number.to_string(),
        _ => "null".to_owned(),
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    format!("({})", values.join(", "))
}

/// What is told of a file that the stage has no more, as is documented.
fn missing(path: String) -> LoadedFile {
    let fault = FileFault { line: None, reason: "the file is missing: the stage has it no more".to_owned() };
    let faults = vec![RecordFault { fault, column: None }];
    LoadedFile { path, parsed: 0, rows: 0, limit: 1, failed: 1, faults }
}

/// How the paths of all of these begin.
fn prefix(files: &[PastFile]) -> &str {
    let mut paths = files.iter().map(|file| file.path.as_str());
    let first = paths.next().unwrap_or_default();
    paths.fold(first, |common, path| {
        let same = common.chars().zip(path.chars()).take_while(|(one, other)| one == other);
        let length: usize = same.map(|(one, _)| one.len_utf8()).sum();
        common.get(..length).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_looked_for_by_what_their_paths_begin_with() {
        let common = |paths: &[&str]| {
            let file = |path: &&str| PastFile { path: (*path).to_owned(), bytes: 0, md5: String::new() };
            prefix(&paths.iter().map(file).collect::<Vec<_>>()).to_owned()
        };
        assert_eq!(common(&["in/a.csv"]), "in/a.csv");
        assert_eq!(common(&["in/a.csv", "in/ab.csv", "in/b.csv"]), "in/");
        assert_eq!(common(&["ä.csv", "ö.csv"]), "");
        assert_eq!(common(&[]), "");
    }
}
