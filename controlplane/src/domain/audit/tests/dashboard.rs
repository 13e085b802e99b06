//! Queries of the dashboard for its own pages: left out of lists, usage and bill unless it is asked for, and never
//! lost.

use contract::policy::abac::Origin;
use contract::report::{Body, Entry};
use serde_json::{Value, json};

use super::{get, store};
use crate::worlds::World;

/// One of the dashboard's own, as a data plane reports it.
fn own(world: &World, sequence: u64, query: &str) -> [Entry; 2] {
    let (mut start, mut finish) = (world.started(sequence, query), world.finished(sequence + 1, query));
    if let (Body::Started(start), Body::Finished(finish)) = (&mut start.body, &mut finish.body) {
        (start.origin, start.by_dashboard) = (Origin::Dashboard, true);
        finish.micro_credits = 0;
    }
    [start, finish]
}

async fn usage(world: &World, query: &str) -> Value {
    world.app.get(&world.org(&format!("billing/usage{query}")), &world.owner).await.expect(200)
}

/// A page of the dashboard, and a statement that somebody ran in it.
async fn both(world: &World) {
    store(world, &own(world, 1, "page")).await.unwrap();
    let (mut start, finish) = (world.started(3, "person"), world.finished(4, "person"));
    if let Body::Started(start) = &mut start.body {
        start.origin = Origin::Dashboard;
    }
    store(world, &[start, finish]).await.unwrap();
}

#[tokio::test]
async fn what_the_dashboard_asked_for_itself_is_listed_for_who_asks_for_it() {
    let world = World::start().await;
    both(&world).await;
    for (query, listed) in [
        ("", &["person"][..]),
        ("?include_dashboard=false", &["person"]),
        ("?include_dashboard=true", &["person", "page"]),
        ("?include_dashboard=true&table=customers", &["person", "page"]),
    ] {
        let page = get(&world, &format!("audit/queries{query}")).await;
        assert_eq!(page["pagination"]["total"], listed.len(), "{query}");
        let mut found: Vec<_> =
            page["data"].as_array().unwrap().iter().map(|entry| entry["query_id"].as_str().unwrap()).collect();
        found.sort_by_key(|id| *id != "person");
        assert_eq!(found, listed, "{query}");
    }
    for (query, by_dashboard, credits) in [("page", true, 0.0), ("person", false, 1.1)] {
        let entry = get(&world, &format!("audit/queries/{query}")).await;
        assert_eq!((&entry["origin"], &entry["by_dashboard"]), (&json!("dashboard"), &json!(by_dashboard)));
        assert_eq!(entry["credits_consumed"], credits);
    }
    let odd = world.app.get(&world.env("audit/queries?include_dashboard=perhaps"), &world.owner).await;
    assert_eq!(odd.code(), (400, "VALIDATION_ERROR"));
}

#[tokio::test]
async fn the_bill_counts_it_apart_and_its_credits_are_none() {
    let world = World::start().await;
    both(&world).await;
    let apart = usage(&world, "").await;
    assert_eq!(
        apart["breakdown"]["queries"],
        json!({"total": 1, "select": 1, "insert": 0, "update": 0, "delete": 0, "dashboard": 1})
    );
    assert_eq!(apart["credits"]["used"], 1.1);
    let with = usage(&world, "?include_dashboard=true").await;
    assert_eq!(
        with["breakdown"]["queries"],
        json!({"total": 2, "select": 2, "insert": 0, "update": 0, "delete": 0, "dashboard": 1})
    );
    for (answer, queries) in [(&apart, 1), (&with, 2)] {
        let breakdown = &answer["breakdown"];
        for sum in [&breakdown["by_environment"][0], &breakdown["by_day"][0]] {
            assert_eq!((&sum["query_count"], &sum["credits_used"]), (&json!(queries), &json!(1.1)), "{sum}");
        }
    }
}

#[tokio::test]
async fn an_hour_of_nothing_but_pages_is_no_line_of_the_bill() {
    let world = World::start().await;
    store(&world, &own(&world, 1, "page")).await.unwrap();
    let breakdown = usage(&world, "").await["breakdown"].take();
    assert_eq!((&breakdown["by_environment"], &breakdown["by_day"]), (&json!([]), &json!([])));
    assert_eq!(breakdown["queries"]["dashboard"], 1);
    assert_eq!(usage(&world, "?include_dashboard=true").await["breakdown"]["by_day"][0]["query_count"], 1);
}

/// It is written once and never changed, as any entry; and the chain of changes is as it was.
#[tokio::test]
async fn it_is_kept_as_any_entry_is() {
    let world = World::start().await;
    world.mask("ssn").await;
    both(&world).await;
    let hidden = sqlx::raw_sql("update query_starts set by_dashboard = true").execute(world.app.app.pool()).await;
    assert!(hidden.unwrap_err().to_string().contains("append-only"));
    assert_eq!(world.count("select count(*) from query_starts").await, 2);
    assert_eq!(get(&world, "audit/admin/verify-chain").await["chain_valid"], true);
}
