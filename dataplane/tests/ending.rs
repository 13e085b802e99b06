//! The end of a data plane, as its clients see it: told between two statements, never within one.

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, RowStream};

use crate::pgwire::{Wired, refused, simple, wired};

const ROWS: i64 = 300_000;
const TIME: Duration = Duration::from_mins(1);

/// Takes the ending up to `closed`, while the clients do something.
async fn drained<T>(wired: &Wired, drain: Duration, clients: impl Future<Output = T>) -> T {
    wired.ending.leaving.cancel();
    let draining = wired.ending.drain(Duration::ZERO, drain, || false);
    let clients = async {
        wired.ending.draining.cancelled().await;
        clients.await
    };
    tokio::join!(draining, clients).1
}

/// A statement of which the first row has arrived, and by far not the last.
async fn running(client: &Client) -> RowStream {
    let sql = format!("select n, repeat('x', 200) from range({ROWS}) t(n)");
    client.query_raw(&sql, Vec::<i32>::new()).await.unwrap()
}

fn is_shutdown(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::ADMIN_SHUTDOWN)
}

#[tokio::test]
async fn a_running_statement_comes_to_its_end_and_then_its_session_does() {
    let wired = wired().await;
    let (idle, busy) = (wired.owner().await, wired.owner().await);
    let mut rows = pin!(running(&busy).await);
    rows.next().await.unwrap().unwrap();
    let clients = async {
        let told = idle.simple_query("select 1").await.expect_err("idle");
        assert!(is_shutdown(&told) || told.is_closed(), "{told:?}");
        let late = wired.connect(&wired.config("agent", dataplane::testing::demo_key())).await.expect_err("late");
        assert!(is_shutdown(&late), "{late:?}");
        let mut left = 0;
        while let Some(row) = rows.next().await {
            row.unwrap();
            left += 1;
        }
        left
    };
    assert_eq!(drained(&wired, TIME, clients).await, ROWS - 1);
    let told = busy.simple_query("select 1").await.expect_err("it is over");
    assert!(is_shutdown(&told) || told.is_closed(), "{told:?}");
    wired.stop().await;
}

#[tokio::test]
async fn a_cursor_is_fetched_and_a_transaction_committed_but_nothing_new_begins() {
    let wired = wired().await;
    let (fetching, writing, beginning) = (wired.owner().await, wired.owner().await, wired.owner().await);
    simple(&fetching, "begin; declare c cursor for select n from range(5) t(n)").await;
    simple(&writing, "begin; insert into customer (id) values (7)").await;
    simple(&beginning, "begin; insert into customer (id) values (8)").await;
    let clients = async {
        assert_eq!(simple(&fetching, "fetch 2 from c").await, ["0", "1", "(2)"]);
        assert_eq!(simple(&fetching, "fetch all from c").await, ["2", "3", "4", "(3)"]);
        simple(&fetching, "commit").await;
        simple(&writing, "commit").await;
        assert_eq!(refused(&beginning, "insert into customer (id) values (9)").await.code(), &SqlState::ADMIN_SHUTDOWN);
    };
    drained(&wired, TIME, clients).await;
    let counted = wired.world.count("select count(*) from raw.main.customer where id >= 7").await;
    assert_eq!(counted, 1, "committed: 7; rolled back: 8 and 9");
    wired.stop().await;
}

#[tokio::test]
async fn what_runs_when_the_time_is_over_is_cancelled_with_the_same_code() {
    let wired = wired().await;
    let client = wired.owner().await;
    let mut rows = pin!(running(&client).await);
    rows.next().await.unwrap().unwrap();
    let clients = async {
        wired.ending.closed.cancelled().await;
        loop {
            match rows.next().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => return error,
                None => panic!("it was not cut"),
            }
        }
    };
    let error = drained(&wired, Duration::from_millis(1), clients).await;
    assert!(is_shutdown(&error), "{error:?}");
    wired.stop().await;
}
