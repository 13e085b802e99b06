//! `COPY INTO @stage FROM …`: the rows of a query that a caller may see, into a file of a stage.
//!
//! The query is a statement like any other and walks all stages. Its rows leave as they do for a client, masked and
//! metered; they go into the file in place of a connection. The file is in the stage once it is whole, or never.

mod open_file;

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use contract::QueryId;
use contract::wire::Numbers;
use futures::{StreamExt, stream};
use sql::{StatementKind, Unload, UnloadFormat};

use super::{FileAction, Once, Pipeline, Result};
use crate::encode::{csv, json};
use crate::error::StageFileFault;
use crate::request::answer::Account;
use crate::storage::branches;
use crate::storage::stage_files::{StageWriter, blocking};
use crate::{Answer, Ask, Column, Command, Description, Error, Rows, Totals};

use open_file::{FullFile, OpenFile};

const COLUMNS: [&str; 3] = ["rows_unloaded", "input_bytes", "output_bytes"];

/// What a statement unloads, if it does.
pub(super) fn asked(ask: &Ask) -> Option<Unload> {
    // other statements are read once
    let names_copy = || ask.sql.as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"copy"));
    if !ask.sql.contains('@') || !names_copy() {
        return None;
    }
    match sql::parse_with(&ask.sql, &ask.names.variables).ok()?.kind() {
        StatementKind::Unload(unload) => Some(unload.clone()),
        _ => None,
    }
}

/// What it answers, known without its running.
pub(super) fn described() -> Description {
    let command = Command::Select;
    Description { parameters: Vec::new(), columns: columns(), schema: Some(schema()), command }
}

pub(super) async fn run(pipeline: &Arc<Pipeline>, ask: Ask, unload: Unload, once: Option<&Once>) -> Result<Answer> {
    let refused = |what: &str| Err(Error::Unsupported { what: format!("COPY INTO a stage {what}") });
    if once.is_some() {
        return refused("under an `Idempotency-Key`");
    }
    if ask.transaction.is_some() {
        return refused("in a transaction, which could not take it back,");
    }
    if branches::named(&ask.names.schema).is_some() {
        return refused("on a branch, which could not take it back,");
    }
    if *sql::parse_with(&unload.query, &ask.names.variables)?.kind() != StatementKind::Select {
        return refused("of something other than a query");
    }
    let stage = Box::pin(pipeline.stage(&ask, &unload.stage, FileAction::Put)).await?;
    let (files, id, path) = (pipeline.stage_files.clone(), stage.id.clone(), unload.file());
    let overwrite = unload.overwrite;
    let writer = blocking(move || {
        if !overwrite && files.list(&id, &path)?.iter().any(|file| file.path == path) {
            return Err(StageFileFault::Exists { path }.into());
        }
        let writer = files.writer(&id, &path)?;
        Ok(if overwrite { writer } else { writer.keeping_others() }) // one may be there by its end
    })
    .await?;
    let query_id = QueryId::fresh(pipeline.clock.now(), &pipeline.entropy);
    let put = Ask { query_id, ..ask.clone() };
    let mut asked = Ask { sql: unload.query.clone(), ..ask };
    asked.bounds.rows = None; // all of them, or none
    asked.bounds.unloads = true;
    let mut answer = Box::pin(pipeline.run_plain(asked, None)).await?;
    let FullFile { writer, taken, rows } = written(&mut answer, &unload, writer).await?;
    let file = Box::pin(pipeline.put_file(put, &stage, writer)).await?;
    told(answer, [rows, taken, file.bytes])
}

/// Writes the rows of the answer, all of them.
async fn written(answer: &mut Answer, unload: &Unload, writer: StageWriter) -> Result<FullFile> {
    let mut file = OpenFile::new(writer, unload.compression);
    let mut text = String::new();
    if unload.format == UnloadFormat::Json && answer.columns.len() != 1 {
        let message = "JSON is unloaded of a query of one column, as SELECT OBJECT_CONSTRUCT(*)".to_owned();
        return Err(Error::InvalidParams { field: "FILE_FORMAT", message });
    }
    if unload.header && unload.format == UnloadFormat::Csv {
        csv::header(&mut text, &answer.columns);
    }
    while let Some(batch) = answer.rows.next().await {
        let batch = batch?;
        match unload.format {
            UnloadFormat::Csv => csv::rows(&mut text, &batch),
            UnloadFormat::Json => json_lines(&mut text, &answer.columns, &batch)?,
        }
        let rows = u64::try_from(batch.num_rows()).unwrap_or_default();
        let piece = std::mem::take(&mut text);
        file = blocking(move || {
            file.add(&piece, rows)?;
            Ok(file)
        })
        .await?;
    }
    blocking(move || {
        file.add(&text, 0)?; // the header of no rows
        file.end()
    })
    .await
}

/// The values of the one column, each on its line.
fn json_lines(out: &mut String, columns: &[Column], batch: &RecordBatch) -> Result<()> {
    let unread = |error: serde_json::Error| Error::Unverified { why: error.to_string() };
    let (mut text, mut is_first) = (String::from("["), true);
    json::rows(&mut text, columns, batch, Numbers::Json, &mut is_first);
    text.push(']');
    for (value,) in serde_json::from_str::<Vec<(serde_json::Value,)>>(&text).map_err(unread)? {
        let _ = writeln!(out, "{value}");
    }
    Ok(())
}

fn columns() -> Vec<Column> {
    let column = |name: &str| Column { name: name.to_owned(), type_name: "BIGINT".to_owned(), masked: false };
    COLUMNS.into_iter().map(column).collect()
}

fn schema() -> SchemaRef {
    let fields: Vec<_> = COLUMNS.into_iter().map(|name| Field::new(name, DataType::Int64, false)).collect();
    SchemaRef::new(Schema::new(fields))
}

/// One row in place of those that were unloaded, at what they cost.
fn told(answer: Answer, numbers: [u64; 3]) -> Result<Answer> {
    let number =
        |number: u64| -> ArrayRef { Arc::new(Int64Array::from(vec![i64::try_from(number).unwrap_or(i64::MAX)])) };
    let schema = schema();
    let batch = RecordBatch::try_new(SchemaRef::clone(&schema), numbers.into_iter().map(number).collect());
    let batch = batch.map_err(|error| Error::Unverified { why: error.to_string() })?;
    let account = Arc::<Account>::default();
    let _ = account.totals.set(Totals { row_count: 1, ..answer.rows.totals() });
    let rows = Rows::new(stream::iter([Ok(batch)]), account);
    Ok(Answer { columns: columns(), schema, changed: None, rows, ..answer })
}
