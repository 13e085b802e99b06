//! Shadow mode: what an environment runs is run again, by its own data plane, under the caller's own
//! rights, and compared; a log is, too, and cannot write.

use reqwest::Method;
use serde_json::{Value, json};
use tests::World;

async fn shadow(world: &World, method: Method, action: &str, body: Value) -> Value {
    let path = format!("/v1/environments/{}/shadow-mode/{action}", world.env_id);
    world.ok(method, &path, &world.owner, body).await
}

/// The session once this many queries were replayed.
async fn replayed(world: &World, count: i64) -> Value {
    world
        .until(async || {
            let status = shadow(world, Method::GET, "status", Value::Null).await;
            (status["statistics"]["queries_replayed"].as_i64() >= Some(count)).then_some(status)
        })
        .await
}

async fn upload(world: &World, lines: &[Value]) -> String {
    let log: Vec<_> = lines.iter().map(Value::to_string).collect();
    let answer = reqwest::Client::new()
        .post(format!("{}/v1/environments/{}/shadow-mode/upload", world.url, world.env_id))
        .header("authorization", &world.owner)
        .header("content-type", "application/jsonl")
        .body(log.join("\n"))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 202);
    tests::world::json_of(answer).await["upload_id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn live_queries_are_replayed_under_their_callers_own_rights() {
    let world = World::new().await;
    let analyst = world.user("analyst", json!({})).await;
    shadow(&world, Method::POST, "start", json!({"source": "live", "duration_hours": 1, "sample_rate": 1.0})).await;
    world.rows(&analyst.key, "select name from customers where region = 'EU'").await;
    world.rows(&world.key, "select count(*) from orders").await;
    world.rows(&world.key, "insert into orders values (13, 1, 1)").await;
    let statistics = replayed(&world, 2).await["statistics"].clone();
    assert_eq!((&statistics["queries_replayed"], &statistics["queries_matched"]), (&json!(2), &json!(2)));
    assert_eq!(world.rows(&world.key, "select count(*) from orders where id = 13").await, json!([[1]]));
    let audit = format!("/v1/environments/{}/audit/queries?user_id={}", world.env_id, analyst.user_id);
    let twice = world
        .until(async || {
            let found = world.ok(Method::GET, &audit, &world.owner, Value::Null).await;
            found["data"][1].is_object().then_some(found) // its total is read behind it, and may be ahead
        })
        .await;
    assert!(twice["data"][0]["request_id"].as_str().unwrap().starts_with("shadow-"));
    let stopped = shadow(&world, Method::POST, "stop", Value::Null).await;
    assert_eq!(stopped["final_statistics"]["match_rate"], json!(1.0));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uploaded_log_is_compared_and_never_writes() {
    let world = World::new().await;
    shadow(&world, Method::POST, "start", json!({"source": "upload", "duration_hours": 1, "sample_rate": 1.0})).await;
    let upload_id = upload(
        &world,
        &[
            json!({"sql": "select id from customers", "row_count": 3, "duration_ms": 1000}),
            json!({"sql": "select id from customers", "row_count": 4}),
            json!({"sql": "select nothing from customers"}),
            json!({"sql": "drop table customers"}),
        ],
    )
    .await;
    shadow(&world, Method::POST, "replay", json!({"upload_id": upload_id, "concurrency": 4})).await;
    replayed(&world, 4).await;
    let report = shadow(&world, Method::GET, "report", Value::Null).await;
    let summary = &report["summary"];
    let counts = ["total_queries", "matched", "mismatched", "failed"].map(|name| summary[name].as_i64());
    assert_eq!(counts, [Some(4), Some(1), Some(2), Some(1)], "{report}");
    let mut categories: Vec<&str> =
        report["mismatches"].as_array().unwrap().iter().map(|row| row["category"].as_str().unwrap()).collect();
    categories.sort_unstable();
    assert_eq!(categories, ["denied", "error", "row_count"]);
    assert_eq!(world.rows(&world.key, "select count(*) from customers").await, json!([[3]]));
    world.end().await;
}
