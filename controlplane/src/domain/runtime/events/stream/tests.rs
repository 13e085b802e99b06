use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::domain::runtime::tests::{Runtime, field, id};
use crate::testing::stream::Stream;

async fn open(runtime: &Runtime, query: &str, after: Option<&str>) -> Stream {
    Stream::open(&runtime.app, &format!("/v2/runtime/events/stream?{query}"), &runtime.worker, after).await
}

/// The id of the next event of an attempt, its kind, and the event.
async fn of_attempt(stream: &mut Stream) -> (String, String, Value) {
    loop {
        let told = stream.event().await;
        if told.2["attempt_id"].is_string() {
            return told;
        }
    }
}

async fn note(runtime: &Runtime, attempt: &Value, n: i32) {
    let body = json!({"attempt_id": id(attempt), "kind": "note", "payload": {"n": n}});
    runtime.post("runtime/events", body).await.expect(200);
}

#[tokio::test]
async fn an_event_of_the_task_or_its_project_is_told_when_it_has_happened() {
    let runtime = Runtime::start().await;
    let (task, other) = (runtime.task(json!({})).await, runtime.task(json!({"project_id": "p2"})).await);
    let mut of_task = open(&runtime, &format!("task_id={}", id(&task)), None).await;
    let mut of_project = open(&runtime, "project_id=p2", None).await;
    let (mine, theirs) = (runtime.running(&task).await, runtime.running(&other).await);
    for (stream, attempt) in [(&mut of_task, &mine), (&mut of_project, &theirs)] {
        let (_, kind, event) = of_attempt(stream).await;
        assert_eq!((kind.as_str(), &event["attempt_id"]), ("attempt_lifecycle", &attempt["id"]));
        assert_eq!(of_attempt(stream).await.2["sequence_num"], 2);
    }
    runtime.app.app.shutdown().cancel();
    while of_task.piece().await.is_some() {}
}

#[tokio::test]
async fn whoever_comes_back_goes_on_where_they_were_cut_off() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let query = format!("task_id={}", id(&task));
    let mut stream = open(&runtime, &query, None).await;
    let attempt = runtime.running(&task).await;
    let (last, ..) = of_attempt(&mut stream).await;
    drop(stream);
    for n in 0..150 {
        note(&runtime, &attempt, n).await;
    }
    let mut stream = open(&runtime, &query, Some(&last)).await;
    assert_eq!(of_attempt(&mut stream).await.2["sequence_num"], 2);
    for n in 0..150 {
        assert_eq!(of_attempt(&mut stream).await.2["payload"]["n"], n);
    }
}

/// A number is taken when a row is made, and seen when its transaction ends: who ends later is told later.
#[tokio::test]
async fn what_is_committed_late_is_not_missed() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    let mut stream = open(&runtime, &format!("task_id={}", id(&task)), None).await;
    let append = |name: &str, number: i32| {
        AssertSqlSafe(format!(
            "insert into svc_runtime.workflow_events
               (id, org_id, task_id, attempt_id, sequence_num, kind, payload, actor, created_at)
             select '{name}', org_id, id, '{}', {number}, 'late', '{{}}', 'x', now() from svc_runtime.tasks where id = '{}'",
            id(&attempt),
            id(&task)
        ))
    };
    let pool = runtime.app.app.pool();
    let mut slow = pool.begin().await.unwrap();
    sqlx::query(append("first", 100)).execute(&mut *slow).await.unwrap();
    sqlx::query(append("second", 101)).execute(pool).await.unwrap();
    slow.commit().await.unwrap();
    let mut told = Vec::new();
    while told.len() < 2 {
        let (_, kind, event) = of_attempt(&mut stream).await;
        if kind == "late" {
            told.push(event["id"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(told, ["first", "second"]);
}

#[tokio::test]
async fn what_cannot_be_followed_is_refused() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    assert_eq!(field(&runtime.get("runtime/events/stream").await), (400, "task_id"));
    assert_eq!(field(&runtime.get("runtime/events/stream?project_id=").await), (400, "project_id"));
    assert_eq!(runtime.get("runtime/events/stream?task_id=nowhere").await.code(), (404, "NOT_FOUND"));
    for wrong in ["x", "1", "1-", "-1-1-1", "99999999999999999999999-1"] {
        let request = Request::get(format!("/v2/runtime/events/stream?task_id={}", id(&task)))
            .header("authorization", &runtime.worker)
            .header("last-event-id", wrong);
        let refused = runtime.app.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(field(&refused), (400, "Last-Event-ID"), "{wrong}");
    }
}

#[tokio::test]
async fn a_stream_ends_for_whom_a_policy_hides_its_events_from() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    let analyst = runtime.member("analyst", json!({})).await;
    let path = format!("/v2/runtime/events/stream?task_id={}", id(&task));
    let mut stream = Stream::open(&runtime.app, &path, &analyst, None).await;
    note(&runtime, &attempt, 1).await;
    while of_attempt(&mut stream).await.2["payload"]["n"] != 1 {} // what began before may still be told
    let rules = json!([{"table": "svc_runtime.workflow_events", "column": "payload", "function": "full",
        "exempt_roles": ["service_account"]}]);
    let mask = json!({"name": "m", "type": "column_masking", "enabled": true, "rules": rules});
    runtime.app.post(&runtime.env("policies"), &runtime.owner, mask).await.expect(201);
    while let Some(piece) = stream.piece().await {
        assert!(!piece.contains("payload"), "{piece}");
    }
}
