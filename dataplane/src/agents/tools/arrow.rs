//! `run_sql_arrow`: rows as an Arrow stream in base64, as many as one result has room for.
//!
//! "`run_sql_arrow` takes argument `sql` and returns the same base64 shape as the environment Arrow endpoint."

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use contract::{Heal, StandardStrings};
use futures::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cursor::{CursorContent, ResultPage};
use super::seal::Seal;
use super::sql::{MEMBERS_BYTES, NamedColumn, columns, object};
use super::truth::Truth;
use super::{Telling, ToolCall};
use crate::encode::arrow_ipc;
use crate::request::ask::with_standard_strings;
use crate::{Answer, Error};

/// What a result may hold, before base64, where no budget is less.
const BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrowStatement {
    /// One SQL statement.
    sql: String,
    /// Milliseconds it may take, 1 to 300000.
    timeout_ms: Option<u64>,
    /// If it fails it is healed no further than this: `off`, `safe` or `auto`; as the environment permits if absent.
    heal: Option<Heal>,
    /// What a backslash in a string is: `on` (default), an ordinary character; `off`, an escape, as in the warehouse.
    standard_conforming_strings: Option<StandardStrings>,
    /// `next_cursor` of the same call, for the rows behind those that it has shown.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ArrowStream {
    /// `arrow_ipc_base64`.
    format: String,
    data: String,
    rows: u64,
    execution_time_ms: f64,
    /// There were more rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// With the same call it gives the rows behind these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip)]
    columns_masked: Vec<String>,
    #[serde(skip)]
    warnings: Vec<String>,
    #[serde(skip)]
    truth: Truth,
}

impl Telling for ArrowStream {
    fn notes(&self) -> Vec<String> {
        self.truth.notes(&self.columns_masked, &self.warnings)
    }
}

pub async fn run(call: ToolCall, mut statement: ArrowStatement) -> Result<ArrowStream, Error> {
    if !call.pipeline.rules()?.organization.tier.has_arrow() {
        return Err(Error::TierLimit);
    }
    statement.sql = with_standard_strings(statement.sql, statement.standard_conforming_strings)?;
    let seal = Seal::of(&call, "sql", &(&statement.sql, "arrow"));
    let mark = CursorContent::opened(&seal, statement.cursor.as_deref())?;
    let before = mark.map_or(0, |mark| mark.rows);
    let mut ask = call.ask(statement.sql, statement.timeout_ms)?;
    ask.bounds.reads_only = true;
    ask.bounds.heal = statement.heal;
    ask.bounds.strings = statement.standard_conforming_strings;
    let room = call.budget.room(MEMBERS_BYTES);
    ask.bounds.rows = room.map(|bytes| before + rows_in(bytes));
    let mut answer = call.pipeline.run(ask).await?;
    let mut page = ResultPage::begin(mark, answer.as_of.take()).map_err(|error| answer.rows.unsent(error))?;
    let (stream, of) = encoded(&mut answer, room, &mut page).await?;
    page.joins(&call.pipeline)?;
    let totals = answer.rows.totals();
    let shown = totals.row_count;
    let truncated = totals.truncated || shown < of;
    let next_cursor = page.continued().filter(|_| truncated).map(|mark| mark.sealed(&seal));
    Ok(ArrowStream {
        format: "arrow_ipc_base64".to_owned(),
        data: BASE64_STANDARD.encode(stream),
        rows: shown,
        execution_time_ms: totals.execution_time_ms,
        truncated,
        columns_masked: answer.columns_masked,
        warnings: answer.warnings,
        truth: Truth {
            before,
            shown,
            of,
            wanted: totals.truncated.then_some(of),
            texts: None,
            changed: None,
            healed: answer.healed,
            next: next_cursor.clone(),
        },
        next_cursor,
    })
}

/// More rows than so many bytes hold: none is shorter than a byte.
fn rows_in(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX >> 1)
}

/// The stream of as many rows as there is room for in base64, and how many there were behind those that were shown
/// before. Without such a bound too many are refused.
async fn encoded(answer: &mut Answer, room: Option<usize>, page: &mut ResultPage) -> Result<(Vec<u8>, u64), Error> {
    let unencodable = |error: ArrowError| Error::Unverified { why: error.to_string() };
    let mut encoder = arrow_ipc::Encoder::new(&answer.schema).map_err(unencodable)?;
    let (mut stream, mut of, mut full) = (encoder.take(), 0, false);
    let (most, columns) = (room.map_or(BYTES_MAX, |room| room / 4 * 3), columns(answer));
    while let Some(batch) = answer.rows.next().await {
        let batch = batch?;
        let passed = passed(page, &columns, &batch).map_err(|error| answer.rows.unsent(error))?;
        let behind = batch.slice(passed, batch.num_rows() - passed);
        of += count(behind.num_rows());
        let mut kept = if full { 0 } else { behind.num_rows() };
        while kept > 0 {
            let part = behind.slice(0, kept);
            if stream.len() + length(&answer.schema, &part).map_err(unencodable)? <= most {
                encoder.add(&part).map_err(unencodable)?;
                stream.extend(encoder.take());
                (0..kept).for_each(|row| page.shows(&text(&columns, &part, row)));
                break;
            }
            if room.is_none() {
                return Err(answer.rows.unsent(Error::AnswerTooLarge { limit: BYTES_MAX }));
            }
            (kept, full) = (kept / 2, true);
        }
        answer.rows.keep_back(count(batch.num_rows() - kept));
    }
    encoder.end().map_err(unencodable)?;
    stream.extend(encoder.take());
    Ok((stream, of))
}

/// How many rows of a batch were shown before.
fn passed(page: &mut ResultPage, columns: &[NamedColumn], batch: &RecordBatch) -> Result<usize, Error> {
    for row in 0..batch.num_rows() {
        if !page.is_passing() || !page.passes(&text(columns, batch, row))? {
            return Ok(row);
        }
    }
    Ok(batch.num_rows())
}

fn text(columns: &[NamedColumn], batch: &RecordBatch, row: usize) -> String {
    Value::Object(object(columns, batch, row).0).to_string()
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}

/// How long rows are as a stream of their own, its ends included.
fn length(schema: &SchemaRef, batch: &RecordBatch) -> Result<usize, ArrowError> {
    let mut encoder = arrow_ipc::Encoder::new(schema)?;
    encoder.add(batch)?;
    encoder.end()?;
    Ok(encoder.take().len())
}
