//! Every statement can be ended, whatever it does, and the rest goes on.

use std::time::{Duration, Instant};

use engine::{Kind, Outcome};
use tokio_util::sync::CancellationToken;

use crate::world::{answer, read, soon, world, write};

/// Neither the memory limit nor an interrupt stops this one.
const BOMB: &str = "select levenshtein(repeat('a', 200000), repeat('b', 200000))";
const ENDLESS: &str = "select sum(a.i * b.i) from range(1000000) a(i), range(1000000) b(i)";

#[tokio::test]
async fn a_statement_that_obeys_ends_at_its_deadline() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let start = Instant::now();
    let deadline = start + Duration::from_millis(300);
    let error = session.run(read(ENDLESS), deadline, &CancellationToken::new()).await.err().unwrap();
    assert_eq!(error.kind, Kind::Timeout);
    assert!(start.elapsed() < Duration::from_secs(2));
    assert_eq!(answer(&mut session, "select 1", &[]).await.as_deref(), Ok("1"));
}

#[tokio::test]
async fn a_statement_that_does_not_obey_takes_its_process_along() {
    let world = world().await.made(&["create table t(i int)", "insert into t values (7)"]).await;
    let mut session = world.session().await.unwrap();
    let start = Instant::now();
    let deadline = start + Duration::from_secs(1);
    let error = session.run(read(BOMB), deadline, &CancellationToken::new()).await.err().unwrap();
    assert_eq!(error.kind, Kind::Timeout);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert_eq!(world.answer("select i from t").await.as_deref(), Ok("7"), "what was committed is there");
    assert_eq!(answer(&mut session, "select i from t", &[]).await.as_deref(), Ok("7"), "also to its session");
}

#[tokio::test]
async fn a_caller_can_end_a_statement() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let cancel = CancellationToken::new();
    let start = Instant::now();
    let (outcome, ()) = tokio::join!(session.run(read(ENDLESS), soon(), &cancel), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cancel.cancel();
    });
    assert_eq!(outcome.err().unwrap().kind, Kind::Interrupted);
    assert!(start.elapsed() < Duration::from_secs(2));
    assert_eq!(answer(&mut session, "select 1", &[]).await.as_deref(), Ok("1"));
}

#[tokio::test]
async fn a_statement_that_nobody_waits_for_is_ended() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let never = CancellationToken::new();
    let gone = tokio::time::timeout(Duration::from_millis(200), session.run(read(BOMB), soon(), &never)).await;
    assert!(gone.is_err());
    drop(session);
    let before = Instant::now();
    while world.is_alive() && before.elapsed() < Duration::from_secs(10) {
        tokio::task::yield_now().await;
    }
    assert!(before.elapsed() < Duration::from_secs(4), "the bomb is gone with its process");
    assert_eq!(world.answer("select 1").await.as_deref(), Ok("1"));
}

#[tokio::test]
async fn a_read_of_another_caller_is_run_again() {
    let world = world().await;
    let (mut bomber, mut bystander) = (world.session().await.unwrap(), world.session().await.unwrap());
    let never = CancellationToken::new();
    // Slow enough to be cut off by the kill, fast enough to finish when run again.
    let slow = "select count(*) from range(30000) a(i), range(30000) b(i) where (a.i * b.i) % 7 = 3";
    let deadline = Instant::now() + Duration::from_millis(1);
    let (bombed, answered) =
        tokio::join!(bomber.run(read(BOMB), deadline, &never), answer(&mut bystander, slow, &[]));
    assert_eq!(bombed.err().unwrap().kind, Kind::Timeout);
    assert!(answered.is_ok(), "{answered:?}");
}

#[tokio::test]
async fn a_write_of_another_caller_is_not_run_again() {
    let world = world().await.made(&["create table t(i bigint)"]).await;
    let (mut bomber, mut bystander) = (world.session().await.unwrap(), world.session().await.unwrap());
    let never = CancellationToken::new();
    bystander.begin().await.unwrap();
    write(&mut bystander, "insert into t values (1)").await.unwrap();
    let deadline = Instant::now() + Duration::from_millis(1);
    assert!(bomber.run(read(BOMB), deadline, &never).await.is_err());
    let lost = write(&mut bystander, "insert into t values (2)").await.unwrap_err();
    assert_eq!(lost.kind, Kind::Crashed);
    let still = bystander.commit().await.unwrap_err();
    assert_eq!(still.kind, Kind::Unavailable, "nobody may think that it was committed");
    bystander.rollback().await.unwrap();
    assert_eq!(answer(&mut bystander, "select count(*) from t", &[]).await.as_deref(), Ok("0"));
}

#[tokio::test]
async fn a_reader_who_stops_reading_costs_only_its_own_statement() {
    let world = world().await;
    let mut other = world.session().await.unwrap();
    answer(&mut other, "select 1", &[]).await.unwrap();
    other.begin().await.unwrap();
    let mut session = world.session().await.unwrap();
    let deadline = Instant::now() + Duration::from_millis(100);
    let endless = read("select i, repeat('x', 1000) from range(100000000000) t(i)");
    let outcome = session.run(endless, deadline, &CancellationToken::new()).await.unwrap();
    let Outcome::Rows(mut rows) = outcome else { panic!("no rows") };
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let error = loop {
        match rows.next().await {
            Some(Ok(_)) => {}
            Some(Err(error)) => break error,
            None => panic!("an endless statement ended"),
        }
    };
    assert_eq!(error.kind, Kind::Timeout);
    other.commit().await.expect("the process lives, and with it the other transaction");
}

#[tokio::test]
async fn memory_beyond_the_bound_is_an_error_and_not_the_end() {
    let world = world().await;
    let error = world.answer("select length(repeat('x', 40000000000))").await.unwrap_err();
    assert!(matches!(error.kind, Kind::OutOfMemory | Kind::InvalidInput | Kind::OutOfRange | Kind::Crashed), "{error}");
    assert_eq!(world.answer("select 1").await.as_deref(), Ok("1"));
}
