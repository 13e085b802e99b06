//! Every statement can be ended, whatever it does, and the rest goes on.

use std::time::{Duration, Instant};

use engine::{Kind, Outcome};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::world::{answer, config, read, soon, world, write};

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
    let before = world.incarnation().await;
    let start = Instant::now();
    let deadline = start + Duration::from_secs(1);
    let error = session.run(read(BOMB), deadline, &CancellationToken::new()).await.err().unwrap();
    assert_eq!(error.kind, Kind::Timeout);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    while world.incarnation().await == before {}
    assert_eq!(world.answer("select i from t").await.as_deref(), Ok("7"), "what was committed is there");
    assert_eq!(answer(&mut session, "select i from t", &[]).await.as_deref(), Ok("7"), "also to its session");
}

#[tokio::test]
async fn a_caller_can_end_a_statement() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let cancel = CancellationToken::new();
    let start = Instant::now();
    let (outcome, other) = tokio::join!(session.run(read(ENDLESS), soon(), &cancel), async {
        let answered = world.answer("select 1").await;
        cancel.cancel();
        answered
    });
    assert!(other.is_ok());
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
async fn reads_of_other_callers_do_not_notice() {
    let world = world().await;
    let (mut bomber, mut bystander) = (world.session().await.unwrap(), world.session().await.unwrap());
    let before = world.incarnation().await;
    let deadline = Instant::now() + Duration::from_millis(300);
    let bomb = TaskTracker::new()
        .spawn(async move { bomber.run(read(BOMB), deadline, &CancellationToken::new()).await.err() });
    // One read after another while the bomb runs, is killed, and the engine starts again.
    while Instant::now() < deadline + Duration::from_secs(3) {
        let answered = answer(&mut bystander, "select sum(i) from range(1000000) t(i)", &[]).await;
        assert_eq!(answered.as_deref(), Ok("499999500000"));
    }
    assert_eq!(bomb.await.unwrap().map(|error| error.kind), Some(Kind::Timeout));
    assert_ne!(world.incarnation().await, before);
}

#[tokio::test]
async fn a_write_of_another_caller_is_not_run_again() {
    let world = world().await.made(&["create table t(i bigint)"]).await;
    let (mut bomber, mut bystander) = (world.session().await.unwrap(), world.session().await.unwrap());
    let never = CancellationToken::new();
    bystander.begin().await.unwrap();
    write(&mut bystander, "insert into t values (1)").await.unwrap();
    let deadline = Instant::now() + Duration::from_millis(300);
    assert!(bomber.run(read(BOMB), deadline, &never).await.is_err());
    let lost = loop {
        if let Err(error) = write(&mut bystander, "insert into t values (2)").await {
            break error;
        }
    };
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
    let deadline = Instant::now() + Duration::from_secs(2);
    let endless = read("select i, repeat('x', 1000) from range(100000000000) t(i)");
    let outcome = session.run(endless, deadline, &CancellationToken::new()).await.unwrap();
    let Outcome::Rows(mut rows) = outcome else { panic!("no rows") };
    // Others are served all the while, past the time at which a process would be killed.
    while Instant::now() < deadline + Duration::from_secs(3) {
        assert_eq!(answer(&mut other, "select 1", &[]).await.as_deref(), Ok("1"));
    }
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

#[tokio::test]
async fn an_engine_that_nobody_holds_lets_go_of_its_file() {
    let world = world().await.made(&["create table t(i int)", "insert into t values (7)"]).await;
    let folder = world.dropped();
    // The file is locked as long as its process lives.
    let again = loop {
        if let Ok(engine) = engine::Engine::start(config(&folder)).await {
            break engine;
        }
    };
    let mut session = again.session().await.unwrap();
    assert_eq!(answer(&mut session, "select i from t", &[]).await.as_deref(), Ok("7"));
}
