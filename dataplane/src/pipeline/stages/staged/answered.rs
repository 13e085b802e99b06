//! What COPY INTO answers: a row for each file, in the warehouse's columns.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use sql::{LoadOptions, ToldFiles};

use super::{LoadedFile, RecordFault};
use crate::Error;
use crate::pipeline::Result;
use crate::pipeline::stages::copy_report::{COLUMNS, TEXT, schema};
use crate::pipeline::stages::execute::UnmaskedRows;

const NONE_LOADED: &str = "Copy executed with 0 files processed.";

/// The answer of a statement that has loaded these files.
pub(in crate::pipeline) fn told(rows: UnmaskedRows, loaded: &[LoadedFile]) -> Result<UnmaskedRows> {
    let schema = schema();
    let tells_failed = |load: LoadOptions| load.told == ToldFiles::Failed;
    let is_short = rows.about.staged.iter().filter_map(|staged| staged.load).any(tells_failed);
    let files: Vec<&LoadedFile> = loaded.iter().filter(|file| !is_short || file.failed > 0).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), if loaded.is_empty() { none() } else { each(&files) });
    let batch = batch.map_err(|error| Error::Unverified { why: error.to_string() })?;
    let column = |(name, type_name): &(&str, &str)| engine::Column {
        name: (*name).to_owned(),
        type_name: (*type_name).to_owned(),
        nullable: true,
    };
    let columns = COLUMNS.iter().map(column).collect();
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
    let first = || loaded.iter().map(|file| file.first.as_ref());
    let line = |first: &RecordFault| first.fault.line.and_then(|line| i64::try_from(line).ok());
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

fn texts<'t>(values: impl Iterator<Item = Option<&'t str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

fn numbers(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}
