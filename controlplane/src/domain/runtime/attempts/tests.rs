use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::AttemptStatus;
use crate::domain::runtime::tests::{Runtime, field, id, reason};
use crate::server::jobs;

#[tokio::test]
async fn an_attempt_is_claimed_kept_and_completed_by_its_token() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.attempt(&task).await;
    assert_eq!((&attempt["status"], &attempt["attempt_number"]), (&json!("pending"), &json!(1)));
    assert_eq!((&attempt["lease_ttl_secs"], &attempt["heartbeat_interval_secs"]), (&json!(180), &json!(60)));
    let claimed = runtime.say(&attempt, "claim", json!({"agent_id": "a1"})).await.expect(200);
    assert_eq!((&claimed["status"], &claimed["lease_token"]), (&json!("running"), &attempt["lease_token"]));
    assert_eq!(runtime.read_task(&task).await["status"], "active");
    runtime.pass(100).await;
    let beaten = runtime.say(&attempt, "heartbeat", json!({"progress": {"percent": 40}})).await.expect(200);
    assert!(beaten["lease_expires_at"].as_str() > claimed["lease_expires_at"].as_str(), "{beaten}");
    runtime.pass(100).await;
    let done = runtime.say(&attempt, "complete", json!({"outcome": "succeeded", "result": {"n": 1}})).await.expect(200);
    assert_eq!((&done["status"], &done["task_status"]), (&json!("succeeded"), &json!("completed")));
    let read = runtime.get(&format!("runtime/attempts/{}", id(&attempt))).await.expect(200);
    assert_eq!(
        (&read["result"], &read["progress"], read.get("lease_token")),
        (&json!({"n": 1}), &json!({"percent": 40}), None)
    );
    let told: Vec<_> = runtime.told(&task).await.into_iter().map(|(_, _, action)| action).collect();
    assert_eq!(told, ["created", "created", "started", "active", "succeeded", "completed"]);
}

#[tokio::test]
async fn a_task_has_one_active_attempt_whoever_asks_at_once() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let path = format!("runtime/tasks/{}/claim", id(&task));
    let answers = futures::future::join_all((0..16).map(|_| runtime.post(&path, Value::Null))).await;
    let won = answers.iter().filter(|answer| answer.status == 200).count();
    let refused = answers.iter().filter(|answer| reason(answer) == (409, "active_attempt_exists")).count();
    assert_eq!((won, refused), (1, 15));
    let refusal = answers.iter().find(|answer| answer.status == 409).unwrap();
    let winner = answers.iter().find(|answer| answer.status == 200).unwrap();
    assert_eq!(refusal.body["error"]["details"]["attempt_id"], winner.body["id"]);
}

#[tokio::test]
async fn a_claim_said_again_is_answered_the_same() {
    let runtime = Runtime::start().await;
    let attempt = runtime.attempt(&runtime.task(json!({})).await).await;
    let first = runtime.say(&attempt, "claim", json!({})).await.expect(200);
    runtime.pass(10).await;
    assert_eq!(runtime.say(&attempt, "claim", json!({"agent_id": "a1"})).await.expect(200), first);
    assert_eq!(reason(&runtime.say(&attempt, "claim", json!({"agent_id": "a2"})).await), (409, "agent_mismatch"));
    runtime.pass(180).await;
    assert_eq!(reason(&runtime.say(&attempt, "claim", json!({})).await), (409, "lease_expired"));
}

#[tokio::test]
async fn a_completion_said_again_within_a_day_is_answered_the_same_and_otherwise_refused() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let body = json!({"outcome": "failed", "failure_reason": "the build broke", "failure_kind": "tool_error"});
    let first = runtime.say(&attempt, "complete", body.clone()).await.expect(200);
    assert_eq!((&first["task_status"], &first["failure_kind"]), (&json!("pending"), &json!("tool_error")));
    runtime.pass(23 * 3_600).await;
    assert_eq!(runtime.say(&attempt, "complete", body.clone()).await.expect(200), first);
    let path = format!("runtime/attempts/{}/fail", id(&attempt));
    let short = json!({"lease_token": attempt["lease_token"], "failure_reason": "the build broke", "failure_kind": "tool_error"});
    assert_eq!(runtime.post(&path, short).await.expect(200), first);
    for other in [json!({"outcome": "succeeded"}), json!({"outcome": "failed", "failure_reason": "it rained"})] {
        assert_eq!(reason(&runtime.say(&attempt, "complete", other).await), (409, "already_completed"));
    }
    runtime.pass(2 * 3_600).await;
    assert_eq!(reason(&runtime.say(&attempt, "complete", body).await), (409, "already_completed"));
    assert_eq!(
        runtime.count("select count(*) from svc_runtime.workflow_events where payload ->> 'action' = 'failed'").await,
        1
    );
}

#[tokio::test]
async fn another_token_is_refused_and_told_nothing() {
    let runtime = Runtime::start().await;
    let mut attempt = runtime.running(&runtime.task(json!({})).await).await;
    attempt["lease_token"] = json!("6f1f1b0e-3d55-4c4c-9d3b-8a0a4a3d7a11");
    for (what, fields) in
        [("claim", json!({})), ("heartbeat", json!({})), ("complete", json!({"outcome": "succeeded"}))]
    {
        let answer = runtime.say(&attempt, what, fields).await;
        assert_eq!(reason(&answer), (409, "lease_token_mismatch"), "{what}");
        assert_eq!(answer.body["error"]["details"].as_object().unwrap().get("status"), None);
    }
}

#[tokio::test]
async fn only_its_holder_writes_for_an_attempt_without_the_token() {
    let runtime = Runtime::start().await;
    let (holder, other) = (runtime.member("developer", json!({})).await, runtime.member("developer", json!({})).await);
    let claim = format!("runtime/tasks/{}/claim", id(&runtime.task(json!({})).await));
    let attempt = runtime.said_by(&holder, &claim, json!({})).await.expect(200);
    let content_hash = format!("sha256:{}", "a".repeat(64));
    for (path, mut body) in [
        ("runtime/artifacts", json!({"kind": "report", "content_hash": content_hash, "confidence": 0.9})),
        ("runtime/events", json!({"kind": "step"})),
        ("runtime/decisions", json!({"model_id": "m"})),
    ] {
        body["attempt_id"] = attempt["id"].clone();
        let answer = runtime.said_by(&other, path, body.clone()).await;
        assert_eq!(reason(&answer), (409, "lease_token_required"), "{path}");
        assert_eq!(answer.body["error"]["details"].as_object().unwrap().get("status"), None);
        runtime.said_by(&holder, path, body.clone()).await.expect(200);
        body["lease_token"] = attempt["lease_token"].clone();
        runtime.said_by(&other, path, body).await.expect(200);
    }
}

#[tokio::test]
async fn a_key_of_one_agent_works_as_no_other() {
    let runtime = Runtime::start().await;
    let made = runtime.create_key(json!({"name": "bound", "scopes": ["agent:*"], "agent_id": "bot"})).await;
    let bound = format!("ApiKey {}", made["key"].as_str().unwrap());
    let task = runtime.task(json!({})).await;
    let of_task = |what: &str| format!("runtime/tasks/{}/{what}", id(&task));
    for path in [of_task("attempts"), of_task("claim"), "runtime/tasks/claim-next".to_owned()] {
        let answer = runtime.said_by(&bound, &path, json!({"agent_id": "agX"})).await;
        assert_eq!(answer.code(), (403, "POLICY_DENIED"), "{path}");
    }
    assert_eq!(runtime.count("select count(*) from agents where agent_id = 'agX'").await, 0);

    let theirs = runtime.attempt(&task).await;
    let token = &theirs["lease_token"];
    let claim = format!("/v2/runtime/attempts/{}/claim", id(&theirs));
    let posing = runtime.app.put(&claim, &bound, json!({"lease_token": token, "agent_id": "a1"})).await;
    assert_eq!(posing.code(), (403, "POLICY_DENIED"));
    let silent = runtime.app.put(&claim, &bound, json!({"lease_token": token})).await;
    assert_eq!(reason(&silent), (409, "agent_mismatch"));
    runtime.say(&theirs, "claim", json!({})).await.expect(200);
    let event = json!({"attempt_id": id(&theirs), "kind": "step", "lease_token": token});
    assert_eq!(reason(&runtime.said_by(&bound, "runtime/events", event).await), (409, "agent_mismatch"));
    let heartbeat = format!("/v2/runtime/attempts/{}/heartbeat", id(&theirs));
    let beaten = runtime.app.put(&heartbeat, &bound, json!({"lease_token": token})).await;
    assert_eq!(reason(&beaten), (409, "agent_mismatch"));
    let complete = format!("/v2/runtime/attempts/{}/complete", id(&theirs));
    let ended = runtime.app.put(&complete, &bound, json!({"lease_token": token, "outcome": "succeeded"})).await;
    assert_eq!(reason(&ended), (409, "agent_mismatch"));

    let mine = format!("runtime/tasks/{}/claim", id(&runtime.task(json!({})).await));
    assert_eq!(runtime.said_by(&bound, &mine, json!({})).await.expect(200)["agent_id"], "bot");
    runtime.task(json!({})).await;
    let next = runtime.said_by(&bound, "runtime/tasks/claim-next", json!({"agent_id": "bot"})).await.expect(200);
    assert_eq!(next["agent_id"], "bot");
}

#[tokio::test]
async fn a_token_is_stored_and_answered_by_reads_nowhere() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    let token = attempt["lease_token"].as_str().unwrap();
    for path in [
        format!("runtime/attempts/{}", id(&attempt)),
        format!("runtime/tasks/{}", id(&task)),
        format!("runtime/tasks/{}/detail", id(&task)),
        "runtime/tasks".to_owned(),
        format!("runtime/events?task_id={}", id(&task)),
    ] {
        assert!(!runtime.get(&path).await.expect(200).to_string().contains(token), "{path}");
    }
    let stored = format!(
        "select count(*) from svc_runtime.task_attempts a, svc_runtime.workflow_events e
         where a::text || e::text like '%{token}%'"
    );
    assert_eq!(runtime.count(&stored).await, 0);
}

#[tokio::test]
async fn a_lost_lease_is_lost_before_and_after_the_sweeper() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    runtime.pass(180).await;
    let said = [("heartbeat", json!({})), ("complete", json!({"outcome": "succeeded"})), ("claim", json!({}))];
    for (what, fields) in said.clone() {
        assert_eq!(reason(&runtime.say(&attempt, what, fields).await), (409, "lease_expired"), "before: {what}");
    }
    runtime.sweep().await;
    for (what, fields) in said {
        assert_eq!(reason(&runtime.say(&attempt, what, fields).await), (409, "lease_expired"), "after: {what}");
    }
    let task = runtime.read_task(&task).await;
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("pending"), &json!(1)));
    let latest = &task["latest_attempt"];
    assert_eq!((&latest["status"], &latest["failure_kind"]), (&json!("timed_out"), &json!("lease_expired")));
    assert!(runtime.told(&task).await.iter().any(|(_, kind, _)| kind == "lease_expired"));
}

#[tokio::test]
async fn the_sweeper_is_a_job_and_leaves_what_is_kept_alone() {
    let runtime = Runtime::start().await;
    let (kept, lost) = (runtime.task(json!({})).await, runtime.task(json!({})).await);
    let (keeper, _) = (runtime.running(&kept).await, runtime.running(&lost).await);
    runtime.pass(170).await;
    runtime.say(&keeper, "heartbeat", json!({})).await.expect(200);
    runtime.pass(10).await;
    jobs::schedule(&runtime.app.app).await.unwrap();
    jobs::run_due(&runtime.app.app).await.unwrap();
    assert_eq!(runtime.read_task(&kept).await["status"], "active");
    assert_eq!(runtime.read_task(&lost).await["status"], "pending");
}

#[tokio::test]
async fn an_attempt_that_nobody_claims_costs_no_retry() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({"max_retries": 0})).await;
    runtime.attempt(&task).await;
    runtime.pass(180).await;
    runtime.sweep().await;
    let after = runtime.read_task(&task).await;
    assert_eq!((&after["status"], &after["retry_count"]), (&json!("pending"), &json!(0)));
    assert_eq!(after["latest_attempt"]["failure_kind"], "claim_timeout");
    runtime.running(&task).await;
}

#[tokio::test]
async fn an_attempt_runs_no_longer_than_its_task_allows() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({"metadata": {"max_runtime_secs": 200}})).await;
    let attempt = runtime.running(&task).await;
    runtime.pass(150).await;
    runtime.say(&attempt, "heartbeat", json!({})).await.expect(200);
    runtime.pass(50).await;
    assert_eq!(reason(&runtime.say(&attempt, "heartbeat", json!({})).await), (409, "lease_expired"));
    runtime.sweep().await;
    assert_eq!(runtime.read_task(&task).await["latest_attempt"]["failure_kind"], "runtime_exceeded");
}

#[tokio::test]
async fn a_task_is_tried_once_and_then_as_often_as_it_has_retries() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({"max_retries": 2})).await;
    for (retry_count, status) in [(1, "pending"), (2, "pending"), (2, "failed")] {
        let attempt = runtime.running(&task).await;
        let body = json!({"outcome": "failed", "failure_reason": "no luck"});
        assert_eq!(runtime.say(&attempt, "complete", body).await.expect(200)["task_status"], status);
        let after = runtime.read_task(&task).await;
        assert_eq!((&after["retry_count"], &after["status"]), (&json!(retry_count), &json!(status)));
        let too_soon = runtime.post(&format!("runtime/tasks/{}/claim", id(&task)), Value::Null).await;
        let expected = if status == "failed" { "task_terminal" } else { "retry_backoff" };
        assert_eq!(reason(&too_soon), (409, expected));
        // The longest pause after these retries: 5 and 10 seconds and a fifth.
        runtime.pass(12).await;
    }
    assert_eq!(runtime.read_task(&task).await["failure_reason"], "no luck");
}

#[tokio::test]
async fn whoever_takes_the_next_gets_the_most_urgent_then_the_oldest() {
    let runtime = Runtime::start().await;
    for (kind, priority) in [("build", 0), ("build", 5), ("test", 9), ("build", 5)] {
        runtime.task(json!({"kind": kind, "priority": priority, "work_item_key": format!("{kind}{priority}")})).await;
        runtime.pass(1).await;
    }
    let wish = json!({"agent_id": "a1", "kinds": ["build"]});
    let mut taken = Vec::new();
    for _ in 0..2 {
        let next = runtime.post("runtime/tasks/claim-next", wish.clone()).await.expect(200);
        assert_eq!((&next["status"], &next["task"]["status"]), (&json!("running"), &json!("active")));
        taken.push(next["task"]["work_item_key"].as_str().unwrap().to_owned());
    }
    assert_eq!(taken, ["build5", "build0"]);
    assert_eq!(runtime.post("runtime/tasks/claim-next", wish).await.status, 204);
}

#[tokio::test]
async fn whoever_waits_for_the_next_gets_it_when_it_comes() {
    let runtime = Runtime::start().await;
    let wish = |secs: i64| json!({"agent_id": "a1", "wait_secs": secs});
    let taken = runtime.post("runtime/tasks/claim-next", wish(20));
    let (next, task) = futures::future::join(taken, runtime.task(json!({}))).await;
    assert_eq!(next.expect(200)["task_id"], task["id"]);
    assert_eq!(runtime.post("runtime/tasks/claim-next", wish(1)).await.status, 204);
    for secs in [-1, 21] {
        assert_eq!(field(&runtime.post("runtime/tasks/claim-next", wish(secs)).await), (400, "wait_secs"));
    }
}

#[tokio::test]
async fn many_who_take_the_next_at_once_take_different_tasks() {
    let runtime = Runtime::start().await;
    for _ in 0..12 {
        runtime.task(json!({})).await;
    }
    let wish = || json!({"agent_id": "a1"});
    let answers = futures::future::join_all((0..12).map(|_| runtime.post("runtime/tasks/claim-next", wish()))).await;
    let mut taken = BTreeMap::new();
    for answer in answers.iter().filter(|answer| answer.status == 200) {
        *taken.entry(answer.body["task"]["id"].to_string()).or_insert(0) += 1;
    }
    assert!(taken.values().all(|times| *times == 1) && !taken.is_empty(), "{taken:?}");
    let running = runtime.count("select count(*) from svc_runtime.task_attempts where status = 'running'").await;
    assert_eq!(usize::try_from(running), Ok(taken.len()));
}

#[tokio::test]
async fn what_does_not_fit_is_refused_by_field() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let path = format!("runtime/tasks/{}/attempts", id(&task));
    for (name, value) in [
        ("agent_id", json!("")),
        ("branch_id", json!("\u{7}")),
        ("lease_ttl_secs", json!(29)),
        ("lease_ttl_secs", json!(3_601)),
    ] {
        let answer = runtime.post(&path, json!({ name: value })).await;
        assert_eq!(field(&answer), (400, name), "{}", answer.body);
    }
    let attempt = runtime.running(&task).await;
    for (name, fields) in [
        ("outcome", json!({})),
        ("outcome", json!({"outcome": "done"})),
        ("failure_reason", json!({"outcome": "failed"})),
        ("failure_reason", json!({"outcome": "failed", "failure_reason": " "})),
        ("failure_reason", json!({"outcome": "succeeded", "failure_reason": "but"})),
        ("failure_kind", json!({"outcome": "failed", "failure_reason": "x", "failure_kind": "bad_luck"})),
        ("result", json!({"outcome": "succeeded", "result": {"x": "y".repeat(65_536)}})),
    ] {
        let answer = runtime.say(&attempt, "complete", fields).await;
        assert_eq!(field(&answer), (400, name), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_pending_attempt_cannot_be_completed() {
    let runtime = Runtime::start().await;
    let attempt = runtime.attempt(&runtime.task(json!({})).await).await;
    let answer = runtime.say(&attempt, "complete", json!({"outcome": "succeeded"})).await;
    assert_eq!(reason(&answer), (409, "not_running"));
    runtime.say(&attempt, "heartbeat", json!({})).await.expect(200);
}

#[test]
fn no_state_changes_but_as_the_table_says() {
    use AttemptStatus::{Cancelled, Failed, Pending, Running, Succeeded, TimedOut};
    let all = [Pending, Running, Succeeded, Failed, TimedOut, Cancelled];
    for (from, to) in all.into_iter().flat_map(|from| all.map(|to| (from, to))) {
        let is_legal = match from {
            Pending => matches!(to, Running | TimedOut | Cancelled),
            Running => matches!(to, Succeeded | Failed | TimedOut | Cancelled),
            _ => false,
        };
        assert_eq!(AttemptStatus::TURNS.contains(&(from, to)), is_legal, "{from:?} {to:?}");
        assert_eq!(from.is_active(), matches!(from, Pending | Running));
    }
}
