//! External tables: which files one has, and its rows of them, in the transaction of the statement that reads it.
//!
//! The files are those of the last refresh. One that has changed since, or is gone, ends the statement, whatever part of
//! the table it asks for. No error names a file or a value of it: a row filter may hide them from who reads the table.

use std::collections::HashSet;

use arrow::array::RecordBatch;
use engine::{FileFault, Outcome, Session, Statement};
use sql::ast::quote;
use sql::{EngineSql, ExternalChange, ExternalRows, FILE_NAME, ListChange, StagedRows};

use super::source::FileSource;
use super::unnamed;
use crate::Error;
use crate::encode::cell::Cell;
use crate::pipeline::stages::snapshot::step_agrees;
use crate::pipeline::{Pipeline, Query, Result};
use crate::storage::external_files::{self, KnownFiles};
use crate::storage::stage_files::StageFile;
use crate::storage::system_tables;

/// What a statement writes down of the files of an external table.
pub(super) async fn changed(
    pipeline: &Pipeline,
    query: &Query,
    session: &mut Session,
    change: ExternalChange,
) -> Result<Vec<String>> {
    match change {
        ExternalChange::Made { rows, replaces, is_filled } => {
            let found = if is_filled { found(pipeline, query, session, &rows).await? } else { Vec::new() };
            let made = external_files::made(id(&rows)?, &found);
            Ok(replaces.as_deref().map(external_files::forgotten).into_iter().chain(made).collect())
        }
        ExternalChange::Refreshed { rows } => {
            let found = found(pipeline, query, session, &rows).await?;
            Ok(external_files::refreshed(id(&rows)?, &rows.chosen.prefix, &found))
        }
        ExternalChange::Listed { rows, paths, change: ListChange::Added } => {
            let found = found(pipeline, query, session, &rows).await?;
            Ok(external_files::added(id(&rows)?, &named(found, &paths)?))
        }
        ExternalChange::Listed { rows, paths, change: ListChange::Removed } => {
            Ok(vec![external_files::removed(id(&rows)?, &paths)])
        }
        ExternalChange::Dropped { id } => Ok(vec![external_files::forgotten(&id)]),
        ExternalChange::Nothing => Ok(Vec::new()),
    }
}

fn id(rows: &StagedRows) -> Result<&str> {
    let external = rows.external.as_ref();
    let unknown = || Error::Unverified { why: "an external table has no id".to_owned() };
    external.map(|external| external.id.as_str()).ok_or_else(unknown)
}

/// The files that the stage has for it now.
async fn found(pipeline: &Pipeline, query: &Query, session: &mut Session, rows: &StagedRows) -> Result<Vec<StageFile>> {
    FileSource { pipeline, query, session, rows }.chosen().await
}

/// The files of these paths, each of which must be there.
fn named(mut found: Vec<StageFile>, paths: &[String]) -> Result<Vec<StageFile>> {
    if let Some(path) = paths.iter().find(|path| !found.iter().any(|file| file.path == **path)) {
        let reason = "the stage has no such file, or the table's PATTERN leaves it out".to_owned();
        return Err(Error::StagedFileRefused { path: path.clone(), fault: FileFault { line: None, reason } });
    }
    found.retain(|file| paths.contains(&file.path));
    Ok(found)
}

impl FileSource<'_> {
    /// Makes the rows of an external table; the files that were read for them.
    pub async fn external(&mut self, external: &ExternalRows) -> Result<Vec<StageFile>> {
        let known = KnownFiles::of(self.session, self.query.deadline, &external.id).await?;
        let known = known.ok_or(Error::Redefined)?; // it was made anew, or dropped, since the statement was judged
        let listed = self.chosen().await.map_err(|error| hidden(external, error))?;
        let reason = format!("its files have changed: say ALTER EXTERNAL TABLE {} REFRESH", external.path());
        let mut files = known.unchanged(listed).ok_or_else(|| told(external, reason))?;
        self.kept(external.created()).await?;
        self.made().await?;
        let made = sql::external_query(self.rows, external)?;
        step_agrees(self.query, self.session, &made.sql, &made.tables).await?;
        if let Some(asked) = sql::external_paths(self.rows, external)? {
            files = Box::pin(self.asked(external, files, &asked)).await?;
        }
        for file in &files {
            self.made().await?; // nothing of the file before is left
            let filled = Box::pin(self.fill(std::slice::from_ref(file))).await;
            filled.map_err(|error| hidden(external, error))?;
            let sql = format!("insert into {} {}", external.place(), made.sql);
            if let Err(error) = self.written_out(sql).await {
                return Err(hidden(external, self.fault(file, error)));
            }
        }
        self.made().await?;
        Ok(files)
    }

    /// The files whose paths may be those of rows that are asked for.
    async fn asked(
        &mut self,
        external: &ExternalRows,
        files: Vec<StageFile>,
        asked: &EngineSql,
    ) -> Result<Vec<StageFile>> {
        if files.is_empty() {
            return Ok(files);
        }
        step_agrees(self.query, self.session, &asked.sql, &asked.tables).await?;
        let paths: Vec<String> = files.iter().map(|file| format!("({})", quote::text(&file.path))).collect();
        let (place, column) = (self.rows.place(), quote::name(FILE_NAME));
        let sql = format!("insert into {place} ({column}) values {}", paths.join(", "));
        self.written_out(sql).await.map_err(|error| hidden(external, self.query.fault(error)))?;
        let step = (asked.sql.clone(), Vec::new());
        let read = system_tables::read(self.session, self.query.deadline, step).await;
        let batches = read.map_err(|error| hidden(external, error))?;
        let kept: HashSet<&str> = batches.iter().flat_map(paths_of).collect();
        Ok(files.into_iter().filter(|file| kept.contains(file.path.as_str())).collect())
    }

    async fn kept(&mut self, sql: String) -> Result<()> {
        let statement = Statement { sql, params: Vec::new(), writes: true };
        let kept = self.session.keep(statement, self.query.deadline, &self.query.ask.cancel).await;
        kept.map_err(|error| self.query.fault(error))
    }

    async fn written_out(&mut self, sql: String) -> std::result::Result<Outcome, engine::Error> {
        let statement = Statement { sql, params: Vec::new(), writes: true };
        self.session.run(statement, self.query.deadline, &self.query.ask.cancel).await
    }
}

/// The texts of the first column.
fn paths_of(batch: &RecordBatch) -> impl Iterator<Item = &str> {
    (0..batch.num_rows()).filter_map(move |row| match system_tables::column(batch, 0, row) {
        Cell::Text(path) => Some(path),
        _ => None,
    })
}

/// Why a table cannot be read, in words that tell of no file.
fn told(external: &ExternalRows, reason: String) -> Error {
    unnamed::told(called(external), reason)
}

fn called(external: &ExternalRows) -> String {
    format!("external table {}", external.path())
}

/// What is wrong with a file, without its name, its line and its values.
fn hidden(external: &ExternalRows, error: Error) -> Error {
    unnamed::fault(&called(external), error)
}
