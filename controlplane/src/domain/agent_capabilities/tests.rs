use chrono::Duration;
use serde_json::{Value, json};

use crate::server::snapshots::load;
use crate::testing::Answer;
use crate::worlds::World;

/// A world that knows the agent `bot`.
async fn known() -> World {
    let world = World::start().await;
    world
        .create_key(json!({"name": "k", "scopes": ["query:read"], "agent_id": "bot", "agent_framework": "crewai"}))
        .await;
    world
}

fn wish(world: &World) -> Value {
    json!({
        "agent_id": "bot",
        "capabilities": {
            "allowed_tables": ["main.orders", "main.customers"],
            "allowed_operations": ["SELECT"],
            "max_queries_per_hour": 100,
            "max_rows_per_query": 1000,
            "column_restrictions": {"main.customers": {"denied_columns": ["ssn"]}},
        },
        "expires_at": world.app.app.now() + Duration::days(30),
    })
}

async fn grant(world: &World, body: Value) -> Answer {
    world.app.post(&world.env("agent-capabilities"), &world.owner, body).await
}

async fn delete(world: &World, granted: &Value) -> Answer {
    let path = world.env(&format!("agent-capabilities/{}", granted["grant_id"].as_str().unwrap()));
    world.app.delete(&path, &world.owner).await
}

async fn list(world: &World, query: &str) -> Value {
    world.app.get(&world.env(&format!("agent-capabilities{query}")), &world.owner).await.expect(200)
}

#[tokio::test]
async fn a_grant_confines_its_agent_and_revoking_it_widens_nothing() {
    let world = known().await;
    let snapshot = async || {
        let app = &world.app.app;
        load::load(app.pool(), app.keyring(), &world.env_id).await.unwrap().unwrap().agent_capabilities
    };
    assert!(snapshot().await.is_empty());
    let granted = grant(&world, wish(&world)).await.expect(201);
    assert_eq!((granted["status"].as_str(), granted["agent_id"].as_str()), (Some("active"), Some("bot")));
    assert_eq!(granted["granted_by"], world.owner_id.as_str());
    assert_eq!(granted["capabilities"], wish(&world)["capabilities"]);
    assert_eq!(snapshot().await["bot"][0].capabilities.max_rows_per_query, Some(1_000));

    let revoked = delete(&world, &granted).await.expect(200);
    assert_eq!((revoked["revoked"].as_bool(), revoked["agent_id"].as_str()), (Some(true), Some("bot")));
    assert_eq!(revoked["revoked_by"], world.owner_id.as_str());
    assert!(snapshot().await["bot"].is_empty(), "confined to nothing");
    assert_eq!(delete(&world, &granted).await.code(), (409, "CONFLICT"));
}

#[tokio::test]
async fn grants_are_listed_with_what_ran_under_them() {
    let world = known().await;
    let granted = grant(&world, wish(&world)).await.expect(201);
    let id = contract::GrantId::from(granted["grant_id"].as_str().unwrap());
    let now = world.app.app.now();
    let mut conn = world.app.app.pool().acquire().await.unwrap();
    let uses = [(&id, now - Duration::hours(1)), (&id, now), (&id, now)];
    super::used(&mut conn, &world.env_id, uses).await.unwrap();
    super::used(&mut conn, &world.env_id, [(&"another's".into(), now)]).await.unwrap();
    let listed = list(&world, "?agent_id=bot").await;
    assert_eq!(listed["data"][0]["usage"], json!({"queries_this_hour": 2, "total_queries": 3}));
    assert_eq!(list(&world, "?agent_id=other").await["pagination"]["total"], 0);
    world.app.advance(Duration::days(30));
    let ended = &list(&world, "").await["data"][0];
    assert_eq!((ended["status"].as_str(), ended["usage"]["queries_this_hour"].as_i64()), (Some("expired"), Some(0)));
    delete(&world, &granted).await.expect(200);
    assert_eq!(list(&world, "").await["data"][0]["status"], "revoked");
}

#[tokio::test]
async fn what_is_granted_is_checked() {
    let world = known().await;
    let past = world.app.app.now();
    for (member, value, field) in [
        ("allowed_tables", json!([]), "capabilities.allowed_tables"),
        ("allowed_tables", json!(["main.orders", "a.b.c"]), "capabilities.allowed_tables[1]"),
        ("allowed_tables", json!(["*"]), "capabilities.allowed_tables[0]"),
        ("allowed_tables", json!("orders"), "capabilities.allowed_tables"),
        // These would deny nothing.
        (
            "column_restrictions",
            json!({" customers": {"denied_columns": ["ssn"]}}),
            "capabilities.column_restrictions. customers",
        ),
        (
            "column_restrictions",
            json!({"customers": {"denied_columns": ["ssn "]}}),
            "capabilities.column_restrictions.customers.denied_columns[0]",
        ),
        (
            "column_restrictions",
            json!({"customers": {"denied_columns": ["\"ssn\""]}}),
            "capabilities.column_restrictions.customers.denied_columns[0]",
        ),
        ("allowed_operations", json!([]), "capabilities.allowed_operations"),
        ("allowed_operations", json!(["select", "grant"]), "capabilities.allowed_operations[1]"),
        ("max_queries_per_hour", json!(0), "capabilities.max_queries_per_hour"),
        ("max_rows_per_query", json!(-1), "capabilities.max_rows_per_query"),
        ("max_rows_per_day", json!(1), "capabilities.max_rows_per_day"),
        (
            "column_restrictions",
            json!({"t": {"denied_columns": []}}),
            "capabilities.column_restrictions.t.denied_columns",
        ),
    ] {
        let mut body = wish(&world);
        body["capabilities"][member] = value;
        let answer = grant(&world, body).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body["error"]["details"]["field"]),
            (400, &json!(field)),
            "{}",
            answer.body
        );
    }
    for (member, value) in [("expires_at", json!(past)), ("expires_at", json!("soon")), ("agent_id", json!(" "))] {
        let mut body = wish(&world);
        body[member] = value;
        let answer = grant(&world, body).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body["error"]["details"]["field"]),
            (400, &json!(member)),
            "{}",
            answer.body
        );
    }
}

#[tokio::test]
async fn an_agent_that_nobody_knows_is_granted_nothing() {
    let world = known().await;
    let mut body = wish(&world);
    body["agent_id"] = json!("ghost");
    assert_eq!(grant(&world, body).await.code(), (422, "AGENT_NOT_FOUND"));
}

#[tokio::test]
async fn what_a_policy_denies_the_agent_is_not_granted() {
    let world = known().await;
    let rule = json!({"condition": "TableIs", "values": ["customers"], "action": "deny"});
    let policy = json!({"name": "no customers", "rules": [rule]});
    let made = world.app.post(&world.env("abac-policies"), &world.owner, policy).await.expect(201);
    let answer = grant(&world, wish(&world)).await;
    assert_eq!(answer.code(), (422, "POLICY_VIOLATION"));
    assert_eq!(answer.body["error"]["details"]["field"], "capabilities.allowed_tables");
    let path = world.env(&format!("abac-policies/{}", made["policy_id"].as_str().unwrap()));
    world.app.put(&path, &world.owner, json!({"enabled": false})).await.expect(200);
    grant(&world, wish(&world)).await.expect(201);
}

#[tokio::test]
async fn both_moves_are_events_of_the_chain() {
    let world = known().await;
    let granted = grant(&world, wish(&world)).await.expect(201);
    delete(&world, &granted).await.expect(200);
    let told: Vec<(String, Value)> = sqlx::query_as(
        "select event_type, changes from iam_events where resource_type = 'agent_capability' order by sequence",
    )
    .fetch_all(world.app.app.pool())
    .await
    .unwrap();
    let types: Vec<_> = told.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(types, ["agent_capability.granted", "agent_capability.revoked"]);
    assert_eq!(told[0].1["after"]["capabilities"], wish(&world)["capabilities"]);
}
