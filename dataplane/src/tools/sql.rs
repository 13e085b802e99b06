//! `run_sql`, `run_sql_readonly`, `run_sql_arrow`.
//!
//! "`run_sql_arrow` takes argument `sql` and returns the same base64 shape as the environment Arrow
//! endpoint." Whether a statement reads or writes is told by its whole tree, not by wrapping it.

use std::collections::HashSet;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use contract::{Code, Heal};
use futures::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::budget::{Gathered, size};
use super::{Call, Telling};
use crate::answer::Healed;
use crate::branches::schema_on;
use crate::encode::{arrow_ipc, cell, json};
use crate::limits::invalid;
use crate::{Answer, Error};

const ROWS_DEFAULT: u64 = 1_000;
const ROWS_MAX: u64 = 10_000;
const PARAMS_MAX: usize = 1_000;
/// What a list of what there is may hold, as text.
const RESULT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// What an Arrow result may hold, before base64, where no budget is less.
const ARROW_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Members of a result beside its columns, rows and warnings.
const MEMBERS_BYTES: usize = 512;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// One SQL statement.
    pub sql: String,
    /// Values of `$1`, `$2`, ….
    #[serde(default)]
    pub params: Vec<Value>,
    /// Milliseconds it may take, 1 to 300000.
    pub timeout_ms: Option<u64>,
    /// Rows wanted, 1 to 10000; 1000 if absent.
    pub max_rows: Option<u64>,
    /// The branch that it runs on; the mainline if absent.
    pub branch_id: Option<String>,
    /// If it fails it is healed no further than this: `off`, `safe` or `auto`; as the environment permits if absent.
    pub heal: Option<Heal>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrowStatement {
    /// One SQL statement.
    sql: String,
    /// Milliseconds it may take, 1 to 300000.
    timeout_ms: Option<u64>,
    /// If it fails it is healed no further than this: `off`, `safe` or `auto`; as the environment permits if absent.
    heal: Option<Heal>,
}

/// A table of rows, each an object by the names of `columns`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Table {
    query_id: String,
    columns: Vec<Named>,
    rows: Vec<Map<String, Value>>,
    /// Rows returned, or changed.
    row_count: u64,
    /// There were more rows.
    truncated: bool,
    execution_time_ms: f64,
    credits_consumed: f64,
    cache_hit: bool,
    columns_masked: Vec<String>,
    warnings: Vec<String>,
    #[serde(skip)]
    truth: Truth,
}

impl Telling for Table {
    const LIST: Option<&'static str> = Some("rows");
    const BARE: bool = true;

    fn notes(&self) -> Vec<String> {
        self.truth.notes(&self.columns_masked, &self.warnings)
    }
}

/// What a model must know before it believes the rows.
#[derive(Debug)]
struct Truth {
    shown: u64,
    /// Rows there were, as far as they were wanted.
    of: u64,
    /// The rows that were wanted, where there were more.
    wanted: Option<u64>,
    /// What was cut of long texts.
    texts: Option<String>,
    changed: Option<u64>,
    healed: Option<Healed>,
}

impl Truth {
    fn notes(&self, masked: &[String], warnings: &[String]) -> Vec<String> {
        let healed = self.healed.as_ref().map(|healed| format!("{}; this was run: {}", healed.how, healed.sql));
        let masked = (!masked.is_empty()).then(|| format!("masked: {}", masked.join(", ")));
        let is_told = |warning: &&String| {
            warning.starts_with(Code::ColumnMasked.stable())
                || self.healed.as_ref().is_some_and(|healed| healed.how == **warning)
        };
        let rows = healed.into_iter().chain([self.counted()]).chain(self.texts.clone()).chain(masked);
        rows.chain(warnings.iter().filter(|warning| !is_told(warning)).cloned()).collect()
    }

    fn counted(&self) -> String {
        let Self { shown, of, .. } = self;
        let narrower = "ask narrower: a condition, fewer columns, an aggregate or LIMIT";
        match (self.changed, self.wanted) {
            (Some(changed), _) if shown < of => format!("rows changed: {changed}; {shown} of {of} are shown"),
            (Some(changed), _) => format!("rows changed: {changed}"),
            (None, None) if shown == of => format!("rows: {of}, the whole answer"),
            (None, Some(wanted)) if shown == of => {
                format!("rows: the first {shown} of more, no more than {wanted} were wanted; {narrower}")
            }
            (None, more) => {
                let more = if more.is_some() { " and more" } else { "" };
                format!("rows: the first {shown} of {of}{more}, one result has no room for more; {narrower}")
            }
        }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Named {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
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

pub async fn run(call: Call, statement: Statement) -> Result<Table, Error> {
    table(call, statement, false).await
}

pub async fn run_readonly(call: Call, statement: Statement) -> Result<Table, Error> {
    table(call, statement, true).await
}

async fn table(call: Call, statement: Statement, reads_only: bool) -> Result<Table, Error> {
    let wanted = statement.max_rows.unwrap_or(ROWS_DEFAULT);
    if !(1..=ROWS_MAX).contains(&wanted) {
        return Err(invalid("max_rows", format!("max_rows is from 1 to {ROWS_MAX}")));
    }
    let mut ask = call.ask(statement.sql, statement.timeout_ms)?;
    ask.params = params(statement.params)?;
    ask.bounds.rows = Some(wanted);
    ask.bounds.reads_only = reads_only;
    ask.bounds.heal = statement.heal;
    if let Some(branch_id) = &statement.branch_id {
        ask.names.schema = schema_on(branch_id)?;
    }
    let mut answer = call.pipeline.run(ask).await?;
    let columns = columns(&answer);
    let beside = [size(&json!(columns)), size(&json!(answer.warnings)), size(&json!(answer.columns_masked))];
    let mut rows = call.budget.beside(beside.iter().sum::<usize>() + MEMBERS_BYTES);
    gather(&mut answer, &columns, &mut rows).await?;
    let totals = answer.rows.totals();
    let shown = u64::try_from(rows.items.len()).unwrap_or(u64::MAX);
    Ok(Table {
        query_id: answer.query_id.to_string(),
        row_count: answer.changed.unwrap_or(shown),
        truncated: totals.truncated || rows.is_cut(),
        truth: Truth {
            shown,
            of: rows.seen,
            wanted: totals.truncated.then_some(wanted),
            texts: rows.texts_note(),
            changed: answer.changed,
            healed: answer.healed,
        },
        columns,
        rows: rows
            .items
            .into_iter()
            .filter_map(|row| if let Value::Object(row) = row { Some(row) } else { None })
            .collect(),
        execution_time_ms: totals.execution_time_ms,
        credits_consumed: totals.credits_consumed(),
        cache_hit: answer.cache_hit,
        columns_masked: answer.columns_masked,
        warnings: answer.warnings,
    })
}

/// Reads all rows that were wanted. Those that find no room are counted, and not billed.
async fn gather(answer: &mut Answer, columns: &[Named], rows: &mut Gathered) -> Result<(), Error> {
    while let Some(batch) = answer.rows.next().await {
        let batch = batch?;
        let mut kept_back = 0;
        for row in 0..batch.num_rows() {
            let (row, _) = object(columns, &batch, row);
            kept_back += u64::from(!rows.add(Value::Object(row)));
        }
        answer.rows.keep_back(kept_back);
    }
    Ok(())
}

pub async fn run_arrow(call: Call, statement: ArrowStatement) -> Result<ArrowStream, Error> {
    if !call.pipeline.rules()?.organization.tier.has_arrow() {
        return Err(Error::TierLimit);
    }
    let mut ask = call.ask(statement.sql, statement.timeout_ms)?;
    ask.bounds.reads_only = true;
    ask.bounds.heal = statement.heal;
    let room = call.budget.room(MEMBERS_BYTES);
    ask.bounds.rows = room.and_then(|bytes| u64::try_from(bytes).ok()); // no row is shorter than a byte
    let mut answer = call.pipeline.run(ask).await?;
    let (stream, of) = encoded(&mut answer, room).await?;
    let totals = answer.rows.totals();
    let wanted = totals.truncated.then_some(of);
    Ok(ArrowStream {
        format: "arrow_ipc_base64".to_owned(),
        data: BASE64_STANDARD.encode(stream),
        rows: totals.row_count,
        execution_time_ms: totals.execution_time_ms,
        truncated: totals.truncated || totals.row_count < of,
        columns_masked: answer.columns_masked,
        warnings: answer.warnings,
        truth: Truth { shown: totals.row_count, of, wanted, texts: None, changed: None, healed: answer.healed },
    })
}

/// The stream of as many rows as there is room for in base64, and how many there were. Without such a bound too many are
/// refused.
async fn encoded(answer: &mut Answer, room: Option<usize>) -> Result<(Vec<u8>, u64), Error> {
    let unencodable = |error: arrow::error::ArrowError| Error::Unverified { why: error.to_string() };
    let mut encoder = arrow_ipc::Encoder::new(&answer.schema).map_err(unencodable)?;
    let (mut stream, mut of, mut full) = (encoder.take(), 0, false);
    let most = room.map_or(ARROW_BYTES_MAX, |room| room / 4 * 3);
    while let Some(batch) = answer.rows.next().await {
        let batch = batch?;
        of += u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
        let mut kept = if full { 0 } else { batch.num_rows() };
        while kept > 0 {
            let part = batch.slice(0, kept);
            if stream.len() + length(&answer.schema, &part).map_err(unencodable)? <= most {
                encoder.add(&part).map_err(unencodable)?;
                stream.extend(encoder.take());
                break;
            }
            if room.is_none() {
                return Err(answer.rows.unsent(Error::AnswerTooLarge { limit: ARROW_BYTES_MAX }));
            }
            (kept, full) = (kept / 2, true);
        }
        answer.rows.keep_back(u64::try_from(batch.num_rows() - kept).unwrap_or(u64::MAX));
    }
    encoder.end().map_err(unencodable)?;
    stream.extend(encoder.take());
    Ok((stream, of))
}

/// How long rows are as a stream of their own, its ends included.
fn length(schema: &SchemaRef, batch: &RecordBatch) -> Result<usize, arrow::error::ArrowError> {
    let mut encoder = arrow_ipc::Encoder::new(schema)?;
    encoder.add(batch)?;
    encoder.end()?;
    Ok(encoder.take().len())
}

/// Names for the members of a row: a second column of a name is told from the first.
pub(super) fn columns(answer: &Answer) -> Vec<Named> {
    let mut taken = HashSet::new();
    let named = |column: &crate::Column| {
        let mut name = column.name.clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = format!("{}_{number}", column.name);
            number += 1;
        }
        Named { name, type_name: column.type_name.clone() }
    };
    answer.columns.iter().map(named).collect()
}

/// The rows as objects, and whether they were cut off because there was too much in them.
pub(super) async fn objects(answer: &mut Answer, columns: &[Named]) -> Result<(Vec<Map<String, Value>>, bool), Error> {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while let Some(batch) = answer.rows.next().await {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            let (object, size) = object(columns, &batch, row);
            bytes += size;
            if bytes > RESULT_BYTES_MAX {
                return Ok((rows, true));
            }
            rows.push(object);
        }
    }
    Ok((rows, false))
}

fn object(columns: &[Named], batch: &RecordBatch, row: usize) -> (Map<String, Value>, usize) {
    let mut size = 0;
    let members = columns.iter().zip(batch.columns()).map(|(column, array)| {
        let mut text = String::new();
        json::value(&mut text, &cell::at(array.as_ref(), row), column.type_name == "JSON");
        size += text.len() + column.name.len() + 4;
        (column.name.clone(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
    });
    let members = members.collect();
    (members, size)
}

/// JSON as the engine's values: a whole number is an integer, another a double.
fn params(given: Vec<Value>) -> Result<Vec<engine::Value>, Error> {
    if given.len() > PARAMS_MAX {
        return Err(invalid("params", format!("there are at most {PARAMS_MAX} params")));
    }
    let value = |(place, value): (usize, Value)| match value {
        Value::Null => Ok(engine::Value::Null),
        Value::Bool(value) => Ok(engine::Value::Boolean(value)),
        Value::Number(number) => match (number.as_i64(), number.as_i128(), number.as_f64()) {
            (Some(value), _, _) => Ok(engine::Value::BigInt(value)),
            (None, Some(value), _) => Ok(engine::Value::HugeInt(value)),
            (None, None, Some(value)) if value.is_finite() => Ok(engine::Value::Double(value)),
            _ => Err(invalid(&format!("params[{place}]"), "the number is out of range")),
        },
        Value::String(text) => Ok(engine::Value::Text(text)),
        other => Ok(engine::Value::Json(other.to_string())),
    };
    given.into_iter().enumerate().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_keep_their_values() {
        let given = vec![json!(null), json!(true), json!(7), json!(1.5), json!("x"), json!({"a": [1]})];
        let expected = vec![
            engine::Value::Null,
            engine::Value::Boolean(true),
            engine::Value::BigInt(7),
            engine::Value::Double(1.5),
            engine::Value::Text("x".to_owned()),
            engine::Value::Json(r#"{"a":[1]}"#.to_owned()),
        ];
        assert_eq!(params(given).unwrap(), expected);
        let beyond: Value = serde_json::from_str("170141183460469231731687303715884105727").unwrap();
        assert_eq!(params(vec![beyond]).unwrap(), [engine::Value::HugeInt(i128::MAX)]);
        assert!(params(vec![Value::Null; PARAMS_MAX + 1]).is_err());
    }
}
