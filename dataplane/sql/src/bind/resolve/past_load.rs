//! `VALIDATE` of an earlier COPY INTO: the stage that it read stands for its table, and tells of the records that failed.
//!
//! What the load was asked is kept in our own words. Here it is bound once more, by the names and the stage of now.

use std::fmt::Write;
use std::sync::Arc;

use sqlparser::ast::{ObjectName, TableFactor};

use super::{Binder, located, resolve};
use crate::ast::error::Error;
use crate::ast::names::{self, ours};
use crate::ast::quote;
use crate::catalog::definition::Definition;
use crate::catalog::file_format::FormatOptions;
use crate::catalog::own_stage;
use crate::catalog::past_load::FAULT_COLUMNS;
use crate::catalog::staged_rows::{LoadOptions, MetadataColumn, NameMatching, OnError, PastRows, StagedRows};
use crate::catalog::table::{Column, Table};
use crate::syntax::parse::parse;

impl Binder<'_> {
    /// Whether VALIDATE names this table. A name of a view's text may have the same place, and is another.
    pub(super) fn validates(&self, name: &ObjectName) -> bool {
        self.expanded.views == 0 && self.job_at(name).is_some()
    }

    /// Which of the statement's stages is the one behind this name.
    fn job_at(&self, name: &ObjectName) -> Option<usize> {
        let at = names::last(name)?.span.start;
        self.stages.reads.iter().position(|read| read.job.is_some() && read.at == at)
    }

    /// What stands for the name of a table whose load is asked for.
    pub(super) fn past_faults(&mut self, factor: &mut TableFactor) -> Result<(), Error> {
        let TableFactor::Table { name, alias, version, .. } = factor else { return Ok(()) };
        if self.is_in_view() {
            return Err(located(Error::unsupported("VALIDATE in a view"), name));
        }
        if version.is_some() {
            return Err(Error::unsupported("time travel (AT, BEFORE)"));
        }
        let Some(number) = self.job_at(name) else {
            return Err(located(Error::unsupported("VALIDATE here"), name));
        };
        let table = Arc::clone(self.find(name)?);
        let rows = self.past_rows(&table, number).map_err(|error| located(error, name))?;
        // no row of the table is read, but whoever asks of its loads needs the right to read it
        self.views.push(table.path());
        self.reads_rows(rows, name, alias);
        Ok(())
    }

    fn past_rows(&self, table: &Table, number: usize) -> Result<StagedRows, Error> {
        let past = self.session.past_load.as_ref().ok_or_else(|| Error::unsupported("VALIDATE here"))?;
        if table.path().to_lowercase() != past.table {
            return Err(Error::syntax("that load filled another table: name the table that it has filled"));
        }
        let said = past.said.as_ref().ok_or_else(|| Error::unsupported("VALIDATE of a COPY INTO from a query"))?;
        let target = [&table.schema, &table.name].map(|part| quote::name(part)).join(".");
        let text = format!("COPY INTO {target}{said} VALIDATION_MODE = 'RETURN_ALL_ERRORS'");
        let anew = parse(&text).and_then(|statement| resolve(statement, self.catalog, self.session));
        let anew = anew.map_err(|error| Error { position: None, snippet: None, ..error })?;
        let found = anew.staged().first().filter(|rows| rows.stage_id == past.stage_id);
        let gone = || Error::syntax("the stage of that load is gone: make it again, and load its files anew");
        let read = found.ok_or_else(gone)?.clone();
        let past = PastRows { rows: Box::new(read.clone()), files: past.files.clone() };
        Ok(StagedRows {
            kept_as: ours::staged(number),
            columns: FAULT_COLUMNS.map(|(column, type_name)| Column::new(column, type_name)).to_vec(),
            filled: Vec::new(),
            load: None,
            said: None,
            past: Some(past),
            ..read
        })
    }
}

/// What stands behind the table of a COPY INTO, as it is read once more; none where a query makes the rows.
pub(super) fn said(
    (stage, format): (&Definition, &FormatOptions),
    (filled, metadata): (&[Column], &[MetadataColumn]),
    load: Option<LoadOptions>,
) -> Option<String> {
    let load = load.filter(|load| !load.transforms)?;
    let mut said = String::new();
    if load.by_name.is_none() {
        let columns: Vec<String> = filled.iter().map(|column| quote::name(&column.name)).collect();
        let _ = write!(said, " ({})", columns.join(", "));
    }
    let stage = quote::text(&format!("@{}", written(stage)));
    let _ = write!(said, " FROM {stage} FILE_FORMAT = ({})", format.written());
    if load.on_error != OnError::Abort {
        said.push_str(" ON_ERROR = 'CONTINUE'");
    }
    match load.by_name {
        None => {}
        Some(NameMatching::CaseSensitive) => said.push_str(" MATCH_BY_COLUMN_NAME = 'CASE_SENSITIVE'"),
        Some(NameMatching::CaseInsensitive) => said.push_str(" MATCH_BY_COLUMN_NAME = 'CASE_INSENSITIVE'"),
    }
    if !metadata.is_empty() {
        let each: Vec<String> = metadata.iter().map(|one| format!("{} = {}", one.column, one.value)).collect();
        let _ = write!(said, " INCLUDE_METADATA = ({})", each.join(", "));
    }
    if load.truncates {
        said.push_str(" TRUNCATECOLUMNS = TRUE");
    }
    Some(said)
}

/// The full name of a stage, as it stands behind the `@`.
fn written(stage: &Definition) -> String {
    let (schema, called) = (quote::name(&stage.schema), stage.called());
    match called.strip_prefix(own_stage::TABLE_SIGN) {
        _ if called == own_stage::USER => called.to_owned(),
        Some(table) => format!("{schema}.{}{}", own_stage::TABLE_SIGN, quote::name(table)),
        None => format!("{schema}.{}", quote::name(called)),
    }
}

#[cfg(test)]
mod tests;
