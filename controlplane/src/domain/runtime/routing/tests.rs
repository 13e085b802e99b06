use serde_json::{Value, json};

use crate::domain::runtime::tests::{Runtime, field, id};

/// A decision for the model, with a call of this latency and cost, and how the attempt ended.
async fn sample(runtime: &Runtime, model_id: &str, call: (i64, f64), outcome: &str) -> Value {
    let attempt = runtime.running(&runtime.task(json!({"project_id": "p1"})).await).await;
    let choice = json!({"attempt_id": id(&attempt), "model_id": model_id, "confidence": 0.5});
    let decision = runtime.post("runtime/decisions", choice).await.expect(200);
    let report = json!({"decision_id": id(&decision), "model_id": model_id, "input_tokens": 1, "output_tokens": 1,
        "latency_ms": call.0, "cost_usd": call.1});
    runtime.post("runtime/invocations", report).await.expect(200);
    match outcome {
        "succeeded" => runtime.say(&attempt, "complete", json!({"outcome": "succeeded"})).await.expect(200),
        "failed" => runtime.fails(&attempt, "timeout").await,
        _ => attempt,
    }
}

#[tokio::test]
async fn signals_say_how_each_model_has_done() {
    let runtime = Runtime::start().await;
    sample(&runtime, "m1", (100, 1.0), "succeeded").await;
    let failed = sample(&runtime, "m1", (300, 2.0), "failed").await;
    sample(&runtime, "m1", (200, 3.0), "running").await;
    sample(&runtime, "m2", (50, 0.5), "running").await;
    let body = json!({"action": "retry_with_model", "model_id": "m3"});
    runtime.said_by(&runtime.owner, &format!("recovery/{}", id(&failed)), body).await.expect(200);
    let signals = runtime.get("routing/signals").await.expect(200);
    assert_eq!((&signals["window_days"], &signals["freshness"]["within_slo"]), (&json!(7), &json!(true)));
    let mut m1 = signals["models"][0].clone();
    let rate = m1["override_rate"].take().as_f64().unwrap();
    assert!((rate - 1.0 / 3.0).abs() < 1e-9, "{rate}");
    let expected = json!({"model_id": "m1", "sample_size": 3, "success_rate": 0.5, "avg_confidence": 0.5,
        "avg_cost_usd": 2.0, "avg_latency_ms": 200.0, "total_cost_usd": 6.0, "override_rate": null,
        "p50_latency_ms": 200.0, "p99_latency_ms": 298.0});
    assert_eq!(m1, expected);
    let m2 = &signals["models"][1];
    assert_eq!((&m2["model_id"], &m2["success_rate"], &m2["override_rate"]), (&json!("m2"), &Value::Null, &json!(0.0)));
}

#[tokio::test]
async fn signals_are_of_a_window_a_project_and_a_kind() {
    let runtime = Runtime::start().await;
    sample(&runtime, "old", (1, 1.0), "succeeded").await;
    runtime.pass(8 * 86_400).await;
    sample(&runtime, "new", (1, 1.0), "succeeded").await;
    for (query, expected) in [
        ("", vec!["new"]),
        ("window_days=90", vec!["new", "old"]),
        ("window_days=90&project_id=p2", vec![]),
        ("kind=build", vec!["new"]),
        ("kind=test", vec![]),
    ] {
        let signals = runtime.get(&format!("routing/signals?{query}")).await.expect(200);
        let models: Vec<_> =
            signals["models"].as_array().unwrap().iter().map(|m| m["model_id"].as_str().unwrap()).collect();
        assert_eq!(models, expected, "{query}");
    }
    for days in ["0", "91"] {
        assert_eq!(field(&runtime.get(&format!("routing/signals?window_days={days}")).await), (400, "window_days"));
    }
    let stranger = crate::testing::bearer(&runtime.app.signup("sven", "Elsewhere").await);
    assert_eq!(runtime.app.get("/v2/routing/signals", &stranger).await.expect(200)["models"], json!([]));
}
