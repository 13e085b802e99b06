//! The tables of our own, in schemas that no statement of a caller reaches: how tools read
//! and write them.
//!
//! The statements are ours, on sessions of their own. What is written is one transaction, with its
//! line in the log of changes.

use std::time::Instant;

use arrow::array::RecordBatch;
use contract::policy::abac::Operation;
use contract::{QueryId, Timestamp};
use engine::{Engine, Outcome, Session, Snapshot, Statement, Value};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::encode::cell::{self, Cell};

/// One statement and its parameters.
pub type BoundStatement = (String, Vec<Value>);

/// A transaction, for the log of changes.
#[derive(Debug, Clone, Copy)]
pub struct ChangeRecord {
    /// The name that policies have for the table.
    pub table: &'static str,
    pub operation: Operation,
    pub at: Timestamp,
}

/// Where it is read, and until when.
#[derive(Debug, Clone, Copy)]
pub struct ReadTarget<'a> {
    pub engine: &'a Engine,
    pub deadline: Instant,
}

/// Where it is written, and for which query the log of changes says it is.
#[derive(Debug, Clone, Copy)]
pub struct Author<'a> {
    pub place: ReadTarget<'a>,
    pub query_id: &'a QueryId,
}

/// What a query answers, whole.
pub async fn batches(place: impl Into<ReadTarget<'_>>, step: BoundStatement) -> Result<Vec<RecordBatch>, Error> {
    let place = place.into();
    read(&mut place.engine.session().await?, place.deadline, step).await
}

/// The same on a session that is open already.
pub async fn read(
    session: &mut Session,
    deadline: Instant,
    (sql, params): BoundStatement,
) -> Result<Vec<RecordBatch>, Error> {
    let statement = Statement { sql, params, writes: false };
    let Outcome::Rows(mut rows) = session.run(statement, deadline, &CancellationToken::new()).await? else {
        return Err(broken("no rows"));
    };
    let mut batches = Vec::new();
    while let Some(batch) = rows.next().await {
        batches.push(batch?);
    }
    Ok(batches)
}

/// The records of a query whose one column is JSON.
pub async fn records<T: DeserializeOwned>(
    place: impl Into<ReadTarget<'_>>,
    step: BoundStatement,
) -> Result<Vec<T>, Error> {
    in_batches(&batches(place, step).await?)
}

/// The records of such a query's answer.
pub fn in_batches<T: DeserializeOwned>(batches: &[RecordBatch]) -> Result<Vec<T>, Error> {
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
pub async fn write<'a>(
    author: impl Into<Author<'a>>,
    change: ChangeRecord,
    steps: Vec<BoundStatement>,
) -> Result<(), Error> {
    let Author { place, query_id } = author.into();
    let mut transaction = SystemTransaction::begin(place).await?;
    for step in steps {
        transaction.run(step).await?;
    }
    transaction.track(query_id, change.table, change.operation, 1, change.at).await?;
    transaction.commit().await
}

/// A transaction of ours. Dropped, it is rolled back.
pub struct SystemTransaction {
    session: Session,
    snapshot: Snapshot,
    deadline: Instant,
}

impl SystemTransaction {
    pub async fn begin(place: ReadTarget<'_>) -> Result<Self, Error> {
        let mut session = place.engine.session().await?;
        let snapshot = session.begin().await?;
        Ok(Self { session, snapshot, deadline: place.deadline })
    }

    /// Names what it sees.
    pub fn snapshot(&self) -> String {
        self.snapshot.to_string()
    }

    /// The tables as it sees them.
    pub async fn catalog(&mut self) -> Result<engine::Catalog, Error> {
        Ok(self.session.catalog().await?)
    }

    /// Runs one statement that writes; the number of rows it changed.
    pub async fn run(&mut self, (sql, params): BoundStatement) -> Result<u64, Error> {
        let statement = Statement { sql, params, writes: true };
        match self.session.run(statement, self.deadline, &CancellationToken::new()).await? {
            Outcome::Changed { rows, .. } => Ok(rows),
            Outcome::Rows(_) => Err(broken("rows of a write")),
        }
    }

    /// The records of a query whose one column is JSON.
    pub async fn records<T: DeserializeOwned>(&mut self, step: BoundStatement) -> Result<Vec<T>, Error> {
        in_batches(&read(&mut self.session, self.deadline, step).await?)
    }

    /// A line in the log of changes.
    pub async fn track(
        &mut self,
        query_id: &QueryId,
        table: &str,
        operation: Operation,
        rows: u64,
        at: Timestamp,
    ) -> Result<(), Error> {
        let change = engine::Change {
            query_id: query_id.to_string(),
            table: table.to_owned(),
            operation: operation.as_str().to_owned(),
            rows,
            snapshot: self.snapshot(),
            at_micros: at.timestamp_micros(),
        };
        Ok(self.session.track(&[change]).await?)
    }

    pub async fn commit(mut self) -> Result<(), Error> {
        Ok(self.session.commit().await?)
    }
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

/// A member of a record that is JSON in a column of text.
pub fn json_text<'de, T: DeserializeOwned, D: Deserializer<'de>>(column: D) -> Result<T, D::Error> {
    serde_json::from_str(&String::deserialize(column)?).map_err(D::Error::custom)
}

/// A member of a record that is JSON in a column of text, which may be null.
pub fn json_text_or_null<'de, T: DeserializeOwned, D: Deserializer<'de>>(column: D) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(column)?;
    text.map(|text| serde_json::from_str(&text)).transpose().map_err(D::Error::custom)
}
