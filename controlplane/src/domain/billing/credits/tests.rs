use chrono::Duration;
use contract::report::CREDIT;

use super::*;
use crate::worlds::World;

async fn ask(world: &World, log: &str, want: u64, spent: u64) -> Grant {
    let ask = Ask { env_id: world.env_id.clone(), log: log.to_owned(), want: want * CREDIT, spent: spent * CREDIT };
    reserve(&world.app.app, &ask).await.unwrap()
}

async fn report(world: &World, log: &str, spent: u64) {
    let mut tx = world.app.app.pool().begin().await.unwrap();
    settle(&mut tx, (&world.org_id, &world.env_id, log), world.app.app.now(), spent * CREDIT).await.unwrap();
    tx.commit().await.unwrap();
}

fn held(credits: u64) -> Grant {
    Grant::Held(credits * CREDIT)
}

#[tokio::test]
async fn a_tier_without_a_limit_needs_no_grant() {
    assert_eq!(ask(&World::start().await, "a", 10, 0).await, Grant::Unlimited);
}

#[tokio::test]
async fn two_logs_never_hold_more_than_the_month_has() {
    let world = World::start().await;
    world.set_tier("free").await; // 1,000 credits a month
    assert_eq!(ask(&world, "a", 700, 0).await, held(700));
    assert_eq!(ask(&world, "b", 700, 0).await, held(300));
    assert_eq!(ask(&world, "c", 1, 0).await, held(0));
    assert_eq!(ask(&world, "a", 100, 600).await, held(100), "what is given back …");
    assert_eq!(ask(&world, "b", 700, 300).await, held(0), "… was spent");
    assert_eq!(
        committed(&mut world.app.app.pool().acquire().await.unwrap(), &world.org_id, world.app.app.now())
            .await
            .unwrap(),
        1_000 * CREDIT
    );
}

#[tokio::test]
async fn what_is_claimed_and_reported_counts_once() {
    let world = World::start().await;
    world.set_tier("free").await;
    ask(&world, "a", 1_000, 0).await;
    report(&world, "a", 400).await;
    assert_eq!(ask(&world, "a", 1_000, 400).await, held(600));
    report(&world, "a", 600).await;
    assert_eq!(ask(&world, "a", 1_000, 600).await, held(0));
}

#[tokio::test]
async fn a_grant_that_is_not_renewed_is_taken_back_but_for_what_was_spent() {
    let world = World::start().await;
    world.set_tier("free").await;
    ask(&world, "dead", 1_000, 0).await;
    report(&world, "dead", 250).await;
    world.app.advance(Duration::minutes(9));
    assert_eq!(ask(&world, "new", 1_000, 0).await, held(0));
    world.app.advance(Duration::minutes(1));
    assert_eq!(ask(&world, "new", 1_000, 0).await, held(750));
}

#[tokio::test]
async fn a_new_month_is_a_new_limit_and_late_claims_count_for_the_old_one() {
    let world = World::start().await;
    world.set_tier("free").await;
    ask(&world, "a", 1_000, 0).await;
    world.app.advance(Duration::days(31));
    assert_eq!(ask(&world, "a", 1_000, 1_000).await, held(1_000));
}

#[tokio::test]
async fn many_at_the_last_credit_get_no_more_than_there_is() {
    let world = World::start().await;
    world.set_tier("free").await;
    let logs: Vec<String> = (0..16).map(|n| format!("log-{n}")).collect();
    let grants = futures::future::join_all(logs.iter().map(|log| ask(&world, log, 100, 0))).await;
    let total: u64 = grants.iter().map(|grant| if let Grant::Held(held) = grant { *held } else { 0 }).sum();
    assert_eq!(total, 1_000 * CREDIT);
}
