//! One plane of the pair: all the ways to ask it, and everything an answer shows.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::http::header::CONTENT_LENGTH;
use contract::report::{Body as Entry, Finished, Started};
use contract::wire::{Forwarded, Who, header};
use dataplane::Ending;
use dataplane::agents::memory::Memories;
use dataplane::agents::reasoning::Thoughts;
use dataplane::protocols::rest::{RestContext, routes};
use dataplane::testing::{analyst_id, analyst_key};
use futures::TryStreamExt;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio_postgres::{Client, SimpleQueryMessage};
use tower::ServiceExt;

use super::SHARED;
use crate::flight;
use crate::pgwire::Wired;

/// A way to ask and be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    Json,
    Csv,
    Arrow,
    Simple,
    Extended,
    /// `COPY (…) TO STDOUT`.
    Copy,
    /// `DECLARE`, `FETCH ALL`.
    Cursor,
    Flight,
    /// Told what it becomes, and not run.
    Transpile,
}

impl Surface {
    /// Those that run it.
    pub const ALL: [Self; 8] =
        [Self::Json, Self::Csv, Self::Arrow, Self::Simple, Self::Extended, Self::Copy, Self::Cursor, Self::Flight];
}

/// One plane of the pair, and who asks there.
pub struct Side {
    pub wired: Wired,
    pub client: Option<Client>,
    flight: flight::Client,
    rest: Router,
    /// The last entry of the log that was looked at.
    seen: u64,
}

impl Side {
    pub fn new(wired: Wired, flight: flight::Client) -> Self {
        let (memories, thoughts) = (Memories::default(), Thoughts::default());
        let (pipeline, triggers) = (wired.world.pipeline.clone(), wired.world.triggers.clone());
        let (ending, limits) = (Ending::default(), connections::ConnectionTimeouts::DEFAULT.limits());
        let context = RestContext { env_id: "env-1".into(), pipeline, memories, thoughts, triggers, ending, limits };
        Self { wired, client: None, flight, rest: routes(context), seen: 0 }
    }

    pub async fn owner(&self, sql: &str) {
        self.wired.world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    pub async fn fill(&self, own: &[&str]) {
        for sql in SHARED.iter().chain(own) {
            self.owner(sql).await;
        }
    }

    pub async fn put_rows_back(&self, own: &[&str]) {
        for table in ["customer", "orders", "lookup"] {
            self.owner(&format!("delete from {table}")).await;
        }
        for sql in SHARED.iter().chain(own).filter(|sql| sql.starts_with("insert into")) {
            if !sql.starts_with("insert into payroll") {
                self.owner(sql).await;
            }
        }
    }

    pub async fn shown(&mut self, sql: &str, surface: Surface) -> String {
        self.seen = self.wired.world.ledger.log.written();
        let answer = match surface {
            Surface::Json => self.rest("query", json!({"sql": sql}), "json").await,
            Surface::Csv => self.rest("query", json!({"sql": sql, "format": "csv"}), "csv").await,
            Surface::Arrow => self.rest("query", json!({"sql": sql, "format": "arrow"}), "arrow").await,
            Surface::Transpile => self.rest("transpile", json!({"sql": sql}), "json").await,
            Surface::Simple | Surface::Extended | Surface::Copy | Surface::Cursor => self.wire(sql, surface).await,
            Surface::Flight => self.flight(sql).await,
        };
        format!("{answer}\n{}", self.logged())
    }

    async fn rest(&self, path: &str, asked: Value, format: &str) -> String {
        let caller = Forwarded::of(Who::Key { key_id: analyst_id() }, None);
        let request = Request::post(format!("/v1/environments/env-1/{path}"))
            .header(header::CALLER, serde_json::to_string(&caller).unwrap())
            .header(header::REQUEST_ID, "req-7")
            .body(Body::from(asked.to_string()))
            .unwrap();
        let response = self.rest.clone().oneshot(request).await.unwrap();
        let mut shown = format!("{}", response.status());
        let headers = response.headers().clone();
        let differing = ["x-query-id", "x-execution-time-ms", CONTENT_LENGTH.as_str()];
        for (name, value) in headers.iter().filter(|(name, _)| !differing.contains(&name.as_str())) {
            write!(shown, " {name}={value:?}").unwrap();
        }
        let collected = response.into_body().collect().await.unwrap();
        let trailers = collected.trailers().cloned().unwrap_or_default();
        let bytes = collected.to_bytes();
        // a moment has as many digits as it needs: the length is that of the body, which is compared without it
        let length = headers.get(CONTENT_LENGTH).map(|length| length.to_str().unwrap().parse() == Ok(bytes.len()));
        assert_ne!(length, Some(false), "{headers:?} for {} bytes", bytes.len());
        write!(shown, " length={length:?} {trailers:?}\n{}", body(&bytes, format)).unwrap();
        shown
    }

    async fn flight(&mut self, sql: &str) -> String {
        let answered = match self.flight.execute(sql.to_owned(), None).await {
            // what has no rows has run when it is asked for
            Ok(info) if info.endpoint.is_empty() => return format!("Completed({})", info.total_records),
            Ok(info) => flight::batches(&mut self.flight, &info).await.map(|rows| (info.schema, rows)),
            Err(error) => Err(flight::status(error)),
        };
        match answered {
            Ok((told, (schema, batches))) => {
                format!("{told:?} {schema:?}\n{}", sorted(&table(&batches)))
            }
            Err(status) => format!("{:?} {} {}", status.code(), status.message(), detail(&status)),
        }
    }

    /// The lines of an answer in the order in which they came.
    pub async fn in_order(&mut self, sql: &str) -> Vec<String> {
        simple(self.client().await, sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    async fn client(&mut self) -> &Client {
        if self.client.as_ref().is_none_or(Client::is_closed) {
            let config = self.wired.config("agent", analyst_key());
            self.client = Some(self.wired.connect(&config).await.unwrap());
        }
        self.client.as_ref().unwrap()
    }

    async fn wire(&mut self, sql: &str, surface: Surface) -> String {
        let client = self.client().await;
        let answer = match surface {
            Surface::Extended => extended(client, sql).await,
            Surface::Copy => copied(client, sql).await,
            Surface::Cursor => fetched(client, sql).await,
            _ => simple(client, sql).await,
        };
        let answer = match answer {
            Ok(mut lines) => {
                lines.sort();
                lines.join("\n")
            }
            Err(error) => format!(
                "{:?}",
                error.as_db_error().map(|error| (
                    error.code().clone(),
                    error.to_string(),
                    error.detail().map(str::to_owned),
                    error.hint().map(str::to_owned),
                    error.position().cloned()
                ))
            ),
        };
        let noticed: Vec<String> = self.wired.noticed().iter().map(ToString::to_string).collect();
        format!("{answer} {noticed:?}")
    }

    /// The statement's entries of the log, without times and marks of the run.
    fn logged(&self) -> String {
        let entries = self.wired.world.entries_after(self.seen);
        entries.iter().map(|entry| logged(&entry.body)).collect::<Vec<_>>().join(" ")
    }
}

/// Moments as numbers: what prints them knows no time zone by its name.
fn table(batches: &[RecordBatch]) -> String {
    let plain = |column: &ArrayRef| match column.data_type() {
        DataType::Timestamp(_, Some(_)) => arrow::compute::cast(column, &DataType::Int64).unwrap(),
        _ => Arc::clone(column),
    };
    let lines = batches.iter().flat_map(|batch| {
        let columns: Vec<_> = batch.columns().iter().map(plain).collect();
        (0..batch.num_rows()).map(move |row| {
            let cells = columns.iter().map(|column| format!("{:?}", column.slice(row, 1)));
            cells.collect::<Vec<_>>().join(" ").replace('\n', " ")
        })
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn logged(entry: &Entry) -> String {
    match entry {
        Entry::Started(started) => {
            let Started { sql, sql_with_rls, operation, tables_accessed, columns_masked, policy_verdicts, .. } =
                &**started;
            format!("{sql} {sql_with_rls:?} {operation:?} {tables_accessed:?} {columns_masked:?} {policy_verdicts:?}")
        }
        Entry::Finished(finished) => {
            let Finished { outcome, error_code, rows_returned, micro_credits, stages, .. } = &**finished;
            let stages: Vec<_> = stages.iter().map(|(name, _)| name).collect();
            format!("{outcome:?} {error_code:?} {rows_returned} {micro_credits} {stages:?}")
        }
        Entry::BranchMerged(_) | Entry::TriggerFired(_) | Entry::TriggerError(_) => String::new(), // no query
    }
}

/// The body that the details of a status hold.
fn detail(status: &tonic::Status) -> String {
    let details = String::from_utf8_lossy(status.details());
    let at = details.find("{\"error\"").unwrap_or_else(|| panic!("no body in {status:?}"));
    let mut bodies = serde_json::Deserializer::from_str(&details[at..]).into_iter::<Value>();
    body(bodies.next().unwrap().unwrap().to_string().as_bytes(), "json")
}

/// Rows in one order, without what differs from run to run.
fn body(bytes: &[u8], format: &str) -> String {
    if let Ok(mut answer) = serde_json::from_slice::<Value>(bytes) {
        for key in ["query_id", "execution_time_ms", "transpilation_time_ms"] {
            answer.as_object_mut().map(|answer| answer.remove(key));
        }
        if let Some(error) = answer.get_mut("error").and_then(Value::as_object_mut) {
            error.remove("timestamp");
        }
        if let Some(rows) = answer.get_mut("rows").and_then(Value::as_array_mut) {
            rows.sort_by_key(ToString::to_string);
        }
        return answer.to_string();
    }
    if format == "arrow" {
        let reader = arrow::ipc::reader::StreamReader::try_new(bytes, None).unwrap();
        let schema = format!("{:?}", reader.schema());
        let batches: Vec<_> = reader.map(Result::unwrap).collect();
        // a moment with a zone has no text there
        let text = arrow::util::pretty::pretty_format_batches(&batches).map(|table| sorted(&table.to_string()));
        return format!("{schema}\n{}", text.unwrap_or_else(|_| format!("{batches:?}")));
    }
    sorted(&String::from_utf8_lossy(bytes))
}

fn sorted(text: &str) -> String {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

async fn simple(client: &Client, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let messages = client.simple_query(sql).await?;
    let shown = messages.iter().map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            (0..row.len()).map(|at| row.get(at).unwrap_or("NULL")).collect::<Vec<_>>().join("|")
        }
        SimpleQueryMessage::RowDescription(columns) => {
            columns.iter().map(tokio_postgres::SimpleColumn::name).collect::<Vec<_>>().join(" ")
        }
        SimpleQueryMessage::CommandComplete(rows) => format!("({rows})"),
        _ => String::new(),
    });
    Ok(shown.collect())
}

/// Prepared, bound, run; the columns with their types, and how many rows there are.
async fn extended(client: &Client, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let statement = client.prepare(sql).await?;
    let columns =
        statement.columns().iter().map(|column| format!("{} {}", column.name(), column.type_())).collect::<Vec<_>>();
    let rows = client.query(&statement, &[]).await?;
    Ok(vec![columns.join(" "), format!("({})", rows.len())])
}

/// The lines that leave.
async fn copied(client: &Client, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let pieces: Vec<bytes::Bytes> = client.copy_out(&format!("copy ({sql}) to stdout")).await?.try_collect().await?;
    Ok(String::from_utf8_lossy(&pieces.concat()).lines().map(str::to_owned).collect())
}

/// The rows of a cursor; its transaction ends, whatever comes of it.
async fn fetched(client: &Client, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    client.batch_execute("begin").await?;
    let fetched = async {
        client.simple_query(&format!("declare c cursor for {sql}")).await?;
        simple(client, "fetch all from c").await
    };
    let fetched = fetched.await;
    if !client.is_closed() {
        client.batch_execute("rollback").await?;
    }
    fetched
}
