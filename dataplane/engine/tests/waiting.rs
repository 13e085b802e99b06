//! Sessions that wait for the next statement: nothing of one caller's reaches the next, by whatever way it tries.
//!
//! What changes rows alone leaves nothing in its session but what it drew of random numbers.

use std::time::{Duration, Instant};

use engine::{Outcome, Session};
use tokio_util::sync::CancellationToken;

use crate::world::{World, answer, never, queried, read, soon, world, write};

/// Which connection of the engine a session has.
const CONNECTION: &str = "select current_connection_id()";

async fn connection(session: &mut Session) -> String {
    answer(session, CONNECTION, &[]).await.unwrap()
}

/// Whether a session that is let go of is one of the next ones, within so long.
async fn is_reused(world: &World, mut session: Session, within: Duration) -> bool {
    let before = connection(&mut session).await;
    drop(session);
    let tried = async {
        loop {
            let mut held = Vec::new(); // or the one that came last would be taken again and again
            for _ in 0..6 {
                let mut next = world.session().await.unwrap();
                if connection(&mut next).await == before {
                    return;
                }
                held.push(next);
            }
        }
    };
    tokio::time::timeout(within, tried).await.is_ok()
}

/// Far more than it takes to be reset.
const SOON: Duration = Duration::from_millis(300);
const SURELY: Duration = Duration::from_mins(1);

#[tokio::test]
async fn what_has_only_read_is_taken_again_in_a_transaction_too() {
    // Each in a world of its own: those that the first one left may be reset just then, and hold all places.
    for is_open in [false, true] {
        let world = world().await.made(&["create table t as select 1 as i"]).await;
        let mut session = world.session().await.unwrap();
        if is_open {
            session.begin().await.unwrap();
        }
        assert_eq!(answer(&mut session, "select i from t", &[]).await.unwrap(), "1");
        assert!(is_reused(&world, session, SURELY).await, "in a transaction: {is_open}");
        world.stopped().await;
    }
}

#[tokio::test]
async fn what_may_have_anything_of_its_own_is_closed() {
    let world = world().await.made(&["create table t as select 1 as i"]).await;
    for sql in ["create table made as select 1 as x", "create temp table mine as select 1 as x", "begin transaction"] {
        let mut session = world.session().await.unwrap();
        write(&mut session, sql).await.unwrap();
        assert!(!is_reused(&world, session, SOON).await, "{sql}");
    }
    // The parent believes these to be reads: the child knows better.
    for sql in ["prepare p as select 1", "create temp table mine as select 1 as x", "insert into t values (3)"] {
        let mut session = world.session().await.unwrap();
        let _ = session.run(read(sql), soon(), &never()).await.unwrap();
        assert!(!is_reused(&world, session, SOON).await, "{sql}");
    }
    let mut session = world.session().await.unwrap();
    session.keep(read("create temp table kept as select 1 as x"), soon(), &never()).await.unwrap();
    assert!(!is_reused(&world, session, SOON).await, "rows that were kept");
    world.stopped().await;
}

#[tokio::test]
async fn what_has_changed_rows_alone_is_taken_again() {
    for sql in [
        "insert into t values (2)",
        "update t set i = i + 10 where i = 1",
        "delete from t where i = 1",
        "insert into t values (3) returning i",
    ] {
        // Each in a world of its own: those that the first one left may be reset just then, and hold all places.
        for ends in ["by itself", "committed", "left open"] {
            let world = world().await.made(&["create table t as select 1 as i"]).await;
            let mut session = world.session().await.unwrap();
            let by = engine::Statement { writes: true, ..read(sql) };
            if ends == "by itself" {
                session.run(by, soon(), &never()).await.unwrap();
            } else {
                session.begin_by(by, None, soon(), &never()).await.unwrap();
            }
            if ends == "committed" {
                session.commit().await.unwrap();
            }
            assert!(is_reused(&world, session, SURELY).await, "{sql}, {ends}");
            let rows = world.answer("select count(*), sum(i) from t").await.unwrap();
            assert_eq!(rows == "1 1", ends == "left open", "{sql}, {ends}: {rows}");
            let mut next = world.session().await.unwrap();
            next.begin().await.unwrap();
            write(&mut next, "insert into t values (100)").await.unwrap();
            next.commit().await.unwrap();
            world.stopped().await;
        }
    }
}

#[tokio::test]
async fn a_session_taken_again_behind_a_commit_sees_it() {
    let world = world().await.made(&["create table t as select 1 as i"]).await;
    let insert = || engine::Statement { writes: true, ..read("insert into t values (1)") };
    for rows in 2..20 {
        let mut session = world.session().await.unwrap();
        session.begin_by(insert(), None, soon(), &never()).await.unwrap();
        session.commit().await.unwrap();
        drop(session);
        let counted = queried(&mut world.session().await.unwrap(), "select count(*) from t").await.unwrap();
        assert_eq!(counted, rows.to_string());
    }
    world.stopped().await;
}

#[tokio::test]
async fn a_write_or_a_commit_that_failed_leaves_no_session() {
    let world = world().await.made(&["create table t(i int primary key)", "insert into t values (1)"]).await;
    let by = |sql: &str| engine::Statement { writes: true, ..read(sql) };
    let mut session = world.session().await.unwrap();
    assert!(session.begin_by(by("insert into t values (1)"), None, soon(), &never()).await.is_err());
    assert!(!is_reused(&world, session, SOON).await, "it failed");
    let (mut one, mut two) = (world.session().await.unwrap(), world.session().await.unwrap());
    one.begin_by(by("insert into t values (7)"), None, soon(), &never()).await.unwrap();
    two.begin_by(by("insert into t values (7)"), None, soon(), &never()).await.unwrap();
    one.commit().await.unwrap();
    assert!(two.commit().await.is_err(), "the key is taken");
    assert!(!is_reused(&world, two, SOON).await, "its commit failed");
    assert_eq!(world.answer("select count(*) from t").await.as_deref(), Ok("2"));
    world.stopped().await;
}

#[tokio::test]
async fn what_failed_or_was_given_up_is_closed() {
    let world = world().await;
    for sql in ["select nothing_there", "select error('x')", "selec"] {
        let mut session = world.session().await.unwrap();
        assert!(session.run(read(sql), soon(), &never()).await.is_err());
        assert!(!is_reused(&world, session, SOON).await, "{sql}");
    }
    let long = "select count(*) from range(1000000000) a(i), range(1000000) b(j) where i * j % 7 = 3";
    let mut session = world.session().await.unwrap();
    assert!(session.run(read(long), Instant::now(), &never()).await.is_err());
    assert!(!is_reused(&world, session, SOON).await, "at its deadline");
    let (mut session, cancel) = (world.session().await.unwrap(), CancellationToken::new());
    cancel.cancel();
    assert!(session.run(read(long), soon(), &cancel).await.is_err());
    assert!(!is_reused(&world, session, SOON).await, "cancelled");
    world.stopped().await;
}

/// The first request of a session.
#[derive(Debug, Clone, Copy)]
enum FirstRequest {
    Query,
    Read,
    Begin,
    WriteThatBegins,
}

#[tokio::test]
async fn a_session_that_could_not_be_reset_is_another_one_for_its_next_caller() {
    // It hides the engine's own: no session that has drawn random numbers can begin them anew.
    let broken = "create macro setseed(x) as error('broken')";
    let world = world().await.made(&["create table t as select 1 as i", broken]).await;
    let mut bystander = world.session().await.unwrap();
    bystander.begin().await.unwrap();
    for first in [FirstRequest::Query, FirstRequest::Read, FirstRequest::Begin, FirstRequest::WriteThatBegins] {
        let mut session = world.session().await.unwrap();
        let drawn = queried(&mut session, "select current_connection_id(), random()").await.unwrap();
        let before = drawn.split(' ').next().unwrap();
        drop(session);
        let mut next = world.session().await.unwrap();
        match first {
            FirstRequest::Query => assert_ne!(queried(&mut next, CONNECTION).await.unwrap(), before),
            FirstRequest::Read => {}
            FirstRequest::Begin => drop(next.begin().await.unwrap()),
            FirstRequest::WriteThatBegins => {
                let insert = engine::Statement { writes: true, ..read("insert into t values (2)") };
                next.begin_by(insert, None, soon(), &never()).await.unwrap();
            }
        }
        assert_ne!(connection(&mut next).await, before, "{first:?}");
    }
    // Nor does the process end for it, later than a statement may take to obey.
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(3) {
        assert_eq!(answer(&mut bystander, "select count(*) from t", &[]).await.as_deref(), Ok("1"));
    }
    bystander.commit().await.expect("the process lives, and with it the other transaction");
    world.stopped().await;
}

/// What the next caller sees, whatever the one before has run.
async fn seen(world: &World, sql: &str) -> Result<String, engine::Kind> {
    let mut session = world.session().await.unwrap();
    answer(&mut session, sql, &[]).await.map_err(|error| error.kind)
}

#[tokio::test]
async fn no_name_or_value_of_one_caller_reaches_the_next() {
    let world = world().await.made(&["create table t as select 1 as i"]).await;
    let tries = [
        ("create temp table mine as select 7 as x", "select x from mine"),
        ("create temp view mine as select 7 as x", "select x from mine"),
        ("create temp macro mine() as 7", "select mine()"),
        ("prepare mine as select 7", "execute mine"),
        ("set variable mine = 7", "select getvariable('mine')"),
        ("set search_path = 'temp'", "select current_setting('search_path')"),
        ("use memory", "select current_database()"),
        ("set session threads = 1", "select current_setting('threads')"),
        ("pragma disable_optimizer", "select count(*) from t where i = 1"),
        ("insert into t values (2)", "select count(*) from t where i = 2"),
    ];
    for (done, asked) in tries {
        let before = seen(&world, asked).await;
        for writes in [false, true] {
            let mut session = world.session().await.unwrap();
            session.begin().await.unwrap();
            // Some are refused: then there is nothing to see either.
            let ran = session.run(engine::Statement { writes, ..read(done) }, soon(), &never()).await;
            drop(ran);
            drop(session);
            for _ in 0..4 {
                assert_eq!(seen(&world, asked).await, before, "{done}: {asked}");
            }
        }
    }
    world.stopped().await;
}

#[tokio::test]
async fn random_numbers_do_not_go_on_where_another_caller_left_them() {
    let world = world().await;
    let drawn = async |session: &mut Session| answer(session, "select random()", &[]).await.unwrap();
    let mut session = world.session().await.unwrap();
    answer(&mut session, "select setseed(0.5)", &[]).await.unwrap();
    let known = [drawn(&mut session).await, drawn(&mut session).await, drawn(&mut session).await];
    for _ in 0..20 {
        let mut session = world.session().await.unwrap();
        answer(&mut session, "select setseed(0.5)", &[]).await.unwrap();
        assert_eq!(drawn(&mut session).await, known[0], "a seed says what comes");
        drop(session);
        let mut next = world.session().await.unwrap();
        let numbers = [drawn(&mut next).await, drawn(&mut next).await];
        assert!(numbers.iter().all(|number| !known.contains(number)), "{numbers:?} of {known:?}");
    }
    world.stopped().await;
}

#[tokio::test]
async fn numbers_that_a_default_draws_do_not_go_on_in_the_next_session() {
    let world = world().await.made(&["create table drawn(number double default random())"]).await;
    let drawn = async |session: &mut Session| {
        write(session, "delete from drawn").await.unwrap();
        write(session, "insert into drawn default values").await.unwrap();
        answer(session, "select number from drawn", &[]).await.unwrap()
    };
    let mut session = world.session().await.unwrap();
    answer(&mut session, "select setseed(0.5)", &[]).await.unwrap();
    let known = [drawn(&mut session).await, drawn(&mut session).await];
    drop(session);
    for _ in 0..10 {
        let mut session = world.session().await.unwrap();
        queried(&mut session, "select 'nothing that draws'").await.unwrap();
        answer(&mut session, "select setseed(0.5)", &[]).await.unwrap();
        assert_eq!(drawn(&mut session).await, known[0], "a seed says what comes");
        drop(session);
        let next = drawn(&mut world.session().await.unwrap()).await;
        assert!(!known.contains(&next), "{next} of {known:?}");
    }
    world.stopped().await;
}

#[tokio::test]
async fn behind_a_query_its_session_is_the_next_one_at_once() {
    let world = world().await.made(&["create table t as select 1 as i"]).await;
    let mut session = world.session().await.unwrap();
    let first = queried(&mut session, CONNECTION).await.unwrap();
    drop(session);
    for rows in 1..20 {
        let mut next = world.session().await.unwrap();
        assert_eq!(queried(&mut next, CONNECTION).await.unwrap(), first);
        assert_eq!(queried(&mut next, "select count(*) from t").await.unwrap(), rows.to_string());
        // on another one, which is closed
        write(&mut world.session().await.unwrap(), "insert into t values (1)").await.unwrap();
        drop(next);
    }
    world.stopped().await;
}

#[tokio::test]
async fn nothing_of_a_query_reaches_the_next_one() {
    let world = world().await.made(&["create table t as select 1 as i"]).await;
    let mut seeded = world.session().await.unwrap();
    answer(&mut seeded, "select setseed(0.5)", &[]).await.unwrap();
    let known = answer(&mut seeded, "select random()", &[]).await.unwrap();
    let tries = [
        ("create temp table mine as select 7 as x", "select x from mine"),
        ("prepare mine as select 7", "execute mine"),
        ("set variable mine = 7", "select getvariable('mine')"),
        ("use memory", "select current_database()"),
        ("set session threads = 1", "select current_setting('threads')"),
        ("insert into t values (2)", "select count(*) from t where i = 2"),
        ("create table raw.main.made as select 7 as x", "select x from made"),
    ];
    for (done, asked) in tries {
        let before = seen(&world, asked).await;
        let mut session = world.session().await.unwrap();
        let ran = queried(&mut session, done).await;
        drop(session);
        for _ in 0..4 {
            assert_eq!(seen(&world, asked).await, before, "{done} ({ran:?}): {asked}");
        }
    }
    for _ in 0..20 {
        queried(&mut world.session().await.unwrap(), "select setseed(0.5)").await.unwrap();
        assert_ne!(queried(&mut world.session().await.unwrap(), "select random()").await.unwrap(), known);
    }
    world.stopped().await;
}

#[tokio::test]
async fn a_query_that_failed_or_was_given_up_leaves_no_session() {
    let world = world().await;
    for sql in ["select nothing_there", "select error('x')", "selec"] {
        let mut session = world.session().await.unwrap();
        assert!(queried(&mut session, sql).await.is_err());
        assert!(!is_reused(&world, session, SOON).await, "{sql}");
    }
    let late = "select case when i = 900000 then error('x') else i::varchar end from range(1000000) r(i)";
    let mut session = world.session().await.unwrap();
    assert!(queried(&mut session, late).await.is_err());
    assert_eq!(queried(&mut session, "select 'mine'").await.unwrap(), "mine", "its own goes on");
    assert!(!is_reused(&world, session, SOON).await, "one that failed among its rows");
    let mut session = world.session().await.unwrap();
    let mut rows =
        session.query(read("select i from range(1000000) r(i)"), None, soon(), &never()).await.unwrap().unwrap();
    rows.next().await.unwrap().unwrap();
    drop(rows);
    assert_eq!(queried(&mut session, "select 'mine'").await.unwrap(), "mine");
    assert!(!is_reused(&world, session, SOON).await, "rows that nobody has read to their end");
    world.stopped().await;
}

#[tokio::test]
async fn a_session_taken_again_sees_what_was_committed_since() {
    let world = world().await.made(&["create table t as select 1 as i"]).await;
    for rows in 1..20 {
        let mut session = world.session().await.unwrap();
        session.begin().await.unwrap();
        assert_eq!(answer(&mut session, "select count(*) from t", &[]).await.unwrap(), rows.to_string());
        drop(session);
        write(&mut world.session().await.unwrap(), "insert into t values (1)").await.unwrap();
    }
    world.stopped().await;
}

#[tokio::test]
async fn rows_that_nobody_has_read_to_their_end_are_no_other_callers() {
    let world = world().await;
    for _ in 0..10 {
        let mut session = world.session().await.unwrap();
        let ran = session.run(read("select i from range(1000000) t(i)"), soon(), &never()).await.unwrap();
        let Outcome::Rows(mut rows) = ran else { panic!("no rows") };
        rows.next().await.unwrap().unwrap();
        drop(session);
        let mut next = world.session().await.unwrap();
        assert_eq!(answer(&mut next, "select 'mine'", &[]).await.unwrap(), "mine");
        drop(rows);
    }
    world.stopped().await;
}
