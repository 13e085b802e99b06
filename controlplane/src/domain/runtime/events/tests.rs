use serde_json::{Value, json};

use crate::domain::runtime::tests::{Runtime, field, id, reason};

#[tokio::test]
async fn events_of_an_attempt_are_numbered_without_gaps_whoever_appends_at_once() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    let body = |n: i32| json!({"attempt_id": id(&attempt), "kind": "tool.called", "payload": {"n": n}});
    let answers = futures::future::join_all((0..20).map(|n| runtime.post("runtime/events", body(n)))).await;
    let mut numbers: Vec<_> =
        answers.into_iter().map(|answer| answer.expect(200)["sequence_num"].as_i64().unwrap()).collect();
    numbers.sort_unstable();
    // The first two: created and started.
    assert_eq!(numbers, (3..23).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_event_says_which_agent_it_is_of() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let body = json!({"attempt_id": id(&attempt), "kind": "attempt_lifecycle", "payload": {"action": "started"}});
    let event = runtime.post("runtime/events", body).await.expect(200);
    assert_eq!((&event["actor"], &event["payload"]), (&json!("agent:a1"), &json!({"action": "started"})));
}

#[tokio::test]
async fn no_event_is_accepted_from_a_lost_lease_or_another_token() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let event = json!({"attempt_id": id(&attempt), "kind": "note"});
    let mut forged = event.clone();
    forged["lease_token"] = json!("forged");
    assert_eq!(reason(&runtime.post("runtime/events", forged).await), (409, "lease_token_mismatch"));
    runtime.pass(180).await;
    assert_eq!(reason(&runtime.post("runtime/events", event.clone()).await), (409, "lease_expired"));
    runtime.sweep().await;
    assert_eq!(reason(&runtime.post("runtime/events", event).await), (409, "attempt_terminal"));
}

#[tokio::test]
async fn events_are_listed_by_task_in_their_order() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    for n in 0..5 {
        let body = json!({"attempt_id": id(&attempt), "kind": "step", "payload": {"n": n}});
        runtime.post("runtime/events", body).await.expect(200);
    }
    let path = format!("runtime/events?task_id={}&kind=step", id(&task));
    let numbers = |list: &Value| -> Vec<_> {
        list["data"].as_array().unwrap().iter().map(|e| e["payload"]["n"].as_i64().unwrap()).collect()
    };
    assert_eq!(numbers(&runtime.get(&path).await.expect(200)), [0, 1, 2, 3, 4]);
    assert_eq!(numbers(&runtime.get(&format!("{path}&after_sequence=5")).await.expect(200)), [3, 4]);
    let first = runtime.get(&format!("{path}&limit=3")).await.expect(200);
    assert_eq!((numbers(&first), &first["pagination"]["total"]), (vec![0, 1, 2], &json!(5)));
    let cursor = first["pagination"]["cursor"].as_str().unwrap();
    assert_eq!(numbers(&runtime.get(&format!("{path}&limit=3&cursor={cursor}")).await.expect(200)), [3, 4]);
    assert_eq!(field(&runtime.get("runtime/events").await), (400, "task_id"));
    assert_eq!(field(&runtime.get(&format!("{path}&limit=1001")).await), (400, "limit"));
}

#[tokio::test]
async fn an_event_that_does_not_fit_is_refused_by_field() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    for (name, value) in [
        ("kind", json!("Upper")),
        ("kind", json!("")),
        ("kind", json!("x".repeat(65))),
        ("payload", json!({"x": "y".repeat(65_536)})),
    ] {
        let mut body = json!({"attempt_id": id(&attempt), "kind": "note"});
        body[name] = value;
        assert_eq!(field(&runtime.post("runtime/events", body).await), (400, name));
    }
    let absent = json!({"attempt_id": "nowhere", "kind": "note"});
    assert_eq!(runtime.post("runtime/events", absent).await.code(), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn the_database_refuses_to_change_an_event() {
    let runtime = Runtime::start().await;
    runtime.task(json!({})).await;
    for change in [
        "update svc_runtime.workflow_events set kind = 'other'",
        "delete from svc_runtime.workflow_events",
        "truncate svc_runtime.workflow_events",
    ] {
        let refused = sqlx::query(change).execute(runtime.app.app.pool()).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "42501", "{change}");
    }
}
