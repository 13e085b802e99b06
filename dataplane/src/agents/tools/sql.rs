//! `run_sql`, `run_sql_readonly`: rows as objects, as many as one result has room for, and a cursor for the rest.
//!
//! Whether a statement reads or writes is told by its whole tree, not by wrapping it.

use std::collections::HashSet;

use arrow::array::RecordBatch;
use contract::{Heal, StandardStrings};
use futures::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::budget::{GatheredItems, size};
use super::cursor::{CursorContent, ROWS_MAX, ResultPage};
use super::seal::Seal;
use super::truth::Truth;
use super::{Telling, ToolCall};
use crate::encode::{cell, column, json};
use crate::limits::invalid;
use crate::request::ask::with_standard_strings;
use crate::storage::branches::schema_on;
use crate::{Answer, Error};

const ROWS_DEFAULT: u64 = 1_000;
const PARAMS_MAX: usize = 1_000;
/// What a list of what there is may hold, as text.
const RESULT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Members of a result beside its columns, rows and warnings.
pub(super) const MEMBERS_BYTES: usize = 640;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatementArguments {
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
    /// What a backslash in a string is: `on` (default), an ordinary character; `off`, an escape, as in the warehouse.
    pub standard_conforming_strings: Option<StandardStrings>,
    /// `next_cursor` of the same call, for the rows behind those that it has shown.
    pub cursor: Option<String>,
}

/// A table of rows, each an object by the names of `columns`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ResultTable {
    query_id: String,
    columns: Vec<NamedColumn>,
    rows: Vec<Map<String, Value>>,
    /// Rows returned, or changed.
    row_count: u64,
    /// There were more rows.
    truncated: bool,
    /// With the same call it gives the rows behind these; null behind the last, and where rows cannot be gone on with.
    next_cursor: Option<String>,
    execution_time_ms: f64,
    credits_consumed: f64,
    cache_hit: bool,
    columns_masked: Vec<String>,
    warnings: Vec<String>,
    #[serde(skip)]
    truth: Truth,
}

impl Telling for ResultTable {
    const LIST: Option<&'static str> = Some("rows");
    const BARE: bool = true;

    fn notes(&self) -> Vec<String> {
        self.truth.notes(&self.columns_masked, &self.warnings)
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NamedColumn {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
}

pub async fn run(call: ToolCall, statement: StatementArguments) -> Result<ResultTable, Error> {
    table(call, statement, false).await
}

pub async fn run_readonly(call: ToolCall, statement: StatementArguments) -> Result<ResultTable, Error> {
    table(call, statement, true).await
}

async fn table(call: ToolCall, mut statement: StatementArguments, reads_only: bool) -> Result<ResultTable, Error> {
    statement.sql = with_standard_strings(statement.sql, statement.standard_conforming_strings)?;
    let wanted = statement.max_rows.unwrap_or(ROWS_DEFAULT);
    if !(1..=ROWS_MAX).contains(&wanted) {
        return Err(invalid("max_rows", format!("max_rows is from 1 to {ROWS_MAX}")));
    }
    let seal = Seal::of(&call, "sql, params and branch_id", &(&statement.sql, &statement.params, &statement.branch_id));
    let mark = CursorContent::opened(&seal, statement.cursor.as_deref())?;
    let before = mark.map_or(0, |mark| mark.rows);
    let wanted = wanted.min(ROWS_MAX.saturating_sub(before));
    let mut ask = call.ask(statement.sql, statement.timeout_ms)?;
    ask.params = params(statement.params)?;
    ask.bounds.rows = Some(before + wanted);
    ask.bounds.reads_only = reads_only || mark.is_some(); // what changes something is not run a second time
    ask.bounds.heal = statement.heal;
    ask.bounds.strings = statement.standard_conforming_strings;
    if let Some(branch_id) = &statement.branch_id {
        ask.names.schema = schema_on(branch_id)?;
    }
    let mut answer = call.pipeline.run(ask).await?;
    let mut page = ResultPage::begin(mark, answer.as_of.take()).map_err(|error| answer.rows.unsent(error))?;
    let columns = columns(&answer);
    let beside = [size(&json!(columns)), size(&json!(answer.warnings)), size(&json!(answer.columns_masked))];
    let mut rows = call.budget.beside(beside.iter().sum::<usize>() + MEMBERS_BYTES);
    gather(&mut answer, &columns, &mut rows, &mut page).await?;
    page.joins(&call.pipeline)?;
    let totals = answer.rows.totals();
    let truncated = totals.truncated || rows.is_cut();
    let is_continued = truncated && answer.changed.is_none();
    let next_cursor = page.continued().filter(|_| is_continued).map(|mark| mark.sealed(&seal));
    let shown = u64::try_from(rows.items.len()).unwrap_or(u64::MAX);
    Ok(ResultTable {
        query_id: answer.query_id.to_string(),
        row_count: answer.changed.unwrap_or(shown),
        truncated,
        truth: Truth {
            before,
            shown,
            of: rows.seen,
            wanted: totals.truncated.then_some(wanted),
            texts: rows.texts_note(),
            changed: answer.changed,
            healed: answer.healed,
            next: next_cursor.clone(),
        },
        next_cursor,
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

/// Reads all rows that were wanted. Those that were shown before, or find no room, are not billed.
async fn gather(
    answer: &mut Answer,
    columns: &[NamedColumn],
    rows: &mut GatheredItems,
    page: &mut ResultPage,
) -> Result<(), Error> {
    while let Some(batch) = answer.rows.next().await {
        let batch = batch?;
        let mut kept_back = 0;
        for row in 0..batch.num_rows() {
            let row = Value::Object(object(columns, &batch, row).0);
            let text = row.to_string();
            if page.passes(&text).map_err(|error| answer.rows.unsent(error))? {
                kept_back += 1;
            } else if rows.add(row) {
                page.shows(&text);
            } else {
                kept_back += 1;
            }
        }
        answer.rows.keep_back(kept_back);
    }
    Ok(())
}

/// Names for the members of a row: a second column of a name is told from the first.
pub(super) fn columns(answer: &Answer) -> Vec<NamedColumn> {
    let mut taken = HashSet::new();
    let named = |column: &crate::Column| {
        let mut name = column.name.clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = format!("{}_{number}", column.name);
            number += 1;
        }
        NamedColumn { name, type_name: column.type_name.clone() }
    };
    answer.columns.iter().map(named).collect()
}

/// The rows as objects, and whether they were cut off because there was too much in them.
pub(super) async fn objects(
    answer: &mut Answer,
    columns: &[NamedColumn],
) -> Result<(Vec<Map<String, Value>>, bool), Error> {
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

pub(super) fn object(columns: &[NamedColumn], batch: &RecordBatch, row: usize) -> (Map<String, Value>, usize) {
    let mut size = 0;
    let members = columns.iter().zip(batch.columns()).map(|(column, array)| {
        let mut text = String::new();
        json::value(&mut text, &cell::at(array.as_ref(), row), column::is_json(&column.type_name));
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
