use serde_json::{Value, json};

use crate::domain::runtime::tests::{Runtime, field, id, reason};
use crate::testing::Answer;

/// The longest pause there is, and a fifth.
const LONG: i64 = 361;

/// The task is tried once more, and fails for this reason.
async fn fail(runtime: &Runtime, task: &Value, kind: &str) -> Value {
    runtime.pass(LONG).await;
    let attempt = runtime.running(task).await;
    runtime.fails(&attempt, kind).await
}

async fn act(runtime: &Runtime, attempt: &Value, body: Value) -> Answer {
    runtime.said_by(&runtime.owner, &format!("recovery/{}", id(attempt)), body).await
}

/// Levels of what was done about a task, from the first.
async fn levels(runtime: &Runtime, task: &Value) -> Vec<String> {
    let detail = runtime.get(&format!("runtime/tasks/{}/detail", id(task))).await.expect(200);
    let rows = detail["recovery_actions"].as_array().unwrap();
    rows.iter().map(|row| row["level"].as_str().unwrap_or("none").to_owned()).collect()
}

fn stubborn() -> Value {
    json!({"max_retries": 10, "metadata": {"recovery": {"escalation_model": "big", "hold_on_l4": true}}})
}

#[tokio::test]
async fn what_fails_is_tried_again_then_with_a_stronger_model_then_repaired_then_a_person_is_asked() {
    let runtime = Runtime::start().await;
    let task = runtime.task(stubborn()).await;
    for level in ["L1", "L1", "L2"] {
        let done = fail(&runtime, &task, "provider_error").await;
        assert_eq!((&done["task_status"], &done["next_attempt_hint"]["level"]), (&json!("pending"), &json!(level)));
        assert_eq!(done["next_attempt_hint"]["recovers_attempt_id"], done["id"]);
    }
    runtime.pass(LONG).await;
    let stronger = runtime.running(&task).await;
    assert_eq!((&stronger["recovery_level"], &stronger["model_hint"]), (&json!("L2"), &json!("big")));
    let artifact = runtime.artifact(&stronger, 'a', json!({})).await;
    let done = runtime.fails(&stronger, "validation_failed").await;
    assert_eq!(
        (&done["next_attempt_hint"]["level"], &done["next_attempt_hint"]["repair_of"]),
        (&json!("L3"), &artifact["id"])
    );
    runtime.pass(LONG).await;
    let claim = format!("runtime/tasks/{}/claim", id(&task));
    assert_eq!(reason(&runtime.post(&claim, Value::Null).await), (409, "awaiting_repair"));
    let next = runtime.post("runtime/tasks/claim-next", json!({"agent_id": "a1"})).await.expect(200);
    let repair = &next["task"];
    assert_eq!((&repair["kind"], &repair["repairs"]), (&json!("repair:build"), &task["id"]));
    assert_eq!(repair["metadata"]["repair"]["artifact_id"], artifact["id"]);
    runtime.say(&next, "complete", json!({"outcome": "succeeded"})).await.expect(200);
    let last = runtime.running(&task).await;
    assert_eq!(last["recovery_level"], "L3");
    let done = runtime.fails(&last, "timeout").await;
    assert_eq!(done["task_status"], "pending", "it is held for the person");
    assert_eq!(levels(&runtime, &task).await, ["L1", "L1", "L2", "L3", "L4"]);
    assert_eq!(reason(&runtime.post(&claim, Value::Null).await), (409, "blocked"));
    let reviews = runtime.get(&format!("reviews?task_id={}", id(&task))).await.expect(200);
    let review = &reviews["data"][0];
    assert_eq!((&review["entity_type"], &review["entity_id"]), (&json!("recovery"), &last["id"]));
    assert_eq!((&review["assigned_to"], &review["urgency"]), (&json!("pm"), &json!("high")));
    assert_eq!(review["evidence_bundle"]["attempt"]["id"], last["id"]);
}

#[tokio::test]
async fn a_task_without_retries_fails_and_a_person_hears_of_it() {
    let runtime = Runtime::start().await;
    runtime.notices(&["recovery.human_needed"]).await;
    let task = runtime.task(json!({"max_retries": 0})).await;
    let done = fail(&runtime, &task, "timeout").await;
    assert_eq!((&done["task_status"], &done["next_attempt_hint"]), (&json!("failed"), &Value::Null));
    assert_eq!(levels(&runtime, &task).await, ["L4"]);
    assert_eq!(runtime.notified().await, [("recovery.human_needed".to_owned(), json!(["pm", "admin"]))]);
    let attempt = json!({"id": done["id"]});
    assert_eq!(reason(&act(&runtime, &attempt, json!({"action": "retry"})).await), (409, "task_terminal"));
    let told = runtime.told(&task).await;
    assert!(told.iter().any(|(_, kind, _)| kind == "recovery_initiated"), "{told:?}");
}

#[tokio::test]
async fn what_cannot_go_better_blocks_the_task_and_costs_no_retry() {
    let runtime = Runtime::start().await;
    for kind in ["dependency_missing", "policy_denied", "budget_exceeded"] {
        let task = runtime.task(json!({"max_retries": 1})).await;
        let attempt = json!({"id": fail(&runtime, &task, kind).await["id"]});
        let after = runtime.read_task(&task).await;
        assert_eq!((&after["status"], &after["retry_count"]), (&json!("pending"), &json!(0)), "{kind}");
        assert_eq!(after["blocked_reason"], "no luck");
        let wish = json!({"agent_id": "a1"});
        assert_eq!(runtime.post("runtime/tasks/claim-next", wish.clone()).await.status, 204, "{kind}");
        let done = act(&runtime, &attempt, json!({"action": "retry"})).await.expect(200);
        assert_eq!((&done["recovery"]["level"], &done["task"]["blocked_reason"]), (&json!("L1"), &Value::Null));
        let next = runtime.post("runtime/tasks/claim-next", wish).await.expect(200);
        runtime.say(&next, "complete", json!({"outcome": "succeeded"})).await.expect(200);
        assert_eq!(levels(&runtime, &task).await, ["blocked", "L1"]);
    }
}

#[tokio::test]
async fn a_failure_kind_that_was_not_said_is_concluded() {
    let runtime = Runtime::start().await;
    for (said, calls, expected) in
        [("HTTP 429", false, "rate_limited"), ("it rained", false, "other"), ("it rained", true, "provider_error")]
    {
        let attempt = runtime.running(&runtime.task(json!({})).await).await;
        if calls {
            let choice = json!({"attempt_id": id(&attempt), "model_id": "m1"});
            let decision = runtime.post("runtime/decisions", choice).await.expect(200);
            let report = json!({"decision_id": id(&decision), "model_id": "m1", "input_tokens": 1, "output_tokens": 0,
                "cost_usd": 0, "latency_ms": 1, "error": "cut off"});
            runtime.post("runtime/invocations", report).await.expect(200);
        }
        let body = json!({"outcome": "failed", "failure_reason": said});
        let done = runtime.say(&attempt, "complete", body.clone()).await.expect(200);
        assert_eq!(done["failure_kind"], expected, "{said}");
        assert_eq!(runtime.say(&attempt, "complete", body).await.expect(200), done, "said again");
    }
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let artifact = runtime.artifact(&attempt, 'a', json!({})).await;
    let path = format!("runtime/artifacts/{}/validations", id(&artifact));
    runtime.post(&path, json!({"validator_kind": "tests", "result": "fail"})).await.expect(200);
    let body = json!({"outcome": "failed", "failure_reason": "it rained"});
    assert_eq!(runtime.say(&attempt, "complete", body).await.expect(200)["failure_kind"], "validation_failed");
    let derived = "select count(*) from svc_runtime.recovery_actions where derived";
    assert_eq!(runtime.count(derived).await, 4);
}

#[tokio::test]
async fn the_stronger_model_is_the_next_of_the_decisions_chain() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let choice = json!({"attempt_id": id(&attempt), "model_id": "small", "context": {"fallback_chain": ["tiny", "small", "large"]}});
    runtime.post("runtime/decisions", choice).await.expect(200);
    let done = runtime.fails(&attempt, "model_error").await;
    assert_eq!(done["next_attempt_hint"]["model_id"], "large");
}

#[tokio::test]
async fn a_repair_that_comes_to_nothing_brings_a_person() {
    let runtime = Runtime::start().await;
    for hold in [true, false] {
        let task = runtime.task(json!({"metadata": {"recovery": {"hold_on_l4": hold}}})).await;
        fail(&runtime, &task, "contract_violation").await;
        let repair = runtime.read_task(&task).await["awaits_repair"].clone();
        let cancel = format!("runtime/tasks/{}/cancel", repair.as_str().unwrap());
        runtime.post(&cancel, Value::Null).await.expect(200);
        runtime.sweep().await;
        let after = runtime.read_task(&task).await;
        let status = if hold { "pending" } else { "failed" };
        assert_eq!((&after["status"], &after["blocked_reason"].is_string()), (&json!(status), &hold));
        assert_eq!(levels(&runtime, &task).await, ["L3", "L4"]);
        runtime.sweep().await;
        assert_eq!(levels(&runtime, &task).await.len(), 2, "once");
    }
}

#[tokio::test]
async fn a_task_that_waits_for_a_person_resumes_when_they_approve_and_stays_blocked_when_they_do_not() {
    let runtime = Runtime::start().await;
    let held = json!({"max_retries": 0, "metadata": {"recovery": {"hold_on_l4": true}}});
    for (what, body, resumes) in [("approve", Value::Null, true), ("reject", json!({"reason": "no"}), false)] {
        let task = runtime.task(held.clone()).await;
        fail(&runtime, &task, "timeout").await;
        let reviews = runtime.get(&format!("reviews?task_id={}", id(&task))).await.expect(200);
        let path = format!("reviews/{}/{what}", id(&reviews["data"][0]));
        runtime.said_by(&runtime.owner, &path, body).await.expect(200);
        let claim = runtime.post(&format!("runtime/tasks/{}/claim", id(&task)), Value::Null).await;
        if resumes {
            assert_eq!(claim.expect(200)["recovery_level"], "L1");
            assert_eq!(levels(&runtime, &task).await, ["L4", "L1"]);
        } else {
            assert_eq!(reason(&claim), (409, "blocked"));
        }
    }
}

#[tokio::test]
async fn a_person_does_what_the_rules_would() {
    let runtime = Runtime::start().await;
    for (body, level) in [
        (json!({"action": "retry"}), "L1"),
        (json!({"action": "retry_with_model", "model_id": "large"}), "L2"),
        (json!({"action": "repair"}), "L3"),
        (json!({"action": "escalate", "assigned_to": "admin"}), "L4"),
        (json!({"action": "block", "override_reason": "wait for the client"}), "blocked"),
    ] {
        let task = runtime.task(json!({})).await;
        let failed = fail(&runtime, &task, "timeout").await;
        let done = act(&runtime, &failed, body.clone()).await.expect(200);
        assert_eq!((&done["recovery"]["level"], &done["recovery"]["action_type"]), (&json!(level), &body["action"]));
        assert_eq!((&done["task"]["status"], &done["attempt"]["id"]), (&json!("pending"), &failed["id"]));
        assert_eq!(done["review"].is_object(), level == "L4", "{body}");
        assert!(done["recovery"]["executed_by"].as_str().unwrap().starts_with("user:"), "{body}");
        let claim = runtime.post(&format!("runtime/tasks/{}/claim", id(&task)), Value::Null).await;
        match level {
            "L1" => assert_eq!(claim.expect(200)["recovery_level"], "L1"),
            "L2" => assert_eq!(claim.expect(200)["model_hint"], "large"),
            "L3" => assert_eq!(reason(&claim), (409, "awaiting_repair")),
            _ => assert_eq!(reason(&claim), (409, "blocked")),
        }
    }
}

#[tokio::test]
async fn a_person_accepts_what_there_is() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let failed = fail(&runtime, &task, "timeout").await;
    let body = json!({"action": "approve", "override_reason": "good enough"});
    assert_eq!(reason(&act(&runtime, &failed, body.clone()).await), (409, "no_artifact"));
    runtime.pass(LONG).await;
    let attempt = runtime.running(&task).await;
    let artifact = runtime.artifact(&attempt, 'a', json!({})).await;
    runtime.fails(&attempt, "timeout").await;
    let done = act(&runtime, &attempt, body.clone()).await.expect(200);
    assert_eq!(done["task"]["status"], "completed");
    let releases = runtime.get(&format!("releases?artifact_id={}", id(&artifact))).await.expect(200);
    let release = &releases["data"][0];
    assert_eq!((&release["outcome"], &release["override_reason"]), (&json!("approved"), &json!("good enough")));
    assert_eq!(reason(&act(&runtime, &attempt, body).await), (409, "task_terminal"));
}

#[tokio::test]
async fn what_runs_can_only_be_blocked_or_escalated() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    for body in [
        json!({"action": "retry"}),
        json!({"action": "retry_with_model", "model_id": "m"}),
        json!({"action": "repair"}),
        json!({"action": "approve", "override_reason": "x"}),
    ] {
        assert_eq!(reason(&act(&runtime, &attempt, body.clone()).await), (409, "attempt_active"), "{body}");
    }
    let beat = async || runtime.say(&attempt, "heartbeat", json!({})).await.expect(200);
    assert_eq!(beat().await["cancel_requested"], false);
    let escalated = act(&runtime, &attempt, json!({"action": "escalate"})).await.expect(200);
    assert_eq!((&escalated["task"]["status"], &escalated["task"]["blocked_reason"]), (&json!("active"), &Value::Null));
    let body = json!({"action": "block", "override_reason": "too dear"});
    let blocked = act(&runtime, &attempt, body).await.expect(200);
    assert_eq!(
        (&blocked["attempt"]["cancel_requested"], &blocked["attempt"]["status"]),
        (&json!(true), &json!("running"))
    );
    assert_eq!(beat().await["cancel_requested"], true);
    runtime.fails(&attempt, "tool_error").await;
    runtime.pass(LONG).await;
    let claim = runtime.post(&format!("runtime/tasks/{}/claim", id(&task)), Value::Null).await;
    assert_eq!(reason(&claim), (409, "blocked"), "it stays blocked");
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_no_key_of_nobody_decides() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let failed = fail(&runtime, &task, "timeout").await;
    for (body, name) in [
        (json!({}), "action"),
        (json!({"action": "pray"}), "action"),
        (json!({"action": "approve"}), "override_reason"),
        (json!({"action": "block"}), "override_reason"),
        (json!({"action": "retry_with_model"}), "model_id"),
        (json!({"action": "retry", "model_id": "m"}), "model_id"),
        (json!({"action": "escalate", "assigned_to": "boss"}), "assigned_to"),
    ] {
        assert_eq!(field(&act(&runtime, &failed, body.clone()).await), (400, name), "{body}");
    }
    let path = format!("recovery/{}", id(&failed));
    assert_eq!(reason(&runtime.post(&path, json!({"action": "retry"})).await), (403, "person_required"));
}

#[tokio::test]
async fn what_an_agent_has_done_by_itself_is_recorded_and_changes_nothing() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    let body = json!({"attempt_id": id(&attempt), "failure_kind": "tool_error", "action_type": "retry",
        "state_before": {"step": 3}, "state_after": {"step": 1}, "trigger_event": "tool.failed"});
    let recovery = runtime.post("recovery", body).await.expect(200);
    assert_eq!((&recovery["status"], &recovery["level"]), (&json!("recorded"), &Value::Null));
    assert_eq!((&recovery["task_attempt_id"], &recovery["state_before"]), (&attempt["id"], &json!({"step": 3})));
    assert_eq!(runtime.read_task(&task).await["status"], "active");
    assert_eq!(levels(&runtime, &task).await, ["none"]);
    for (body, name) in [
        (json!({"failure_kind": "timeout", "action_type": "retry"}), "attempt_id"),
        (json!({"attempt_id": id(&attempt), "failure_kind": "bad_luck", "action_type": "retry"}), "failure_kind"),
        (json!({"attempt_id": id(&attempt), "failure_kind": "timeout", "action_type": "pray"}), "action_type"),
        (
            json!({"attempt_id": id(&attempt), "failure_kind": "timeout", "action_type": "retry", "status": "initiated"}),
            "status",
        ),
    ] {
        assert_eq!(field(&runtime.post("recovery", body.clone()).await), (400, name), "{body}");
    }
    assert!(sqlx::query("delete from svc_runtime.recovery_actions").execute(runtime.app.app.pool()).await.is_err());
}
