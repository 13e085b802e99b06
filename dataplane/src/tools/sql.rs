//! `run_sql`, `run_sql_readonly`, `run_sql_arrow`.
//!
//! "`run_sql_arrow` takes argument `sql` and returns the same base64 shape as the environment Arrow
//! endpoint." Whether a statement reads or writes is told by its whole tree, not by wrapping it.

use std::collections::HashSet;

use arrow::array::RecordBatch;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use contract::Heal;
use futures::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Call, Telling, written};
use crate::answer::Healed;
use crate::branches::schema_on;
use crate::encode::{arrow_ipc, cell, json};
use crate::limits::invalid;
use crate::{Answer, Error};

const ROWS_DEFAULT: u64 = 1_000;
const ROWS_MAX: u64 = 10_000;
const PARAMS_MAX: usize = 1_000;
/// What a result may hold, as text.
const RESULT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// What an Arrow result may hold, before base64.
const ARROW_BYTES_MAX: usize = 16 * 1024 * 1024;

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
    healed: Option<Healed>,
}

impl Telling for Table {
    fn text(&self) -> Result<String, Error> {
        written(&self.rows)
    }

    fn note(&self) -> Option<String> {
        self.healed.as_ref().map(note)
    }
}

/// What a model must know before it believes the rows.
fn note(healed: &Healed) -> String {
    format!("{}; this was run: {}", healed.how, healed.sql)
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
    #[serde(skip)]
    healed: Option<Healed>,
}

impl Telling for ArrowStream {
    fn note(&self) -> Option<String> {
        self.healed.as_ref().map(note)
    }
}

pub async fn run(call: Call, statement: Statement) -> Result<Table, Error> {
    table(call, statement, false).await
}

pub async fn run_readonly(call: Call, statement: Statement) -> Result<Table, Error> {
    table(call, statement, true).await
}

async fn table(call: Call, statement: Statement, reads_only: bool) -> Result<Table, Error> {
    let rows = statement.max_rows.unwrap_or(ROWS_DEFAULT);
    if !(1..=ROWS_MAX).contains(&rows) {
        return Err(invalid("max_rows", format!("max_rows is from 1 to {ROWS_MAX}")));
    }
    let mut ask = call.ask(statement.sql, statement.timeout_ms)?;
    ask.params = params(statement.params)?;
    ask.bounds.rows = Some(rows);
    ask.bounds.reads_only = reads_only;
    ask.bounds.heal = statement.heal;
    if let Some(branch_id) = &statement.branch_id {
        ask.names.schema = schema_on(branch_id)?;
    }
    let mut answer = call.pipeline.run(ask).await?;
    let columns = columns(&answer);
    let (rows, cut) = objects(&mut answer, &columns).await?;
    let totals = answer.rows.totals();
    Ok(Table {
        query_id: answer.query_id.to_string(),
        row_count: answer.changed.unwrap_or(u64::try_from(rows.len()).unwrap_or(u64::MAX)),
        columns,
        rows,
        truncated: totals.truncated || cut,
        execution_time_ms: totals.execution_time_ms,
        credits_consumed: totals.credits_consumed(),
        cache_hit: answer.cache_hit,
        columns_masked: answer.columns_masked,
        warnings: answer.warnings,
        healed: answer.healed,
    })
}

pub async fn run_arrow(call: Call, statement: ArrowStatement) -> Result<ArrowStream, Error> {
    if !call.pipeline.rules()?.organization.tier.has_arrow() {
        return Err(Error::TierLimit);
    }
    let mut ask = call.ask(statement.sql, statement.timeout_ms)?;
    ask.bounds.reads_only = true;
    ask.bounds.heal = statement.heal;
    let mut answer = call.pipeline.run(ask).await?;
    let unencodable = |error: arrow::error::ArrowError| Error::Unverified { why: error.to_string() };
    let mut encoder = arrow_ipc::Encoder::new(&answer.schema).map_err(unencodable)?;
    let mut stream = encoder.take();
    while let Some(batch) = answer.rows.next().await {
        encoder.add(&batch?).map_err(unencodable)?;
        stream.extend(encoder.take());
        if stream.len() > ARROW_BYTES_MAX {
            return Err(Error::AnswerTooLarge { limit: ARROW_BYTES_MAX });
        }
    }
    encoder.end().map_err(unencodable)?;
    stream.extend(encoder.take());
    let totals = answer.rows.totals();
    Ok(ArrowStream {
        format: "arrow_ipc_base64".to_owned(),
        data: BASE64_STANDARD.encode(stream),
        rows: totals.row_count,
        execution_time_ms: totals.execution_time_ms,
        healed: answer.healed,
    })
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
    use serde_json::json;

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
