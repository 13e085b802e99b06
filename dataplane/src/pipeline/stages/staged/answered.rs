//! The answer of COPY INTO: a row for each file, or for each record that fails, in the warehouse's columns.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use sql::ToldFiles;

use super::shown::ShownRows;
use super::{LoadReport, LoadedFile, RecordFault};
use crate::Error;
use crate::pipeline::Result;
use crate::pipeline::stages::copy_report::{COLUMNS, TEXT, columns, schema};
use crate::pipeline::stages::execute::UnmaskedRows;

const NONE_LOADED: &str = "Copy executed with 0 files processed.";

/// The answer of a statement that has loaded these files.
pub(in crate::pipeline) fn told(rows: UnmaskedRows, report: LoadReport) -> Result<UnmaskedRows> {
    let LoadReport { files: loaded, shown } = report;
    if let Some(ShownRows { schema, columns, batches }) = shown {
        return Ok(UnmaskedRows { schema, columns, first: batches, rest: None, changed: None, ..rows });
    }
    let unknown = || Error::Unverified { why: "a load has no report".to_owned() };
    let load = rows.about.staged.iter().find_map(|staged| staged.load).ok_or_else(unknown)?;
    let reported = columns(&rows.about).ok_or_else(unknown)?;
    let schema = schema(reported);
    let is_told = |file: &&LoadedFile| load.told == ToldFiles::All || file.failed > 0;
    let files: Vec<&LoadedFile> = loaded.iter().filter(is_told).collect();
    let values = match load.validates {
        Some(_) => faults(&files),
        None if loaded.is_empty() => none(),
        None => each(&files),
    };
    let batch = RecordBatch::try_new(Arc::clone(&schema), values);
    let batch = batch.map_err(|error| Error::Unverified { why: error.to_string() })?;
    let column = |(name, type_name): &(&str, &str)| engine::Column {
        name: (*name).to_owned(),
        type_name: (*type_name).to_owned(),
        nullable: true,
    };
    let columns = reported.iter().map(column).collect();
    Ok(UnmaskedRows { schema, columns, first: VecDeque::from([batch]), rest: None, ..rows })
}

/// One row, which says so: of the same columns, since a client has been told of them before.
fn none() -> Vec<ArrayRef> {
    let empty = |(name, kind): &(&str, &str)| match (*name, *kind) {
        ("status", _) => texts(std::iter::once(Some(NONE_LOADED))),
        (_, TEXT) => texts(std::iter::once(None)),
        _ => numbers(std::iter::once(None)),
    };
    COLUMNS.iter().map(empty).collect()
}

const fn status(file: &LoadedFile) -> &'static str {
    match (file.failed, file.rows) {
        (0, _) => "LOADED",
        (_, 0) => "LOAD_FAILED",
        _ => "PARTIALLY_LOADED",
    }
}

/// The columns over all files.
fn each(loaded: &[&LoadedFile]) -> Vec<ArrayRef> {
    let counts = |count: fn(&LoadedFile) -> u64| numbers(loaded.iter().map(|file| i64::try_from(count(file)).ok()));
    let first = || loaded.iter().map(|file| file.faults.first());
    vec![
        texts(loaded.iter().map(|file| Some(file.path.as_str()))),
        texts(loaded.iter().map(|file| Some(status(file)))),
        counts(|file| file.parsed),
        counts(|file| file.rows),
        counts(|file| file.limit),
        counts(|file| file.failed),
        texts(first().map(|first| first.map(|first| first.fault.reason.as_str()))),
        numbers(first().map(|first| first.and_then(line))),
        numbers(first().map(|_| None)),
        texts(first().map(|first| first.and_then(|first| first.column.as_deref()))),
    ]
}

/// The columns over all faults of files that were only looked at.
pub(super) fn faults(files: &[&LoadedFile]) -> Vec<ArrayRef> {
    let each = || files.iter().flat_map(|file| file.faults.iter().map(move |fault| (file.path.as_str(), fault)));
    let category = |fault: &RecordFault| if fault.column.is_some() { "conversion" } else { "parsing" };
    let unknown = || numbers(each().map(|_| None));
    vec![
        texts(each().map(|(_, fault)| Some(fault.fault.reason.as_str()))),
        texts(each().map(|(path, _)| Some(path))),
        numbers(each().map(|(_, fault)| line(fault))),
        unknown(),
        unknown(),
        texts(each().map(|(_, fault)| Some(category(fault)))),
        unknown(),
        texts(each().map(|_| Some("22000"))),
        texts(each().map(|(_, fault)| fault.column.as_deref())),
        unknown(),
        numbers(each().map(|(_, fault)| line(fault))),
        texts(each().map(|_| None)),
    ]
}

fn line(fault: &RecordFault) -> Option<i64> {
    fault.fault.line.and_then(|line| i64::try_from(line).ok())
}

fn texts<'t>(values: impl Iterator<Item = Option<&'t str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

fn numbers(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}
