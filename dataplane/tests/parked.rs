//! While another process has the data: who waits, who is refused, and that the rest is run.

use std::time::Duration;

use contract::Code;
use dataplane::pipeline::OwnershipState;
use dataplane::testing::owner_id;
use futures::future::join_all;
use futures::poll;

use crate::world::{World, world};

async fn parked() -> World {
    let world = world().await;
    world.ownership.send_replace(OwnershipState::Parked);
    world
}

fn open(world: &World) {
    world.ownership.send_replace(OwnershipState::Open(world.ledger.clone()));
}

#[tokio::test]
async fn a_thousand_statements_wait_and_one_more_is_told_to_come_back() {
    let world = parked().await;
    world.change(|rules| rules.environment.settings.max_concurrent_queries = 1);
    let mut waiting: Vec<_> = (0..1_000).map(|_| Box::pin(world.run("select 1"))).collect();
    for statement in &mut waiting {
        assert!(poll!(statement).is_pending());
    }
    assert_eq!(world.run("select 1").await.unwrap_err().code(), Code::ConcurrentLimit);
    waiting.truncate(20); // who goes away leaves a place
    let mut late = Box::pin(world.run("select 2"));
    assert!(poll!(&mut late).is_pending());
    waiting.push(late);
    open(&world);
    // More than stage 1 would let queue, had they not waited already.
    for ran in join_all(waiting).await {
        ran.unwrap();
    }
    world.stop().await;
}

#[tokio::test]
async fn a_statement_waits_no_longer_than_its_own_timeout_and_is_not_written_down() {
    let world = parked().await;
    let before = world.entries().len();
    let mut ask = world.ask(owner_id(), "insert into customer (id) values (4)");
    ask.timeout = Some(Duration::from_millis(20));
    assert_eq!(world.whole(ask).await.unwrap_err().code(), Code::QueryTimeout);
    assert_eq!(world.entries().len(), before);
    open(&world);
    assert_eq!(world.run("select count(*) from customer").await.unwrap().json, "[3]");
    world.stop().await;
}

#[tokio::test]
async fn a_waiting_statement_ends_with_its_caller_and_with_the_process() {
    let world = parked().await;
    let ask = world.ask(owner_id(), "select 1");
    ask.cancel.cancel();
    assert_eq!(world.whole(ask).await.unwrap_err().code(), Code::QueryCancelled);
    let mut waiting = Box::pin(world.run("select 1"));
    assert!(poll!(&mut waiting).is_pending());
    world.pipeline.closed.cancel();
    assert_eq!(waiting.await.unwrap_err().code(), Code::ShuttingDown);
    assert_eq!(world.run("select 1").await.unwrap_err().code(), Code::ShuttingDown);
    world.stop().await;
}

#[tokio::test]
async fn a_caller_who_is_gone_when_the_wait_is_over_gets_nothing() {
    let world = parked().await;
    let mut waiting = Box::pin(world.run("select 1"));
    assert!(poll!(&mut waiting).is_pending());
    world.change(|rules| rules.keys.clear());
    open(&world);
    assert_eq!(waiting.await.unwrap_err().code(), Code::InvalidKey);
    world.stop().await;
}
