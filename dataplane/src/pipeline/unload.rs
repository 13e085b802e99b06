//! `COPY INTO @stage FROM …`: the rows of a query that a caller may see, into files of a stage.
//!
//! The query is a statement like any other and walks all stages. Its rows leave as they do for a client, masked and
//! metered; they go into the files in place of a connection. All files are in the stage once all are whole, or none is.

mod delivered;
mod encoder;
mod files;
mod format;
mod open_file;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use contract::QueryId;
use futures::stream;
use sql::{StagePlace, StatementKind, Unload};

use super::{FileAction, Once, Pipeline, Result};
use crate::error::StageFileFault;
use crate::request::answer::{Account, WrittenFiles};
use crate::request::ask::Outlet;
use crate::storage::branches;
use crate::storage::stage_files::{StageFile, StagePath};
use crate::{Answer, Ask, Column, Command, Description, Error, Rows, Totals};

use files::{UnloadFiles, UnloadPlace};
use open_file::FullFile;

const COLUMNS: [&str; 3] = ["rows_unloaded", "input_bytes", "output_bytes"];
/// Of an answer with a row for each file.
const DETAILED: [&str; 3] = ["file_name", "file_size", "row_count"];

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

/// The query whose rows are the answer, where no file is written.
pub(super) fn shown(ask: &Ask) -> Option<Ask> {
    let unload = asked(ask).filter(Unload::is_shown)?;
    Some(Ask { sql: unload.query, ..ask.clone() })
}

/// What it answers, known without its running; nothing of any other statement.
pub(super) fn described(ask: &Ask) -> Option<Description> {
    let unload = asked(ask)?;
    let (schema, command) = (schema(&unload), Command::Select);
    Some(Description { parameters: Vec::new(), columns: columns(&unload), schema: Some(schema), command })
}

pub(super) async fn run(pipeline: &Arc<Pipeline>, ask: Ask, unload: Unload, once: Option<&Once>) -> Result<Answer> {
    let refused = |what: &str| Err(Error::Unsupported { what: format!("COPY INTO a stage {what}") });
    if once.is_some() {
        return refused("under an `Idempotency-Key`");
    }
    if unload.is_shown() {
        if *sql::parse_with(&unload.query, &ask.names.variables)?.kind() != StatementKind::Select {
            return refused("of something other than a query");
        }
        // a first use of a table's stage is kept with the table, which a client's transaction may have changed
        if ask.transaction.is_none() {
            Box::pin(pipeline.stage(&ask, &unload.stage, FileAction::Put)).await?;
        }
        return Box::pin(pipeline.run_plain(Ask { sql: unload.query, ..ask }, None)).await;
    }
    if ask.transaction.is_some() {
        return refused("in a transaction, which could not take it back,");
    }
    if branches::named(&ask.names.schema).is_some() {
        return refused("on a branch, which could not take it back,");
    }
    let rows = unload.rows();
    for text in [&unload.query, &rows] {
        if *sql::parse_with(text, &ask.names.variables)?.kind() != StatementKind::Select {
            return refused("of something other than a query");
        }
    }
    let stage = Box::pin(pipeline.stage(&ask, &unload.stage, FileAction::Put)).await?;
    let unload = match Box::pin(prepared(pipeline, &ask, unload, &stage)).await {
        Ok(unload) => unload,
        Err(error) => return Err(Box::pin(pipeline.refused_put(&ask, &stage, error)).await),
    };
    let (files, stage_id) = (pipeline.stage_files.clone(), stage.id.clone());
    let place = UnloadPlace { files, stage_id, query_id: ask.query_id.to_string() };
    let query_id = QueryId::fresh(pipeline.clock.now(), &pipeline.entropy);
    let put = Ask { query_id, ..ask.clone() }; // whose text is the whole statement
    let mut asked = Ask { sql: rows, ..ask };
    asked.bounds.rows = None; // all of them, or none
    asked.bounds.outlet = Some(Outlet::Files);
    let mut answer = Box::pin(pipeline.run_plain(asked, None)).await?;
    match Box::pin(unloaded((pipeline, put), (&unload, &stage), place, &mut answer)).await {
        Ok((placed, counts)) => told(answer, &unload, &placed, &counts),
        Err(error) => Err(answer.rows.unsent(error)),
    }
}

/// The unload with its format, if its first file may come to be in the stage.
async fn prepared(pipeline: &Arc<Pipeline>, ask: &Ask, unload: Unload, stage: &StagePlace) -> Result<Unload> {
    let unload = if unload.names_format() { Box::pin(format::formatted(pipeline, ask, unload)).await? } else { unload };
    if unload.may_meet_others() && Box::pin(pipeline.tells_files(ask, stage)).await.is_err() {
        let message = "a rule hides files of this stage from you: say INCLUDE_QUERY_ID = TRUE or OVERWRITE = TRUE, \
                       so that it does not follow from them whether yours can be there";
        return Err(Error::PolicyDenied { message: message.to_owned() });
    }
    let store = pipeline.stage_store(&*pipeline.rules()?, &stage.id, stage.location.as_ref())?;
    let path = unload.first_file(&ask.query_id.to_string());
    StagePath::read(&path)?;
    let found = if unload.overwrite { Vec::new() } else { Box::pin(store.list(&path)).await? };
    if found.iter().any(|file| file.path == path) {
        return Err(StageFileFault::Exists { path }.into());
    }
    Ok(unload)
}

/// The files that the rows of the answer are in, and for each the bytes that came for it, and its rows.
async fn unloaded(
    (pipeline, put): (&Arc<Pipeline>, Ask),
    (unload, stage): (&Unload, &StagePlace),
    place: UnloadPlace,
    answer: &mut Answer,
) -> Result<(Vec<StageFile>, Vec<(u64, u64)>)> {
    let files = UnloadFiles::new(unload.clone(), (answer.columns.clone(), &answer.schema), place)?;
    let full = delivered::written(&mut answer.rows, files).await?;
    let (writers, counts): (Vec<_>, Vec<_>) =
        full.into_iter().map(|FullFile { writer, taken, rows }| (writer, (taken, rows))).unzip();
    let Some(held) = answer.rows.held() else {
        // a question to PostgreSQL's catalogue has no entry of its own
        return Ok((Box::pin(pipeline.put_files(put, stage, writers)).await?, counts));
    };
    // by the rules of now
    if Box::pin(pipeline.stage(&put, &unload.stage, FileAction::Put)).await? != *stage {
        return Err(StageFileFault::NoStage { name: unload.stage.clone() }.into());
    }
    let files = writers.iter().map(|writer| (writer.path().to_owned(), writer.bytes())).collect();
    held.record(&WrittenFiles { sql: put.sql.clone(), stage: stage.path.clone(), files })?;
    let limit = put.timeout.unwrap_or(pipeline.rules()?.environment.settings.query_timeout());
    let begun = AtomicBool::new(false);
    let mut placing = Box::pin(pipeline.place_files(stage, writers, &begun));
    let stopped = async {
        tokio::select! {
            () = tokio::time::sleep(limit) => Error::Timeout(limit),
            () = put.cancel.cancelled() => Error::Cancelled,
            () = pipeline.closed.cancelled() => Error::ShuttingDown,
        }
    };
    let placed = tokio::select! {
        done = &mut placing => done?,
        error = stopped => {
            if !begun.load(Ordering::Acquire) {
                return Err(error);
            }
            placing.await? // all of them come to be there, or none: which it is, is told
        }
    };
    held.complete();
    Ok((placed, counts))
}

fn columns(unload: &Unload) -> Vec<Column> {
    let column = |field: &Arc<Field>| {
        let type_name = if *field.data_type() == DataType::Utf8 { "VARCHAR" } else { "BIGINT" };
        Column { name: field.name().clone(), type_name: type_name.to_owned(), masked: false }
    };
    schema(unload).fields().iter().map(column).collect()
}

fn schema(unload: &Unload) -> SchemaRef {
    let names = if unload.detailed { DETAILED } else { COLUMNS };
    let field = |name: &str| {
        let is_text = name == DETAILED[0];
        Field::new(name, if is_text { DataType::Utf8 } else { DataType::Int64 }, false)
    };
    SchemaRef::new(Schema::new(names.into_iter().map(field).collect::<Vec<_>>()))
}

/// The answer that counts rows and files in place of the rows that were unloaded, at the rows' cost.
/// `counts` has for each file the bytes that came for it, and its rows.
fn told(answer: Answer, unload: &Unload, placed: &[StageFile], counts: &[(u64, u64)]) -> Result<Answer> {
    let arrays = if unload.detailed {
        let names: ArrayRef = Arc::new(StringArray::from_iter_values(placed.iter().map(|file| file.path.as_str())));
        let sizes = numbers(placed.iter().map(|file| file.bytes));
        vec![names, sizes, numbers(counts.iter().map(|(_, rows)| *rows))]
    } else {
        let taken: u64 = counts.iter().map(|(taken, _)| taken).sum();
        let rows: u64 = counts.iter().map(|(_, rows)| rows).sum();
        let bytes: u64 = placed.iter().map(|file| file.bytes).sum();
        [rows, taken, bytes].map(|number| numbers([number].into_iter())).to_vec()
    };
    let schema = schema(unload);
    let batch = RecordBatch::try_new(SchemaRef::clone(&schema), arrays);
    let batch = batch.map_err(|error| Error::Unverified { why: error.to_string() })?;
    let account = Arc::<Account>::default();
    let row_count = u64::try_from(batch.num_rows()).unwrap_or_default();
    let _ = account.totals.set(Totals { row_count, ..answer.rows.totals() });
    let rows = Rows::new(stream::iter([Ok(batch)]), account);
    Ok(Answer { columns: columns(unload), schema, changed: None, rows, ..answer })
}

fn numbers(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.map(|value| i64::try_from(value).unwrap_or(i64::MAX))))
}
