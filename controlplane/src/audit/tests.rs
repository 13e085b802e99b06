use contract::Code;
use contract::report::{Body, Entry};
use serde_json::Value;

use super::store_entries;
use crate::worlds::World;

async fn store(world: &World, entries: &[Entry]) -> crate::Result<u64> {
    store_entries(&world.app.app, &world.env_id, "log-1", entries).await
}

async fn get(world: &World, rest: &str) -> Value {
    world.app.get(&world.env(rest), &world.owner).await.expect(200)
}

#[tokio::test]
async fn two_entries_are_answered_as_one_query() {
    let world = World::start().await;
    assert_eq!(store(&world, &[world.started(1, "q1")]).await.unwrap(), 1);
    assert_eq!(get(&world, "audit/queries").await["data"][0]["outcome"], "running");
    assert_eq!(store(&world, &[world.finished(2, "q1")]).await.unwrap(), 2);
    let listed = get(&world, "audit/queries").await;
    let entry = &listed["data"][0];
    assert_eq!((entry["rows_returned"].as_u64(), entry["credits_consumed"].as_f64()), (Some(3), Some(1.1)));
    assert!(entry["policy_verdicts"][0].get("function").is_none() && entry.get("sql_original").is_none());
    let detail = get(&world, "audit/queries/q1").await;
    assert_eq!(detail["policy_verdicts"][0]["function"], "partial");
    assert_eq!(detail["sql_original"], "select ssn from customers where name = 'svc_live_[redacted]'");
    assert_eq!(detail["stages"][1]["stage"], "execute");
    assert_eq!(world.app.get(&world.env("audit/queries/q2"), &world.owner).await.code(), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn entries_sent_again_change_nothing_and_a_gap_is_refused() {
    let world = World::start().await;
    let both = [world.started(1, "q1"), world.finished(2, "q1")];
    for _ in 0..3 {
        assert_eq!(store(&world, &both).await.unwrap(), 2);
    }
    assert_eq!(world.count("select queries from credit_usage").await, 1);
    assert_eq!(world.count("select reported from credit_grants").await, 1_100_000);
    let gap = store(&world, &[world.started(4, "q2")]).await.unwrap_err();
    assert_eq!(gap.code(), Code::Conflict);
    let usage = world.app.get(&world.org("billing/usage"), &world.owner).await.expect(200);
    assert_eq!(
        (usage["credits"]["used"].as_f64(), usage["breakdown"]["queries"]["select"].as_i64()),
        (Some(1.1), Some(1))
    );
    assert_eq!(usage["breakdown"]["by_environment"][0]["env_id"], world.env_id.as_str());
}

#[tokio::test]
async fn what_was_reported_cannot_be_changed() {
    let world = World::start().await;
    store(&world, &[world.started(1, "q1"), world.finished(2, "q1")]).await.unwrap();
    for change in ["update query_starts set at = now()", "delete from query_ends", "truncate query_starts cascade"] {
        let refused = sqlx::raw_sql(change).execute(world.app.app.pool()).await.unwrap_err();
        assert!(refused.to_string().contains("append-only"), "{change}: {refused}");
    }
}

#[tokio::test]
async fn an_entry_of_another_organization_is_refused() {
    let world = World::start().await;
    let mut entry = world.started(1, "q1");
    if let Body::Started(start) = &mut entry.body {
        start.org_id = "other".into();
    }
    assert_eq!(store(&world, &[entry]).await.unwrap_err().code(), Code::CrossTenant);
}

#[tokio::test]
async fn queries_are_filtered_and_paged() {
    let world = World::start().await;
    for n in 0..3_u64 {
        let query = format!("q{n}");
        store(&world, &[world.started(2 * n + 1, &query), world.finished(2 * n + 2, &query)]).await.unwrap();
        world.app.advance(chrono::Duration::minutes(1));
    }
    for (filter, total) in [
        ("", 3),
        ("?table=customers", 3),
        ("?table=main.CUSTOMERS", 3),
        ("?table=orders", 0),
        ("?cache_hit=true", 0),
        ("?min_duration_ms=1.5", 3),
        ("?min_duration_ms=2", 0),
        ("?user_id=nobody", 0),
        ("?agent_id=a", 0),
        ("?end_date=2020-01-01", 0),
    ] {
        assert_eq!(get(&world, &format!("audit/queries{filter}")).await["pagination"]["total"], total, "{filter}");
    }
    let first = get(&world, "audit/queries?limit=2").await;
    let cursor = first["pagination"]["cursor"].as_str().unwrap();
    let second = get(&world, &format!("audit/queries?limit=2&cursor={cursor}")).await;
    assert_eq!(
        (first["data"][0]["query_id"].as_str(), second["data"][0]["query_id"].as_str()),
        (Some("q2"), Some("q0"))
    );
}

#[tokio::test]
async fn a_range_has_an_order_and_a_length() {
    let world = World::start().await;
    for range in ["start_date=2026-02-01&end_date=2026-01-01", "start_date=2026-01-01&end_date=2026-06-01"] {
        let answer = world.app.get(&world.env(&format!("audit/queries?{range}")), &world.owner).await;
        assert_eq!(answer.code(), (422, "INVALID_DATE_RANGE"), "{range}");
    }
    let odd = world.app.get(&world.env("audit/queries?start_date=soon"), &world.owner).await;
    assert_eq!(odd.code(), (400, "VALIDATION_ERROR"));
}

#[tokio::test]
async fn the_chain_verifies_until_somebody_touches_it() {
    let world = World::start().await;
    world.app.breaks_chains();
    world.mask("ssn").await;
    world.mask("other").await;
    let whole = get(&world, "audit/admin/verify-chain").await;
    let length = whole["events_verified"].as_i64().unwrap();
    assert_eq!((whole["chain_valid"].as_bool(), whole["last_event"]["event_id"].is_string()), (Some(true), true));
    world.sql("alter table iam_events disable trigger all").await;
    world.sql(&format!("update iam_events set actor_id = 'x' where sequence = {}", length - 1)).await;
    let broken = get(&world, "audit/admin/verify-chain").await;
    assert_eq!((broken["chain_valid"].as_bool(), broken["events_verified"].as_i64()), (Some(false), Some(length - 2)));
    assert!(broken["break_detected_at"]["event_id"].is_string());
}
