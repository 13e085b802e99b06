use chrono::Duration;
use serde_json::{Value, json};

use super::reset;
use crate::worlds::World;

async fn world_of(tier: &str) -> World {
    let world = World::start().await;
    world.set_tier(tier).await;
    world
}

async fn put(world: &World, alerts: Value) -> crate::testing::Answer {
    world.app.put(&world.org("billing/quotas"), &world.owner, json!({"alerts": alerts})).await
}

async fn usage(world: &World, query: &str) -> Value {
    world.app.get(&world.org(&format!("billing/usage{query}")), &world.owner).await.expect(200)
}

/// What the chain tells of billing: types and what they say.
async fn told(world: &World) -> Vec<(String, Value)> {
    sqlx::query_as(
        "select event_type, changes -> 'after' from iam_events where event_type like 'billing.%' order by sequence",
    )
    .fetch_all(world.app.app.pool())
    .await
    .unwrap()
}

async fn types(world: &World) -> Vec<String> {
    told(world).await.into_iter().map(|(event_type, _)| event_type).collect()
}

#[tokio::test]
async fn quotas_follow_the_tier_and_alerts_have_defaults() {
    let world = world_of("free").await;
    let found = world.app.get(&world.org("billing/quotas"), &world.owner).await.expect(200);
    assert_eq!(
        (&found["org_id"], &found["tier"], &found["quotas"]),
        (
            &json!(world.org_id),
            &json!("free"),
            &json!({"monthly_credit_limit": 1000, "max_concurrent_queries": 10, "max_rows_per_query": 100_000,
                "storage_limit_gb": 10, "max_environments": 1, "max_users": 3, "max_api_keys_per_environment": 5})
        )
    );
    let defaults =
        json!({"credit_warning_threshold": 0.8, "credit_critical_threshold": 0.95, "storage_warning_threshold": 0.8});
    assert_eq!(found["alerts"], defaults);
}

#[tokio::test]
async fn thresholds_change_one_by_one_and_the_change_is_recorded_once() {
    let world = world_of("free").await;
    let changed = put(&world, json!({"credit_warning_threshold": 0.5})).await.expect(200);
    let alerts =
        json!({"credit_warning_threshold": 0.5, "credit_critical_threshold": 0.95, "storage_warning_threshold": 0.8});
    assert_eq!((&changed["org_id"], &changed["alerts"]), (&json!(world.org_id), &alerts));
    assert!(changed["updated_at"].is_string());
    put(&world, alerts.clone()).await.expect(200);
    let found = world.app.get(&world.org("billing/quotas"), &world.owner).await.expect(200);
    assert_eq!(found["alerts"], alerts);
    assert_eq!(world.count("select count(*) from iam_events where event_type = 'org.settings_updated'").await, 1);
}

#[tokio::test]
async fn thresholds_that_are_none_are_refused_by_name() {
    let world = world_of("free").await;
    for (alerts, field) in [
        (json!({"credit_warning_threshold": 1.5}), "alerts.credit_warning_threshold"),
        (json!({"credit_critical_threshold": -0.1}), "alerts.credit_critical_threshold"),
        (json!({"storage_warning_threshold": 2}), "alerts.storage_warning_threshold"),
        (json!({"credit_warning_threshold": 0.9, "credit_critical_threshold": 0.8}), "alerts.credit_warning_threshold"),
    ] {
        let refused = put(&world, alerts.clone()).await;
        assert_eq!(refused.code(), (422, "VALIDATION_ERROR"), "{alerts}");
        assert_eq!(refused.body["error"]["details"]["field"], field, "{alerts}");
    }
    for body in [json!({"quotas": {"monthly_credit_limit": 5}}), json!({"alerts": {"credit_warning_threshold": "all"}})]
    {
        let refused = world.app.put(&world.org("billing/quotas"), &world.owner, body.clone()).await;
        assert_eq!(refused.code(), (400, "VALIDATION_ERROR"), "{body}");
    }
}

#[tokio::test]
async fn each_threshold_is_told_once_a_month() {
    let world = world_of("free").await; // 1,000 credits
    world.spend(0, 799).await;
    assert_eq!(types(&world).await, Vec::<String>::new());
    for (n, credits, until_now) in [
        (1, 1, &["billing.warning"][..]),
        (2, 150, &["billing.warning", "billing.critical"]),
        (3, 49, &["billing.warning", "billing.critical"]),
        (4, 1, &["billing.warning", "billing.critical", "billing.quota_exceeded"]),
        (5, 1, &["billing.warning", "billing.critical", "billing.quota_exceeded"]),
    ] {
        world.spend(n, credits).await;
        assert_eq!(types(&world).await, until_now, "after query {n}");
    }
    let (_, warning) = told(&world).await.remove(0);
    assert_eq!(
        (&warning["threshold_percent"], &warning["current_usage"], &warning["monthly_limit"]),
        (&json!(80.0), &json!(800.0), &json!(1000))
    );
    world.app.advance(Duration::days(31));
    world.spend(6, 900).await;
    assert_eq!(types(&world).await.last().unwrap(), "billing.warning", "a new month is told anew");
}

#[tokio::test]
async fn many_reports_at_once_tell_a_threshold_once() {
    let world = world_of("free").await;
    let queries: Vec<String> = (0..8).map(|n| format!("q{n}")).collect();
    futures::future::join_all(queries.iter().map(|query| world.spend_in(query, (1, query), 200))).await;
    assert_eq!(types(&world).await, ["billing.warning", "billing.critical", "billing.quota_exceeded"]);
}

#[tokio::test]
async fn a_tier_without_a_limit_reaches_nothing() {
    let world = World::start().await;
    world.spend(0, 1_000_000).await;
    assert_eq!(types(&world).await, Vec::<String>::new());
}

#[tokio::test]
async fn both_surfaces_hear_of_a_threshold_in_their_own_words() {
    let world = world_of("free").await;
    let hook = json!({"url": "https://hooks.example.com/a", "events": ["billing.warning"]});
    world.app.post(&world.org("webhooks"), &world.owner, hook).await.expect(201);
    let notice =
        json!({"url": "https://hooks.example.com/b", "secret": "s".repeat(32), "events": ["billing.usage_threshold"]});
    world.app.post("/v1/webhooks", &world.owner, notice).await.expect(201);
    world.spend(0, 800).await;
    let bodies: Vec<Vec<u8>> = sqlx::query_scalar("select body from webhook_deliveries order by event_type")
        .fetch_all(world.app.app.pool())
        .await
        .unwrap();
    let bodies: Vec<Value> = bodies.iter().map(|body| serde_json::from_slice(body).unwrap()).collect();
    assert_eq!(
        bodies[0],
        json!({"org_id": world.org_id, "threshold_percent": 80.0, "current_usage": 800.0, "monthly_limit": 1000,
            "period_start": "2026-09-01T00:00:00Z", "period_end": "2026-10-01T00:00:00Z"})
    );
    assert_eq!((&bodies[1]["event_type"], &bodies[1]["data"]["threshold"]), (&json!("billing.warning"), &json!(0.8)));
}

#[tokio::test]
async fn a_month_that_begins_is_told_once_to_everybody_who_was_there() {
    let world = world_of("free").await;
    world.spend(0, 5).await;
    reset(&world.app.app).await.unwrap();
    assert_eq!(types(&world).await, Vec::<String>::new(), "its first month began without it");
    world.app.advance(Duration::days(31));
    for _ in 0..2 {
        reset(&world.app.app).await.unwrap();
    }
    let told = told(&world).await;
    let [(event_type, said)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((event_type.as_str(), &said["previous_period_usage"]), ("billing.period_reset", &json!(5.0)));
    assert_eq!(said["period_start"], "2026-10-01T00:00:00Z");
}

#[tokio::test]
async fn usage_is_grouped_by_hour_day_and_week() {
    let world = world_of("free").await;
    // Monday, 2026-09-21, 14:13; then the next hour, the next day, and the Monday after.
    for (n, wait) in [(0, Duration::zero()), (1, Duration::hours(1)), (2, Duration::days(1)), (3, Duration::days(6))] {
        world.app.advance(wait);
        world.spend(n, 1 + n).await;
    }
    for (group_by, dates) in [
        ("hour", &["2026-09-21T14:00:00Z", "2026-09-21T15:00:00Z", "2026-09-22T15:00:00Z", "2026-09-28T15:00:00Z"][..]),
        ("day", &["2026-09-21", "2026-09-22", "2026-09-28"]),
        ("week", &["2026-09-21", "2026-09-28"]),
    ] {
        let by_day = usage(&world, &format!("?group_by={group_by}")).await["breakdown"]["by_day"].take();
        let found: Vec<_> = by_day.as_array().unwrap().iter().map(|item| item["date"].as_str().unwrap()).collect();
        assert_eq!(found, dates, "{group_by}");
    }
    let week = usage(&world, "?group_by=week&start_date=2026-09-22").await;
    assert_eq!(week["breakdown"]["by_day"][0], json!({"date": "2026-09-21", "credits_used": 3.0, "query_count": 1}));
    assert_eq!((&week["credits"]["used"], &week["credits"]["usage_percent"]), (&json!(10.0), &json!(1.0)));
}

#[tokio::test]
async fn a_range_of_usage_has_an_order_and_a_length() {
    let world = world_of("free").await;
    for range in
        ["start_date=2026-09-22&end_date=2026-09-21", "start_date=2025-01-01", "start_date=2026-08-01&group_by=hour"]
    {
        let answer = world.app.get(&world.org(&format!("billing/usage?{range}")), &world.owner).await;
        assert_eq!(answer.code(), (422, "INVALID_DATE_RANGE"), "{range}");
    }
    for odd in ["start_date=soon", "group_by=month"] {
        let answer = world.app.get(&world.org(&format!("billing/usage?{odd}")), &world.owner).await;
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{odd}");
    }
}
