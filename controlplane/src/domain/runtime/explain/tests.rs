use serde_json::{Value, json};

use crate::domain::runtime::tests::{Runtime, field, id};

#[tokio::test]
async fn an_artifact_and_its_attempt_are_explained_by_all_that_led_to_them() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    let choice = json!({"attempt_id": id(&attempt), "model_id": "m1"});
    let decision = runtime.post("runtime/decisions", choice).await.expect(200);
    let report = json!({"decision_id": id(&decision), "model_id": "m1", "input_tokens": 1, "output_tokens": 1,
        "cost_usd": 1, "latency_ms": 1});
    runtime.post("runtime/invocations", report).await.expect(200);
    let source = runtime.artifact(&attempt, 'a', json!({})).await;
    let made = runtime.artifact(&attempt, 'b', json!({"depends_on": [id(&source)]})).await;
    let path = format!("runtime/artifacts/{}/validations", id(&made));
    runtime.post(&path, json!({"validator_kind": "tests", "result": "pass"})).await.expect(200);
    let review = runtime.post("reviews", json!({"artifact_id": id(&made)})).await.expect(200);
    runtime.said_by(&runtime.owner, &format!("reviews/{}/approve", id(&review)), Value::Null).await.expect(200);
    runtime.fails(&attempt, "timeout").await;
    let bundle = runtime.get(&format!("explain/{}", id(&made))).await.expect(200);
    assert_eq!((&bundle["artifact"]["id"], &bundle["attempt"]["id"]), (&made["id"], &attempt["id"]));
    assert_eq!((&bundle["task"]["id"], &bundle["decisions"][0]["id"]), (&task["id"], &decision["id"]));
    for (part, count) in
        [("invocations", 1), ("artifacts", 2), ("validations", 1), ("recovery_actions", 1), ("reviews", 1)]
    {
        assert_eq!(bundle[part].as_array().unwrap().len(), count, "{part}");
    }
    assert_eq!(bundle["release"]["review_id"], review["id"]);
    assert_eq!(bundle["lineage"]["upstream"]["nodes"][1]["id"], source["id"]);
    assert!(!bundle.to_string().contains("lease_token"), "{bundle}");
    let of_attempt = runtime.get(&format!("explain/{}?max_events=2", id(&attempt))).await.expect(200);
    assert_eq!((&of_attempt["artifact"], of_attempt["events"].as_array().unwrap().len()), (&Value::Null, 2));
    assert_eq!(of_attempt["events"][1]["kind"], "recovery_initiated");
    assert_eq!(runtime.get("explain/nowhere").await.code(), (404, "NOT_FOUND"));
    assert_eq!(field(&runtime.get(&format!("explain/{}?max_events=1001", id(&attempt))).await), (400, "max_events"));
}

/// Distances of the nodes of a graph.
async fn walked(runtime: &Runtime, artifact: &Value, query: &str) -> Vec<(Value, i64)> {
    let graph = runtime.get(&format!("lineage/{}/{query}", id(artifact))).await.expect(200);
    let nodes = graph["nodes"].as_array().unwrap();
    nodes.iter().map(|node| (node["id"].clone(), node["distance"].as_i64().unwrap())).collect()
}

#[tokio::test]
async fn lineage_leads_to_what_an_artifact_was_made_of_and_what_was_made_of_it() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let a = runtime.artifact(&attempt, 'a', json!({})).await;
    let b = runtime.artifact(&attempt, 'b', json!({"depends_on": [id(&a)]})).await;
    let c = runtime.artifact(&attempt, 'c', json!({"depends_on": [id(&b), id(&a)]})).await;
    let node = |artifact: &Value, distance| (artifact["id"].clone(), distance);
    let above = walked(&runtime, &c, "upstream").await;
    assert_eq!((&above[0], above.len()), (&node(&c, 0), 3));
    assert!(above.contains(&node(&a, 1)) && above.contains(&node(&b, 1)), "{above:?}");
    assert_eq!(walked(&runtime, &b, "upstream").await, [node(&b, 0), node(&a, 1)]);
    assert_eq!(walked(&runtime, &b, "downstream?depth=1").await, [node(&b, 0), node(&c, 1)]);
    assert_eq!(walked(&runtime, &c, "downstream").await, [node(&c, 0)]);
    let graph = runtime.get(&format!("lineage/{}/upstream", id(&c))).await.expect(200);
    let edge = |from: &Value, to: &Value| json!({"from": from["id"], "to": to["id"]});
    let edges = graph["edges"].as_array().unwrap();
    assert!([edge(&c, &b), edge(&c, &a), edge(&b, &a)].iter().all(|wanted| edges.contains(wanted)), "{graph}");
    for depth in ["0", "51"] {
        let answer = runtime.get(&format!("lineage/{}/upstream?depth={depth}", id(&c))).await;
        assert_eq!(field(&answer), (400, "depth"));
    }
}
