//! Who asked has gone, or does not come for the rows: nothing is held for them, and what is told is what was done.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use contract::report::{Body, Outcome};
use dataplane::testing::{demo_key, owner_id};
use futures::StreamExt;
use serde_json::json;

use crate::agents_router::{router, tool};
use crate::pgwire::{simple, wired_in};
use crate::world::{World, impatient, world};

const SOON: Duration = Duration::from_millis(50);

async fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(Duration::from_mins(1), async {
        while !is() {
            tokio::task::yield_now().await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never: {what}"));
}

fn in_use(world: &World) -> usize {
    world.pipeline.gate.standing().0.0
}

#[tokio::test]
async fn rows_that_nobody_asks_for_give_their_slot_back() {
    let world = impatient(SOON).await;
    let ask = world.ask(owner_id(), "select * from range(10000000) t(n)");
    let mut answer = world.pipeline.run(ask).await.unwrap();
    answer.rows.next().await.unwrap().unwrap();
    assert_eq!(in_use(&world), 1);
    eventually("the slot is free", || in_use(&world) == 0).await;
    let told = answer.rows.next().await.unwrap().unwrap_err();
    assert!(matches!(told, dataplane::Error::Unread(after) if after == SOON), "{told}");
    assert!(answer.rows.next().await.is_none());
    assert_eq!(world.last().1.outcome, Outcome::Failed);
    world.stop().await;
}

#[tokio::test]
async fn rows_that_are_waited_for_are_not_given_up() {
    let world = impatient(SOON).await;
    let slow = "select sum(hash(a.n, b.n)) from range(30000) a(n), range(5000) b(n)";
    let mut answer = world.pipeline.run(world.ask(owner_id(), slow)).await.unwrap();
    assert_eq!(answer.rows.next().await.unwrap().unwrap().num_rows(), 1);
    world.stop().await;
}

#[tokio::test]
async fn a_transaction_that_is_idle_is_rolled_back() {
    let wired = wired_in(impatient(SOON).await, None, true).await;
    let (idle, other) = (wired.owner().await, wired.owner().await);
    simple(&idle, "begin; insert into customer (id) values (7)").await;
    eventually("the connection ends", || idle.is_closed()).await;
    assert_eq!(simple(&other, "select count(*) from customer where id = 7").await, ["0", "(1)"]);
    assert!(!other.is_closed(), "one without a transaction may wait");
    wired.stop().await;
}

/// `rmcp` alone would go on with a call whose client has closed its connection.
#[tokio::test]
async fn a_tool_that_nobody_waits_for_is_ended() {
    let world = world().await;
    let router = router(&world);
    let endless = "select count(*) from range(10000000) a(x), range(10000000) b(y) where x * y % 7 = 3";
    let mut call = Box::pin(tool(&router, demo_key(), "run_sql", json!({"sql": endless})));
    tokio::select! {
        answer = &mut call => panic!("{answer:?}"),
        () = eventually("it runs", || in_use(&world) == 1) => {}
    }
    drop(call);
    eventually("the slot is free", || in_use(&world) == 0).await;
    let cancelled = |body: &Body| matches!(body, Body::Finished(it) if it.outcome == Outcome::Cancelled);
    eventually("the log says so", || world.entries().iter().any(|entry| cancelled(&entry.body))).await;
    world.stop().await;
}

/// Polls the work so often at most, and then leaves. How often it was polled.
async fn left_after(polls: usize, work: impl Future) -> usize {
    let (mut work, mut polled) = (pin!(work), 0);
    std::future::poll_fn(|cx| {
        polled += 1;
        if work.as_mut().poll(cx).is_ready() || polled > polls {
            return Poll::Ready(polled);
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_of_a_write_what_was_done_whenever_its_caller_leaves() {
    const ASKS: usize = 120;
    let world = world().await;
    let (mut asked, mut whole) = (Vec::new(), 0);
    for index in 0..ASKS {
        let ask = world.ask(owner_id(), &format!("insert into customer (id) values ({})", 1_000 + index));
        asked.push(ask.query_id.clone());
        // the first two stay; the others leave at moments that lie evenly between the beginning and the end
        let polls = if index < 2 { usize::MAX } else { whole * index / ASKS };
        let polled = left_after(polls, world.pipeline.run(ask)).await;
        if index == 1 {
            whole = polled;
        }
    }
    let ended = || {
        let entries = world.entries().into_iter();
        let finished = entries.filter_map(|entry| match entry.body {
            Body::Finished(finished) if asked.contains(&finished.query_id) => Some(*finished),
            _ => None,
        });
        finished.collect::<Vec<_>>()
    };
    eventually("each has ended", || ended().len() == ASKS).await;
    let mut done = BTreeSet::new();
    for finished in ended() {
        let index = asked.iter().position(|id| *id == finished.query_id).unwrap();
        let kept = world.count(&format!("select count(*) from raw.main.customer where id = {}", 1_000 + index)).await;
        let completed = finished.outcome == Outcome::Completed;
        assert_eq!((finished.rows_returned == 1, kept == 1), (completed, completed), "{finished:?}");
        done.insert(completed);
    }
    assert_eq!(done, BTreeSet::from([false, true]), "some leave before anything is done");
    world.stop().await;
}
