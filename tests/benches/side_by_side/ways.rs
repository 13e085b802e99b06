//! The ways to the same rows. Each reads an answer to its end and keeps nothing of it but the count.

use std::future::ready;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::ipc::reader::StreamDecoder;
use arrow_flight::sql::client::FlightSqlServiceClient;
use engine::{Outcome, Session, Statement};
use futures::TryStreamExt;
use serde::Deserialize;
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::types::{ToSql, Type};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

#[derive(Debug, Clone, Copy)]
pub enum Way {
    /// The library in this process.
    Direct,
    /// The engine's child process through its client: no policy, no dialect, no credential.
    Engine,
    /// The PostgreSQL wire of a whole platform.
    Pgwire,
    /// The control plane's REST, which asks the data plane's: JSON.
    RestJson,
    /// The same, answered as an Arrow stream.
    RestArrow,
}

pub const WAYS: [Way; 5] = [Way::Direct, Way::Engine, Way::Pgwire, Way::RestJson, Way::RestArrow];

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Engine => "engine process",
            Self::Pgwire => "governed, pgwire",
            Self::RestJson => "governed, REST JSON",
            Self::RestArrow => "governed, REST Arrow",
        }
    }
}

pub fn direct(connection: &duckdb::Connection, sql: &str) -> u64 {
    let mut statement = connection.prepare(sql).unwrap();
    statement.stream_arrow([]).unwrap().map(|batch| batch.num_rows() as u64).sum()
}

/// Bytes of the answer in Arrow's own layout.
pub fn arrow_bytes(connection: &duckdb::Connection, sql: &str) -> u64 {
    let size = |batch: &RecordBatch| -> usize {
        batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap()).sum()
    };
    let mut statement = connection.prepare(sql).unwrap();
    statement.stream_arrow([]).unwrap().map(|batch| size(&batch) as u64).sum()
}

pub async fn engine(session: &mut Session, sql: &str, writes: bool) -> u64 {
    let statement = Statement { sql: sql.to_owned(), params: Vec::new(), writes };
    let deadline = std::time::Instant::now() + Duration::from_mins(1);
    let mut count = 0;
    match session.run(statement, deadline, &CancellationToken::new()).await.unwrap() {
        Outcome::Rows(mut rows) => {
            while let Some(batch) = rows.next().await {
                count += batch.unwrap().num_rows() as u64;
            }
        }
        Outcome::Changed { rows, .. } => count = rows,
    }
    count
}

/// The extended protocol; values in binary.
pub async fn binary(client: &tokio_postgres::Client, sql: &str) -> u64 {
    let none: [(&(dyn ToSql + Sync), Type); 0] = [];
    let rows = client.query_typed_raw(sql, none).await.unwrap();
    rows.try_fold(0, async |count, _| Ok(count + 1)).await.unwrap()
}

/// The simple protocol; values as text.
pub async fn text(client: &tokio_postgres::Client, sql: &str) -> u64 {
    let messages = client.simple_query_raw(sql).await.unwrap();
    counted(messages.try_fold(0, |count, message| ready(Ok(count + rows_in(&message))))).await
}

/// `COPY … TO STDOUT`: no value of ours has the end of a line.
pub async fn copied(client: &tokio_postgres::Client, sql: &str) -> u64 {
    let copy = format!("copy ({sql}) to stdout");
    let pieces = client.copy_out(copy.as_str()).await.unwrap();
    counted(pieces.try_fold(0, |count, piece| ready(Ok(count + lines_in(&piece))))).await
}

/// Counts on a thread of the runtime, where the connection is read: the bench's own would be woken for each 8 KiB.
async fn counted(count: impl Future<Output = Result<u64, tokio_postgres::Error>> + Send + 'static) -> u64 {
    tokio::spawn(count).await.unwrap().unwrap()
}

fn lines_in(piece: &[u8]) -> u64 {
    piece.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

fn rows_in(message: &SimpleQueryMessage) -> u64 {
    u64::from(matches!(message, SimpleQueryMessage::Row(_)))
}

/// The bytes of an HTTP answer; they are looked into later.
pub async fn whole(request: reqwest::RequestBuilder) -> Vec<u8> {
    let mut answer = request.send().await.unwrap();
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.unwrap() {
        body.extend_from_slice(&piece);
    }
    assert!(answer.status().is_success(), "{}", String::from_utf8_lossy(&body));
    body
}

/// The totals after the rows.
#[derive(Deserialize)]
struct Totals {
    row_count: u64,
}

pub fn rows_of_json(body: &[u8]) -> u64 {
    serde_json::from_slice::<Totals>(body).unwrap().row_count
}

pub fn rows_of_arrow(body: Vec<u8>) -> u64 {
    let (mut decoder, mut left, mut count) = (StreamDecoder::new(), Buffer::from(body), 0);
    while let Some(batch) = decoder.decode(&mut left).unwrap() {
        count += batch.num_rows() as u64;
    }
    count
}

pub async fn flight(client: &FlightSqlServiceClient<Channel>, sql: &str) -> u64 {
    let mut client = client.clone();
    let info = client.execute(sql.to_owned(), None).await.unwrap();
    let [endpoint] = info.endpoint.as_slice() else { unreachable!("one place to come to") };
    let batches = client.do_get(endpoint.ticket.clone().unwrap()).await.unwrap();
    batches.try_fold(0, async |count, batch| Ok(count + batch.num_rows() as u64)).await.unwrap()
}
