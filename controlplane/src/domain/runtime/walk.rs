//! Every endpoint that the specification's tables have for the governed runtime, called with what they print and
//! answered with the fields that they print.

use std::collections::BTreeSet;

use axum::http::Method;
use chrono::Duration;
use serde_json::{Value, json};

use super::tests::{Runtime, id};

const ROUTES: &str = "../tests/golden/spec_routes.txt";

const TASK: &str =
    "id org_id kind status project_id work_item_key max_retries metadata latest_attempt created_at updated_at";
const ATTEMPT: &str = "id agent_id status retry_count max_retries";
const LEASE: &str = "lease_token lease_expires_at";
const DECISION: &str = "id attempt_id model_id routing_reason confidence fallback_used cost_estimate";
const INVOCATION: &str = "id decision_id model_id input_tokens output_tokens cost_usd latency_ms";
const ARTIFACT: &str = "id attempt_id kind content_hash confidence artifact_key validation_status branch_id";
const EVENT: &str = "id attempt_id kind sequence_num payload";
const REVIEW: &str = "id entity_type entity_id project_id reason urgency assigned_to status created_at reviewed_at \
    reviewer_notes";
const RECOVERY: &str = "failure_kind action_type status created_at task_attempt_id";
const FRESHNESS: &str = "computed_at staleness_ms within_slo";

struct Walk {
    runtime: Runtime,
    walked: BTreeSet<String>,
}

impl Walk {
    /// One line of the tables with its placeholders filled in order: a worker's call, or for what people decide the
    /// owner's.
    async fn step(&mut self, line: &str, ids: &[&str], query: &str, body: Value, fields: &str) -> Value {
        self.walked.insert(line.to_owned());
        let (method, template) = line.split_once(' ').unwrap();
        let mut ids = ids.iter();
        let part = |part: &str| if part.starts_with(':') { (*ids.next().unwrap()).to_owned() } else { part.to_owned() };
        let path = template.split('/').map(part).collect::<Vec<_>>().join("/");
        let by_people = ["/v2/reviews", "/v2/releases", "/v2/recovery"].iter().any(|head| path.starts_with(head));
        let who = if by_people { &self.runtime.owner } else { &self.runtime.worker };
        let method: Method = method.parse().unwrap();
        let answer = self.runtime.app.call(method, &format!("{path}{query}"), who, body).await.expect(200);
        has(&answer, fields, line);
        answer
    }

    /// The same of a list, whose items have the fields.
    async fn list(&mut self, line: &str, query: &str, fields: &str) -> Value {
        let listed = self.step(line, &[], query, Value::Null, "data pagination").await;
        has(&listed["pagination"], "cursor has_more total", line);
        has(&listed["data"][0], fields, line);
        listed["data"][0].clone()
    }
}

/// Null is there, too.
fn has(answer: &Value, fields: &str, line: &str) {
    let missing: Vec<_> = fields.split_whitespace().filter(|field| answer.get(*field).is_none()).collect();
    assert!(missing.is_empty(), "{line}: no {missing:?} in {answer}");
}

/// `METHOD /path` of each line.
fn specified() -> BTreeSet<String> {
    let routes = std::fs::read_to_string(ROUTES).unwrap();
    let lines = routes.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?))
    });
    let ours = lines.filter(|(_, path)| path.starts_with("/v2/"));
    ours.map(|(method, path)| format!("{method} {path}")).collect()
}

#[tokio::test]
async fn every_endpoint_of_the_tables_answers_with_their_fields() {
    let mut walk = Walk { runtime: Runtime::start().await, walked: BTreeSet::new() };
    let attempt = tasks(&mut walk).await;
    let artifact = work(&mut walk, &attempt).await;
    reviews(&mut walk, &artifact).await;
    ends(&mut walk, &attempt).await;
    views(&mut walk).await;
    assert_eq!(walk.walked, specified());
}

/// Up to an attempt that runs.
async fn tasks(walk: &mut Walk) -> Value {
    let body =
        json!({"kind": "build", "project_id": "p1", "work_item_key": "k", "max_retries": 2, "metadata": {"a": 1}});
    let task = walk.step("POST /v2/runtime/tasks", &[], "", body.clone(), TASK).await;
    assert_eq!((&task["latest_attempt"], &task["status"]), (&Value::Null, &json!("pending")));
    assert_eq!(walk.runtime.post("runtime/tasks", body).await.expect(200)["id"], task["id"], "rule 1");
    walk.list("GET /v2/runtime/tasks", "?status=pending&project_id=p1&limit=50&offset=0", TASK).await;
    let created = "POST /v2/runtime/tasks/:task_id/attempts";
    let attempt = walk.step(created, &[id(&task)], "", json!({"agent_id": "a1"}), &format!("{ATTEMPT} {LEASE}")).await;
    assert_eq!(walk.runtime.count("select count(*) from agents where agent_id = 'a1'").await, 1, "rule 2");
    let second = walk.runtime.post(&format!("runtime/tasks/{}/attempts", id(&task)), json!({})).await;
    assert_eq!(second.status, 409, "rule 6");
    let token = json!({"lease_token": attempt["lease_token"]});
    let claim = json!({"lease_token": attempt["lease_token"], "agent_id": "a1"});
    let claimed = walk
        .step("PUT /v2/runtime/attempts/:attempt_id/claim", &[id(&attempt)], "", claim, &format!("{ATTEMPT} {LEASE}"))
        .await;
    assert_eq!(claimed["status"], "running");
    let beat = walk.step("PUT /v2/runtime/attempts/:attempt_id/heartbeat", &[id(&attempt)], "", token, LEASE).await;
    assert_eq!(beat["heartbeat_interval_secs"], 60, "rule 3");
    let read = walk.step("GET /v2/runtime/tasks/:task_id", &[id(&task)], "", Value::Null, TASK).await;
    assert_eq!((&read["status"], &read["latest_attempt"]["id"]), (&json!("active"), &attempt["id"]));
    walk.step("GET /v2/runtime/attempts/:id", &[id(&attempt)], "", Value::Null, ATTEMPT).await;
    claimed
}

/// What an attempt leaves behind; its artifact.
async fn work(walk: &mut Walk, attempt: &Value) -> Value {
    let body = json!({"attempt_id": id(attempt), "model_id": "m1", "routing_reason": "cheap", "confidence": 0.9,
        "fallback_used": false, "cost_estimate": 0.01});
    let decision = walk.step("POST /v2/runtime/decisions", &[], "", body, DECISION).await;
    let body = json!({"decision_id": id(&decision), "model_id": "m1", "input_tokens": 10, "output_tokens": 5,
        "cost_usd": 0.01, "latency_ms": 20});
    walk.step("POST /v2/runtime/invocations", &[], "", body, INVOCATION).await;
    let hash = format!("sha256:{}", "a".repeat(64));
    let body = json!({"attempt_id": id(attempt), "kind": "report", "content_hash": hash, "confidence": 0.9,
        "artifact_key": "report", "branch_id": "b1"});
    let artifact = walk.step("POST /v2/runtime/artifacts", &[], "", body, ARTIFACT).await;
    let said = json!({"validator_kind": "lint", "result": "pass"});
    let path = "POST /v2/runtime/artifacts/:artifact_id/validations";
    walk.step(path, &[id(&artifact)], "", said, "id artifact_id validator_kind result").await;
    let path = "POST /v2/runtime/artifacts/:artifact_id/promote";
    let promoted = walk.step(path, &[id(&artifact)], "", json!({}), ARTIFACT).await;
    assert_eq!((&promoted["branch_id"], &promoted["validation_status"]), (&Value::Null, &json!("pass")), "rule 4");
    for kept in ["id", "confidence", "content_hash", "artifact_key"] {
        assert_eq!(promoted[kept], artifact[kept], "rule 4: {kept}");
    }
    let again = walk.step(path, &[id(&artifact)], "", json!({}), ARTIFACT).await;
    assert_eq!(again, promoted, "rule 4");
    let by_task = format!("?task_id={}&kind=report&limit=100", attempt["task_id"].as_str().unwrap());
    walk.list("GET /v2/runtime/artifacts", &by_task, ARTIFACT).await;
    let body = json!({"attempt_id": id(attempt), "kind": "attempt_lifecycle", "payload": {"action": "started"}});
    let event = walk.step("POST /v2/runtime/events", &[], "", body, EVENT).await;
    let by_task = format!("?task_id={}&limit=100", attempt["task_id"].as_str().unwrap());
    walk.list("GET /v2/runtime/events", &by_task, EVENT).await;
    let of_attempt = format!(
        "select count(*) from svc_runtime.workflow_events where attempt_id = '{}' and sequence_num <= {}",
        id(attempt),
        event["sequence_num"]
    );
    assert_eq!(walk.runtime.count(&of_attempt).await, event["sequence_num"].as_i64().unwrap(), "rule 5");
    let bundle =
        walk.step("GET /v2/explain/:attempt_id", &[id(attempt)], "", Value::Null, "recovery_actions reviews").await;
    assert!(bundle.to_string().contains(id(&decision)), "{bundle}");
    artifact
}

async fn reviews(walk: &mut Walk, artifact: &Value) {
    let later = (walk.runtime.app.app.now() + Duration::hours(4)).to_rfc3339();
    for (line, body, status) in [
        ("POST /v2/reviews/:id/approve", json!({"notes": "fine"}), "approved"),
        ("POST /v2/reviews/:id/reject", json!({"reason": "not fine"}), "rejected"),
        ("POST /v2/reviews/:id/defer", json!({"until": later}), "deferred"),
        ("PUT /v2/reviews/:review_id/resolve", json!({"outcome": "rejected", "resolution_reason": "no"}), "rejected"),
    ] {
        let wanted = json!({"entity_type": "artifact", "entity_id": id(artifact), "project_id": "p1", "reason": "look",
            "urgency": "high", "assigned_to": "pm"});
        let review = walk.step("POST /v2/reviews", &[], "", wanted, REVIEW).await;
        assert_eq!((&review["status"], &review["reviewed_at"]), (&json!("pending"), &Value::Null));
        let listed = walk.list("GET /v2/reviews", "?status=pending&urgency=high&assigned_to=pm&limit=50", REVIEW).await;
        assert_eq!(listed["id"], review["id"]);
        walk.step("GET /v2/reviews/:id", &[id(&review)], "", Value::Null, &format!("{REVIEW} context")).await;
        let moved = walk.step(line, &[id(&review)], "", body, REVIEW).await;
        assert_eq!(moved["status"], status, "{line}");
    }
    let body = json!({"artifact_id": id(artifact), "outcome": "approved"});
    walk.step("POST /v2/releases", &[], "", body, "id artifact_id outcome decided_by").await;
}

/// A failure, what is done about it, and the end of the task.
async fn ends(walk: &mut Walk, attempt: &Value) {
    let task_id = attempt["task_id"].as_str().unwrap().to_owned();
    let body = json!({"lease_token": attempt["lease_token"], "outcome": "failed", "failure_reason": "slow"});
    let done = walk.step("PUT /v2/runtime/attempts/:attempt_id/complete", &[id(attempt)], "", body, ATTEMPT).await;
    assert_eq!((&done["status"], &done["failure_reason"]), (&json!("failed"), &json!("slow")));
    let body = json!({"attempt_id": id(attempt), "failure_kind": "timeout", "action_type": "retry"});
    walk.step("POST /v2/recovery", &[], "", body, RECOVERY).await;
    let body = json!({"action": "retry", "override_reason": "again"});
    let path = "POST /v2/recovery/:attempt_id";
    let recovery = walk.step(path, &[id(attempt)], "", body, "recovery task").await;
    has(&recovery["recovery"], RECOVERY, path);
    let claim = "POST /v2/runtime/tasks/:id/claim";
    let second = walk.step(claim, &[&task_id], "", json!({"agent_id": "a1"}), &format!("{ATTEMPT} {LEASE}")).await;
    let body = json!({"lease_token": second["lease_token"], "failure_reason": "slower"});
    walk.step("POST /v2/runtime/attempts/:id/fail", &[id(&second)], "", body, ATTEMPT).await;
    let cancel = "POST /v2/runtime/tasks/:task_id/cancel";
    let cancelled = walk.step(cancel, &[&task_id], "", json!({"reason": "enough"}), TASK).await;
    assert_eq!(cancelled["status"], "cancelled");
    let again = walk.runtime.post(&format!("runtime/tasks/{task_id}/cancel"), json!({"reason": "enough"})).await;
    assert_eq!(again.status, 409);
    let arrays = "attempts decisions invocations artifacts events reviews";
    let path = "GET /v2/runtime/tasks/:task_id/detail";
    let detail = walk.step(path, &[&task_id], "", Value::Null, &format!("{TASK} {arrays}")).await;
    for array in arrays.split_whitespace() {
        assert!(detail[array].as_array().is_some_and(|found| !found.is_empty()), "{array}: {detail}");
    }
}

async fn views(walk: &mut Walk) {
    let model = "model_id sample_size success_rate avg_confidence avg_cost_usd avg_latency_ms total_cost_usd \
        override_rate p50_latency_ms p99_latency_ms";
    let path = "GET /v2/routing/signals";
    let signals = walk.step(path, &[], "?window_days=7", Value::Null, "window_days models freshness").await;
    has(&signals["models"][0], model, path);
    has(&signals["freshness"], FRESHNESS, path);
    for (line, fields) in [
        (
            "GET /v2/runtime/views/active-attempts",
            "total_running total_pending total_blocked oldest_attempt_age_secs lease_expiry_warnings freshness",
        ),
        ("GET /v2/runtime/views/invocation-costs", "total_cost_usd total_invocations total_tokens by_model freshness"),
        (
            "GET /v2/runtime/views/confidence-distribution",
            "low_confidence medium_confidence high_confidence p50 p90 p99 freshness",
        ),
        ("GET /v2/runtime/views/recovery-actions", "total by_kind recent freshness"),
    ] {
        let view = walk.step(line, &[], "", Value::Null, fields).await;
        has(&view["freshness"], FRESHNESS, line);
    }
}
