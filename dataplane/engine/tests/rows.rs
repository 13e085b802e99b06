//! Rows come as they are made, and stop when nobody reads them.

use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use engine::{Kind, Outcome, Value};
use tokio_util::sync::CancellationToken;

use crate::world::{answer, read, soon, world, write};

#[tokio::test]
async fn one_row_comes_back() {
    let world = world().await;
    assert_eq!(world.answer("select 42, 'a'").await.as_deref(), Ok("42 a"));
    world.stopped().await;
}

#[tokio::test]
async fn no_rows_have_columns_all_the_same() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let outcome = session.run(read("select 1 as a, 'x' as a where false"), soon(), &CancellationToken::new()).await;
    let Outcome::Rows(mut rows) = outcome.unwrap() else { panic!("no rows") };
    let columns: Vec<_> = rows.columns.iter().map(|c| format!("{} {}", c.name, c.type_name)).collect();
    assert_eq!(columns, ["a INTEGER", "a VARCHAR"]);
    assert!(rows.next().await.is_none());
}

#[tokio::test]
async fn many_rows_come_whole_and_in_order() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let outcome = session.run(read("select i from range(1000000) t(i)"), soon(), &CancellationToken::new()).await;
    let Ok(Outcome::Rows(mut rows)) = outcome else { panic!("no rows") };
    let mut expected = 0;
    while let Some(batch) = rows.next().await {
        let batch = batch.unwrap();
        let column = arrow::array::AsArray::as_primitive::<arrow::datatypes::Int64Type>(batch.column(0));
        for value in column.values() {
            assert_eq!(*value, expected);
            expected += 1;
        }
    }
    assert_eq!(expected, 1_000_000);
}

/// The rows of a message behind a schema.
fn alone(schema: &Schema, message: &[u8]) -> Result<RecordBatch, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), schema)?;
    let stream = [writer.get_mut().as_slice(), message].concat();
    StreamReader::try_new(stream.as_slice(), None)?.next().ok_or(ArrowError::ParseError("no rows".to_owned()))?
}

#[tokio::test]
async fn rows_behind_the_first_come_as_messages_that_hold_them() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let sql = "select i, 'text ' || i as t, case when i % 3 > 0 then i * 0.5 end as d, [i, null] as l \
               from range(200000) t(i)";
    let outcome = session.run(read(sql), soon(), &CancellationToken::new()).await;
    let Ok(Outcome::Rows(mut rows)) = outcome else { panic!("no rows") };
    let (schema, mut count, mut messages) = (rows.schema.clone(), 0, 0);
    while let Some(batch) = rows.next().await {
        let batch = batch.unwrap();
        count += batch.num_rows();
        let Some(message) = rows.message() else { continue };
        messages += 1;
        assert_eq!(alone(&schema, &message.whole()).unwrap(), batch);
        assert!(rows.message().is_none(), "it is given once");
    }
    assert!(count == 200_000 && messages > 0, "{count} rows in {messages} messages");
}

#[tokio::test]
async fn parameters_are_bound_and_counted() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let sql = "select $2 || $1";
    let values = [Value::Text("a".to_owned()), Value::Text("b'".to_owned())];
    assert_eq!(answer(&mut session, sql, &values).await.as_deref(), Ok("b'a"));
    let error = answer(&mut session, sql, &values[..1]).await.unwrap_err();
    assert_eq!(error.kind, Kind::InvalidInput);
}

#[tokio::test]
async fn an_error_after_the_first_rows_ends_them() {
    let world = world().await;
    let sql = "select case when i = 900000 then error('late') end from range(1000000) t(i)";
    let error = world.answer(sql).await.unwrap_err();
    // Of the engine's threads the one that was stopped, because another failed, may speak first.
    let told = (error.kind, error.message.as_str());
    assert!(told == (Kind::InvalidInput, "late") || told.0 == Kind::Interrupted, "{told:?}");
}

#[tokio::test]
async fn rows_that_are_dropped_free_their_session() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let endless = read("select i from range(100000000000) t(i)");
    let outcome = session.run(endless, soon(), &CancellationToken::new()).await.unwrap();
    let Outcome::Rows(mut rows) = outcome else { panic!("no rows") };
    assert!(rows.next().await.unwrap().is_ok());
    drop(rows);
    let asked = Instant::now();
    assert_eq!(answer(&mut session, "select 1", &[]).await.as_deref(), Ok("1"));
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed()); // a busy machine is no hang
}

#[tokio::test]
async fn rows_that_are_dropped_leave_their_transaction_open() {
    let world = world().await.made(&["create table t(i int)"]).await;
    let mut session = world.session().await.unwrap();
    session.begin().await.unwrap();
    write(&mut session, "insert into t values (1)").await.unwrap();
    let outcome = session.run(read("select * from t, range(10000000)"), soon(), &CancellationToken::new()).await;
    let Ok(Outcome::Rows(rows)) = outcome else { panic!("no rows") };
    rows.finish().await;
    let seen = answer(&mut session, "select count(*) from t", &[]).await;
    assert!(seen.is_ok() || seen.is_err_and(|e| e.kind == Kind::TransactionAborted));
    session.rollback().await.unwrap();
    assert_eq!(world.answer("select count(*) from t").await.as_deref(), Ok("0"));
}

#[tokio::test]
async fn rows_left_unread_hold_the_session_and_say_so() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let outcome = session.run(read("select i from range(100000000) t(i)"), soon(), &CancellationToken::new()).await;
    let error = answer(&mut session, "select 1", &[]).await.unwrap_err();
    assert_eq!(error.kind, Kind::Unavailable);
    drop(outcome);
}
