use serde_json::{Value, json};

use crate::domain::runtime::tests::{Runtime, field, id};
use crate::testing::bearer;

#[tokio::test]
async fn costs_are_summed_by_model_within_the_window() {
    let runtime = Runtime::start().await;
    let calls = [
        ("old", 9.0, 1, Value::Null),
        ("m1", 0.25, 100, Value::Null),
        ("m1", 0.5, 300, json!("cut off")),
        ("m2", 2.0, 50, Value::Null),
    ];
    for (model_id, cost_usd, latency_ms, error) in calls {
        let attempt = runtime.running(&runtime.task(json!({})).await).await;
        let choice = json!({"attempt_id": id(&attempt), "model_id": model_id});
        let decision = runtime.post("runtime/decisions", choice).await.expect(200);
        let report = json!({"decision_id": id(&decision), "model_id": model_id, "input_tokens": 10,
            "output_tokens": 1, "cost_usd": cost_usd, "latency_ms": latency_ms, "error": error});
        runtime.post("runtime/invocations", report).await.expect(200);
        if model_id == "old" {
            runtime.pass(8 * 86_400).await;
        }
    }
    let view = runtime.get("runtime/views/invocation-costs").await.expect(200);
    assert_eq!(
        (&view["total_cost_usd"], &view["total_invocations"], &view["total_tokens"]),
        (&json!(2.75), &json!(3), &json!(33))
    );
    let m1 = json!({"model_id": "m1", "invocations": 2, "input_tokens": 20, "output_tokens": 2, "cost_usd": 0.75,
        "errors": 1, "p50_latency_ms": 200.0, "p99_latency_ms": 298.0});
    assert_eq!((&view["by_model"][0]["model_id"], &view["by_model"][1]), (&json!("m2"), &m1));
    assert_eq!((&view["freshness"]["within_slo"], &view["freshness"]["staleness_ms"]), (&json!(true), &json!(0)));
    let longer = runtime.get("runtime/views/invocation-costs?window_days=9").await.expect(200);
    assert_eq!(longer["total_invocations"], 4);
    for days in ["0", "91"] {
        let answer = runtime.get(&format!("runtime/views/invocation-costs?window_days={days}")).await;
        assert_eq!(field(&answer), (400, "window_days"));
    }
}

#[tokio::test]
async fn confidence_is_counted_low_medium_and_high() {
    let runtime = Runtime::start().await;
    let empty = runtime.get("runtime/views/confidence-distribution").await.expect(200);
    assert_eq!((&empty["total_artifacts"], &empty["p50"]), (&json!(0), &Value::Null));
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    for (n, confidence) in [0.1, 0.5, 0.79, 0.8, 1.0].into_iter().enumerate() {
        let content_hash = format!("sha256:{}", n.to_string().repeat(64));
        let body = json!({"attempt_id": id(&attempt), "kind": "report", "content_hash": content_hash, "confidence": confidence});
        runtime.post("runtime/artifacts", body).await.expect(200);
    }
    let view = runtime.get("runtime/views/confidence-distribution").await.expect(200);
    let counts = ["low_confidence", "medium_confidence", "high_confidence"].map(|name| view[name].as_i64().unwrap());
    assert_eq!((counts, &view["p50"]), ([1, 2, 2], &json!(0.79)));
}

#[tokio::test]
async fn a_view_shows_nothing_of_another_organization() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let body = json!({"attempt_id": id(&attempt), "kind": "report", "content_hash": format!("sha256:{}", "a".repeat(64)), "confidence": 1});
    runtime.post("runtime/artifacts", body).await.expect(200);
    let decision = json!({"attempt_id": id(&attempt), "model_id": "m1"});
    let decision = runtime.post("runtime/decisions", decision).await.expect(200);
    let report = json!({"decision_id": id(&decision), "model_id": "m1", "input_tokens": 1, "output_tokens": 1, "cost_usd": 1, "latency_ms": 1});
    runtime.post("runtime/invocations", report).await.expect(200);
    let stranger = bearer(&runtime.app.signup("sven", "Elsewhere").await);
    for (view, total) in [("invocation-costs", "total_invocations"), ("confidence-distribution", "total_artifacts")] {
        let path = format!("/v2/runtime/views/{view}");
        let (ours, theirs) = (runtime.app.get(&path, &runtime.worker).await, runtime.app.get(&path, &stranger).await);
        assert_eq!((&ours.expect(200)[total], &theirs.expect(200)[total]), (&json!(1), &json!(0)), "{view}");
    }
}

#[tokio::test]
async fn active_attempts_are_counted_with_the_leases_that_are_about_to_end() {
    let runtime = Runtime::start().await;
    let empty = runtime.get("runtime/views/active-attempts").await.expect(200);
    assert_eq!((&empty["total_running"], &empty["oldest_attempt_age_secs"]), (&json!(0), &Value::Null));
    let blocked = runtime.running(&runtime.task(json!({})).await).await;
    runtime.fails(&blocked, "policy_denied").await;
    let old = runtime.running(&runtime.task(json!({})).await).await;
    runtime.pass(160).await;
    runtime.attempt(&runtime.task(json!({})).await).await;
    let view = runtime.get("runtime/views/active-attempts").await.expect(200);
    let counts = ["total_running", "total_pending", "total_blocked", "lease_expiry_warnings"];
    assert_eq!(counts.map(|name| view[name].as_i64().unwrap()), [1, 1, 1, 1]);
    assert_eq!(view["oldest_attempt_age_secs"], 160.0);
    assert_eq!((&view["expiring"][0]["attempt_id"], &view["expiring"][0]["agent_id"]), (&old["id"], &json!("a1")));
    assert_eq!((&view["freshness"]["within_slo"], view["expiring"].as_array().unwrap().len()), (&json!(true), 1));
}

#[tokio::test]
async fn recovery_actions_are_counted_by_kind_and_level() {
    let runtime = Runtime::start().await;
    for kind in ["timeout", "model_error", "policy_denied", "timeout"] {
        let attempt = runtime.running(&runtime.task(json!({})).await).await;
        runtime.fails(&attempt, kind).await;
        runtime.pass(1).await;
    }
    let view = runtime.get("runtime/views/recovery-actions").await.expect(200);
    assert_eq!(view["by_kind"], json!({"block": 1, "retry": 2, "retry_with_model": 1}));
    assert_eq!(view["by_level"], json!({"L1": 2, "L2": 1, "blocked": 1}));
    assert_eq!((&view["total"], &view["recent"][1]["level"]), (&json!(4), &json!("blocked")));
    assert_eq!(view["freshness"]["within_slo"], true);
    let stranger = bearer(&runtime.app.signup("sven", "Elsewhere").await);
    for (name, total) in [("recovery-actions", "total"), ("active-attempts", "total_running")] {
        let theirs = runtime.app.get(&format!("/v2/runtime/views/{name}"), &stranger).await.expect(200);
        assert_eq!(theirs[total], 0, "{name}");
    }
}
