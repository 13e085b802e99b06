use serde_json::json;

use crate::domain::runtime::tests::{Runtime, field, id, reason};

#[tokio::test]
async fn decisions_and_invocations_are_recorded_and_shown_with_their_task() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    let choice = json!({"attempt_id": id(&attempt), "model_id": "m1", "routing_reason": "cheap", "confidence": 0.75,
        "cost_estimate": 0.02, "context": {"class": "small"}, "lease_token": attempt["lease_token"]});
    let decision = runtime.post("runtime/decisions", choice).await.expect(200);
    assert_eq!((&decision["fallback_used"], &decision["confidence"]), (&json!(false), &json!(0.75)));
    let report = json!({"decision_id": id(&decision), "model_id": "m1", "input_tokens": 10, "output_tokens": 5,
        "cost_usd": 0.001, "latency_ms": 420, "prompt_hash": "abc"});
    let invocation = runtime.post("runtime/invocations", report).await.expect(200);
    let detail = runtime.get(&format!("runtime/tasks/{}/detail", id(&task))).await.expect(200);
    assert_eq!((&detail["decisions"], &detail["invocations"]), (&json!([decision]), &json!([invocation])));
    assert_eq!(detail["totals"], json!({"cost_usd": 0.001, "tokens": 15, "duration_ms": 0}));
}

#[tokio::test]
async fn no_decision_is_accepted_from_a_lost_lease_but_what_was_spent_still_counts() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let choice = json!({"attempt_id": id(&attempt), "model_id": "m1"});
    let decision = runtime.post("runtime/decisions", choice.clone()).await.expect(200);
    runtime.pass(180).await;
    assert_eq!(reason(&runtime.post("runtime/decisions", choice.clone()).await), (409, "lease_expired"));
    runtime.sweep().await;
    assert_eq!(reason(&runtime.post("runtime/decisions", choice).await), (409, "attempt_terminal"));
    let report = json!({"decision_id": id(&decision), "model_id": "m1", "input_tokens": 1, "output_tokens": 0,
        "cost_usd": 0, "latency_ms": 1, "error": "cut off"});
    runtime.post("runtime/invocations", report).await.expect(200);
}

#[tokio::test]
async fn what_does_not_fit_is_refused_by_field() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let choice = json!({"attempt_id": id(&attempt), "model_id": "m1"});
    for (name, value) in [
        ("model_id", json!("")),
        ("confidence", json!(1.01)),
        ("confidence", json!(-0.1)),
        ("cost_estimate", json!(-1)),
        ("routing_reason", json!("x".repeat(4_001))),
        ("context", json!({"x": "y".repeat(65_536)})),
    ] {
        let mut body = choice.clone();
        body[name] = value;
        assert_eq!(field(&runtime.post("runtime/decisions", body).await), (400, name));
    }
    let decision = runtime.post("runtime/decisions", choice).await.expect(200);
    let report = json!({"decision_id": id(&decision), "model_id": "m1", "input_tokens": 1, "output_tokens": 1,
        "cost_usd": 1, "latency_ms": 1});
    for (name, value) in [
        ("input_tokens", json!(-1)),
        ("output_tokens", json!(1.5)),
        ("cost_usd", json!(-0.01)),
        ("latency_ms", json!(-1)),
    ] {
        let mut body = report.clone();
        body[name] = value;
        assert_eq!(field(&runtime.post("runtime/invocations", body).await), (400, name));
    }
}

#[tokio::test]
async fn what_a_stranger_names_is_absent() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let choice = json!({"attempt_id": id(&attempt), "model_id": "m1"});
    let decision = runtime.post("runtime/decisions", choice.clone()).await.expect(200);
    let stranger = crate::testing::bearer(&runtime.app.signup("sven", "Elsewhere").await);
    let report = json!({"decision_id": id(&decision), "model_id": "m1", "input_tokens": 1, "output_tokens": 1,
        "cost_usd": 1, "latency_ms": 1});
    for (path, body) in [("decisions", choice), ("invocations", report)] {
        let answer = runtime.app.post(&format!("/v2/runtime/{path}"), &stranger, body).await;
        assert_eq!(answer.code(), (404, "NOT_FOUND"), "{path}");
    }
}
