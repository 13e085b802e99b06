use chrono::Duration;
use contract::Role;
use contract::policy::abac::{Operation, Origin};
use contract::report::{Agent, Body, Entry, Finished, Outcome, Started, Verdict};
use serde_json::{Value, json};

use crate::server::intake::store_entries;
use crate::worlds::World;

/// A query of an agent, as a data plane reports it.
fn query(world: &World, number: u64, agent_id: &str, refused: bool) -> [Entry; 2] {
    let (query_id, at) = (format!("q{number}"), world.app.app.now());
    let verdict = Verdict {
        policy_id: "p".into(),
        policy_name: "region".to_owned(),
        action: "filter".to_owned(),
        columns: vec![],
        function: None,
    };
    let start = Started {
        query_id: query_id.as_str().into(),
        request_id: "req_1".into(),
        org_id: world.org_id.clone(),
        user_id: Some(world.owner_id.clone()),
        key_id: None,
        role: Role::Owner,
        source_ip: None,
        origin: Origin::Pgwire,
        by_dashboard: false,
        agent: Some(Agent { agent_id: Some(agent_id.to_owned()), framework: Some("crewai".to_owned()) }),
        grant_id: None,
        sql: "SELECT 1".to_owned(),
        sql_original: "select 1".to_owned(),
        sql_healed: None,
        sql_transpiled: None,
        sql_with_rls: None,
        operation: Some(Operation::Select),
        tables_accessed: vec![format!("main.t{}", number % 2)],
        columns_masked: vec!["ssn".to_owned(), "iban".to_owned()],
        policy_verdicts: vec![verdict],
        abac_evaluation: None,
        governance_version: 1,
        snapshot: None,
        estimated_micro_credits: 0,
        at,
    };
    let finish = Finished {
        query_id: query_id.as_str().into(),
        outcome: if refused { Outcome::Refused } else { Outcome::Completed },
        error_code: refused.then(|| "POLICY_DENIED".to_owned()),
        rows_returned: 1,
        micro_credits: if refused { 0 } else { 1_100_000 },
        cache_hit: false,
        execution_time_ms: if refused { 0.0 } else { 3.0 },
        transpilation_time_ms: 0.1,
        stages: vec![],
        at,
    };
    let entry = |sequence, body| Entry { sequence, body };
    [entry(2 * number - 1, Body::Started(Box::new(start))), entry(2 * number, Body::Finished(Box::new(finish)))]
}

async fn report(world: &World, number: u64, agent_id: &str, refused: bool) {
    let entries = query(world, number, agent_id, refused);
    store_entries(&world.app.app, &world.env_id, "log", entries.to_vec()).await.unwrap();
}

async fn get(world: &World, rest: &str) -> Value {
    world.app.get(&world.env(rest), &world.owner).await.expect(200)
}

#[tokio::test]
async fn an_agent_that_queried_is_listed_with_its_activity() {
    let world = World::start().await;
    report(&world, 1, "bot", false).await;
    world.app.advance(Duration::hours(1));
    report(&world, 2, "bot", false).await;
    report(&world, 3, "bot", true).await;
    // Sent again, nothing is counted twice.
    store_entries(&world.app.app, &world.env_id, "log", query(&world, 3, "bot", true).to_vec()).await.unwrap();

    let agent = &get(&world, "agents").await["data"][0];
    assert_eq!((agent["agent_id"].as_str(), agent["framework"].as_str()), (Some("bot"), Some("crewai")));
    assert_eq!((agent["status"].as_str(), agent["total_queries"].as_i64()), (Some("active"), Some(3)));
    assert_eq!((agent["capability_grants"].as_i64(), &agent["trust_level"]), (Some(0), &json!("provisional")));
    let of = get(&world, "agents/bot/activity").await;
    let activity = &of["activity"];
    assert_eq!((activity["total_queries"].as_i64(), activity["queries_this_hour"].as_i64()), (Some(3), Some(2)));
    assert_eq!(activity["tables_accessed"], json!(["main.t0", "main.t1"]));
    assert_eq!(
        (activity["avg_execution_time_ms"].as_f64(), activity["credits_consumed_today"].as_f64()),
        (Some(3.0), Some(2.2))
    );
    assert_eq!(activity["last_query_at"], agent["last_active"]);
    let summary = json!({"queries_allowed": 2, "queries_denied": 1, "columns_masked": 6, "rows_filtered": 3});
    assert_eq!(of["policy_summary"], summary);
    assert_eq!(world.app.get(&world.env("agents/nobody/activity"), &world.owner).await.code(), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn days_and_hours_are_those_of_the_clock() {
    let world = World::start().await;
    report(&world, 1, "bot", false).await;
    world.app.advance(Duration::days(1));
    let activity = get(&world, "agents/bot/activity").await["activity"].clone();
    assert_eq!((activity["total_queries"].as_i64(), activity["queries_today"].as_i64()), (Some(1), Some(0)));
    assert_eq!(activity["credits_consumed_today"].as_f64(), Some(0.0));
}

#[tokio::test]
async fn an_agent_is_known_by_its_key_its_attempt_or_its_query() {
    let world = World::start().await;
    world
        .create_key(json!({"name": "k", "scopes": ["query:read"], "agent_id": "by-key", "agent_framework": "crewai"}))
        .await;
    let task = json!({"kind": "build", "project_id": "p"});
    let task = world.app.post("/v2/runtime/tasks", &world.owner, task).await.expect(200);
    let path = format!("/v2/runtime/tasks/{}/attempts", task["id"].as_str().unwrap());
    world.app.post(&path, &world.owner, json!({"agent_id": "by-attempt"})).await.expect(200);
    report(&world, 1, "by-query", false).await;
    report(&world, 2, &"x".repeat(257), false).await;
    let known: Vec<(String, String, String)> =
        sqlx::query_as("select agent_id, registration_source, trust_level from agents order by agent_id")
            .fetch_all(world.app.app.pool())
            .await
            .unwrap();
    let known: Vec<_> =
        known.iter().map(|(id, source, trust)| (id.as_str(), source.as_str(), trust.as_str())).collect();
    assert_eq!(
        known,
        [
            ("by-attempt", "v2_create_attempt", "provisional"),
            ("by-key", "api_key", "provisional"),
            ("by-query", "query", "provisional"),
        ]
    );
    // Only those that queried the environment are listed there.
    assert_eq!(get(&world, "agents").await["pagination"]["total"], 1);
}
