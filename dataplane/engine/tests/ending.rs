//! Every statement can be ended, whatever it does, and the rest goes on.

use std::time::{Duration, Instant};

use engine::{Kind, Outcome, Session};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::world::{World, answer, config, never, read, soon, world, write};

/// Neither the memory limit nor an interrupt stops this one.
const BOMB: &str = "select levenshtein(repeat('a', 200000), repeat('b', 200000))";
const ENDLESS: &str = "select sum(a.i * b.i) from range(1000000) a(i), range(1000000) b(i)";
/// No test waits so long for what has an end; against one that hangs.
const HANGS: Duration = Duration::from_secs(20);

/// Ends the engine's process by [`BOMB`], again where its deadline passed before it was begun.
async fn end_process(world: &World, mut bomber: Session, before: &str) {
    while world.incarnation().await == before {
        let ended = bomber.run(read(BOMB), Instant::now() + Duration::from_millis(100), &never()).await;
        assert_eq!(ended.err().map(|error| error.kind), Some(Kind::Timeout));
    }
}

#[tokio::test]
async fn a_statement_that_obeys_ends_at_its_deadline() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let start = Instant::now();
    let deadline = start + Duration::from_millis(300);
    let error = session.run(read(ENDLESS), deadline, &CancellationToken::new()).await.err().unwrap();
    assert_eq!(error.kind, Kind::Timeout);
    assert!(start.elapsed() < HANGS, "{:?}", start.elapsed());
    assert_eq!(answer(&mut session, "select 1", &[]).await.as_deref(), Ok("1"));
}

#[tokio::test]
async fn a_query_with_its_own_transaction_ends_at_its_deadline_and_when_its_caller_wants_it() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let deadline = Instant::now() + Duration::from_millis(300);
    let late = session.query(read(ENDLESS), None, deadline, &never()).await.map(drop);
    assert_eq!(late.map_err(|error| error.kind), Err(Kind::Timeout));
    let cancel = CancellationToken::new();
    let (given_up, other) = tokio::join!(session.query(read(ENDLESS), None, soon(), &cancel), async {
        let answered = world.answer("select 1").await;
        cancel.cancel();
        answered
    });
    assert!(other.is_ok());
    assert_eq!(given_up.map(drop).map_err(|error| error.kind), Err(Kind::Interrupted));
    let before = world.incarnation().await;
    let bomb = session.query(read(BOMB), None, Instant::now() + Duration::from_secs(1), &never()).await.map(drop);
    assert_eq!(bomb.map_err(|error| error.kind), Err(Kind::Timeout));
    world.restarted(&before).await;
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
    assert!(start.elapsed() < HANGS, "{:?}", start.elapsed());
    world.restarted(&before).await;
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
    assert!(start.elapsed() < HANGS, "{:?}", start.elapsed());
    assert_eq!(answer(&mut session, "select 1", &[]).await.as_deref(), Ok("1"));
}

#[tokio::test]
async fn a_statement_that_nobody_waits_for_is_ended() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let (before, never) = (world.incarnation().await, CancellationToken::new());
    // by then it has begun: one that has not is given up, and its process goes on
    let gone = tokio::time::timeout(Duration::from_secs(2), session.run(read(BOMB), soon(), &never)).await;
    assert!(gone.is_err());
    drop(session);
    // the bomb is gone with its process; whether that is alive just then says nothing, for another one soon is
    world.restarted(&before).await;
    assert_eq!(world.answer("select 1").await.as_deref(), Ok("1"));
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the thread itself is to be held up")]
async fn a_process_that_nobody_has_looked_at_for_a_while_is_not_ended_for_it() {
    let world = world().await;
    let (mut given_up, mut bystander) = (world.session().await.unwrap(), world.session().await.unwrap());
    bystander.begin().await.unwrap();
    assert!(given_up.run(read("select 1"), soon(), &never()).now_or_never().is_none(), "nobody reads its answer");
    drop(given_up);
    assert_eq!(answer(&mut bystander, "select 1", &[]).await.as_deref(), Ok("1"));
    // By now it is asked to end. Whoever would look at it again has no thread, past the time of a kill.
    std::thread::sleep(Duration::from_millis(2_500));
    let since = Instant::now();
    while since.elapsed() < Duration::from_millis(1_500) {
        assert_eq!(answer(&mut bystander, "select 1", &[]).await.as_deref(), Ok("1"));
    }
    bystander.commit().await.expect("the process lives, and with it the other transaction");
    world.stopped().await;
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

/// Its log has changes of tables whose defaults are functions.
#[tokio::test]
async fn a_file_opens_after_its_process_was_ended_whatever_is_in_its_log() {
    let world = world().await.made(&[
        "create sequence raw.main.s",
        "create table t(i integer default nextval('raw.main.s'), v varchar default upper('x'), day timestamptz default now())",
        "insert into t (v) values ('a')",
        "comment on column t.v is 'said'",
        "alter table t add column more integer default 2",
        "alter table t alter column v set not null",
        "alter table t rename column day to moment",
    ])
    .await;
    let (bomber, before) = (world.session().await.unwrap(), world.incarnation().await);
    end_process(&world, bomber, &before).await;
    assert_eq!(world.answer("select i + more from t where moment is not null").await.as_deref(), Ok("3"));
}

#[tokio::test]
async fn what_another_caller_begins_while_the_process_is_ended_is_done_in_the_next_one() {
    let world = world().await.made(&["create table t(i bigint)"]).await;
    let (bomber, mut bystander) = (world.session().await.unwrap(), world.session().await.unwrap());
    let before = world.incarnation().await;
    let (mut begun, mut after) = (0, 0);
    tokio::join!(end_process(&world, bomber, &before), async {
        while after < 10 {
            let snapshot = bystander.begin().await.unwrap();
            write(&mut bystander, "insert into t values (1)").await.unwrap();
            bystander.commit().await.unwrap();
            begun += 1;
            after += usize::from(!snapshot.as_str().starts_with(&before));
        }
    });
    let rows = answer(&mut bystander, "select count(*) from t", &[]).await;
    assert_eq!(rows, Ok(begun.to_string()), "none is lost, none is there twice");
}

#[tokio::test]
async fn a_write_of_another_caller_is_not_run_again() {
    let world = world().await.made(&["create table t(i bigint)"]).await;
    let (bomber, mut bystander) = (world.session().await.unwrap(), world.session().await.unwrap());
    let before = world.incarnation().await;
    bystander.begin().await.unwrap();
    write(&mut bystander, "insert into t values (1)").await.unwrap();
    end_process(&world, bomber, &before).await;
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

/// As a parameter of a table function it is computed when it is bound, in whatever is asked about the statement.
fn bound(computed: &str) -> String {
    format!("select * from range({computed})")
}

const NUMBER: &str = "levenshtein(repeat('a', 200000), repeat('b', 200000))";

#[tokio::test]
async fn a_question_that_does_not_obey_takes_its_process_along() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let sql = bound(NUMBER);
    for which in 0..4 {
        let before = world.incarnation().await;
        let start = Instant::now();
        let deadline = start + Duration::from_millis(300);
        let failed = match which {
            0 => world.parsed(&sql, deadline, &never()).await.err(),
            1 => world.describe(&sql, deadline, &never()).await.err(),
            2 => world.parameters(&sql, deadline, &never()).await.err(),
            _ => session.parsed(&sql, deadline, &never()).await.err(),
        };
        assert_eq!(failed.map(|error| error.kind), Some(Kind::Timeout), "{which}");
        assert!(start.elapsed() < HANGS, "{which}: {:?}", start.elapsed());
        world.restarted(&before).await;
    }
    assert_eq!(world.answer("select 1").await.as_deref(), Ok("1"));
}

#[tokio::test]
async fn a_caller_can_end_a_question() {
    let world = world().await;
    let (start, cancel) = (Instant::now(), CancellationToken::new());
    let sql = bound(NUMBER);
    let (failed, other) = tokio::join!(world.parsed(&sql, soon(), &cancel), async {
        let answered = world.answer("select 1").await;
        cancel.cancel();
        answered
    });
    assert!(other.is_ok());
    assert_eq!(failed.map_err(|error| error.kind), Err(Kind::Interrupted));
    assert!(start.elapsed() < HANGS, "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_question_computes_no_constants() {
    let world = world().await.made(&["create table t(i int)"]).await;
    let before = world.incarnation().await;
    let update = format!("update raw.main.t set i = 1 where i = {NUMBER}");
    assert!(world.parsed(BOMB, soon(), &never()).await.is_ok());
    assert_eq!(world.parsed(&update, soon(), &never()).await.unwrap().tables, Some(vec!["raw.main.t".to_owned()]));
    assert_eq!(world.describe(BOMB, soon(), &never()).await.unwrap().columns.len(), 1);
    assert!(world.parameters(BOMB, soon(), &never()).await.is_ok());
    assert_eq!(world.incarnation().await, before);
}

/// A gigabyte and a half that the engine does not count, of the 512 MiB that it may have.
const MATRIX: &str = "damerau_levenshtein(repeat('a', 14000), repeat('b', 14000))";

#[tokio::test]
async fn what_the_engine_does_not_count_is_bounded_too() {
    let world = world().await.made(&["create table t(i int)", "insert into t values (7)"]).await;
    let mut other = world.session().await.unwrap();
    other.begin().await.unwrap();
    write(&mut other, "insert into t values (8)").await.unwrap();
    let of_rows = format!("select {}", MATRIX.replace("'b'", "chr(98 + i::int)")) + " from range(3) r(i)";
    for sql in [format!("select {MATRIX}"), of_rows, bound(MATRIX)] {
        let failed = world.answer(&sql).await.map_err(|error| error.kind);
        assert_eq!(failed, Err(Kind::OutOfMemory), "{sql}");
    }
    let failed = world.parsed(&bound(MATRIX), soon(), &never()).await.map_err(|error| error.kind);
    assert_eq!(failed, Err(Kind::OutOfMemory));
    let update = format!("update t set i = 9 where i = {MATRIX}");
    let mut session = world.session().await.unwrap();
    assert_eq!(write(&mut session, &update).await.map_err(|error| error.kind), Err(Kind::OutOfMemory));
    other.commit().await.unwrap();
    assert_eq!(world.answer("select sum(i) from t").await.as_deref(), Ok("15"), "others go on");
}

#[tokio::test]
async fn lists_of_a_constant_are_bounded_too() {
    let world = world().await.made(&["create table t(i int)", "insert into t values (7)"]).await;
    let long = "select length(list_transform(range(100000), x -> repeat('y', 1000000)))";
    let failed = world.answer(long).await.map_err(|error| error.kind);
    // It obeys between two vectors: on a machine that is busy the process ends before.
    assert!(matches!(failed, Err(Kind::OutOfMemory | Kind::Starved)), "{failed:?}");
    // Where what it makes cannot be given up without memory, the process ends, and says why.
    let distinct = "update t set i = 1 where i = len(list_distinct(list_transform(range(15000000), x -> x * 1)))";
    let mut session = world.session().await.unwrap();
    let failed = write(&mut session, distinct).await.unwrap_err();
    assert!(matches!(failed.kind, Kind::OutOfMemory | Kind::Starved), "{failed}");
    assert_eq!(world.answer("select i from t").await.as_deref(), Ok("7"));
}
