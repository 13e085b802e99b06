//! The tables of our own, in schemas that no statement of a caller reaches: how a room reads and
//! writes them.
//!
//! The statements are ours, on sessions of their own. What is written is one transaction, with its
//! line in the log of changes.

use arrow::array::RecordBatch;
use contract::Timestamp;
use contract::policy::abac::Operation;
use engine::{Outcome, Statement, Value};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::encode::cell::{self, Cell};
use crate::pipeline::Standing;

/// One statement and its parameters.
pub type Step = (String, Vec<Value>);

/// What a transaction is, for the log of changes.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    /// The name that policies have for the table.
    pub table: &'static str,
    pub operation: Operation,
    pub at: Timestamp,
}

/// What a query answers, whole.
pub async fn batches(standing: &Standing, (sql, params): Step) -> Result<Vec<RecordBatch>, Error> {
    let mut session = standing.engine.session().await?;
    let statement = Statement { sql, params, writes: false };
    let Outcome::Rows(mut rows) = session.run(statement, standing.deadline, &CancellationToken::new()).await? else {
        return Err(broken("no rows"));
    };
    let mut batches = Vec::new();
    while let Some(batch) = rows.next().await {
        batches.push(batch?);
    }
    Ok(batches)
}

/// The records of a query whose one column is JSON.
pub async fn records<T: DeserializeOwned>(standing: &Standing, step: Step) -> Result<Vec<T>, Error> {
    let batches = batches(standing, step).await?;
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| record(batch, row))).collect()
}

/// The record in the first column of a row.
pub fn record<T: DeserializeOwned>(batch: &RecordBatch, row: usize) -> Result<T, Error> {
    match column(batch, 0, row) {
        Cell::Text(text) => serde_json::from_str(text).map_err(broken),
        other => Err(broken(format!("{other:?}"))),
    }
}

pub fn column(batch: &RecordBatch, place: usize, row: usize) -> Cell<'_> {
    batch.columns().get(place).map_or(Cell::Null, |array| cell::at(array.as_ref(), row))
}

/// Runs the steps in one transaction.
pub async fn write(standing: &Standing, change: Change, steps: Vec<Step>) -> Result<(), Error> {
    let mut session = standing.engine.session().await?;
    let snapshot = session.begin().await?;
    for (sql, params) in steps {
        let statement = Statement { sql, params, writes: true };
        session.run(statement, standing.deadline, &CancellationToken::new()).await?;
    }
    let change = engine::Change {
        query_id: standing.query_id.to_string(),
        table: change.table.to_owned(),
        operation: change.operation.as_str().to_owned(),
        rows: 1,
        snapshot: snapshot.to_string(),
        at_micros: change.at.timestamp_micros(),
    };
    session.track(&[change]).await?;
    Ok(session.commit().await?)
}

pub fn broken(what: impl std::fmt::Display) -> Error {
    Error::Unverified { why: format!("a stored record cannot be read: {what}") }
}

pub fn at(moment: Timestamp) -> Value {
    Value::TimestampTz(moment.timestamp_micros())
}

pub fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

pub fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| Value::Text(text.to_owned()))
}

/// A moment of a record, from its microseconds.
pub fn moment(micros: i64) -> Result<Timestamp, Error> {
    chrono::DateTime::from_timestamp_micros(micros).ok_or_else(|| broken("a moment"))
}
