use serde_json::{Value, json};

use super::{Task, TaskStatus};
use crate::domain::runtime::tests::{Runtime, field, id, reason};

#[tokio::test]
async fn a_new_task_is_pending_and_has_no_attempt() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({"metadata": {"issue": 7}, "priority": 2})).await;
    assert_eq!((&task["status"], &task["latest_attempt"]), (&json!("pending"), &Value::Null));
    assert_eq!((&task["max_retries"], &task["retry_count"], &task["priority"]), (&json!(3), &json!(0), &json!(2)));
    assert_eq!((&task["metadata"], &task["org_id"]), (&json!({"issue": 7}), &json!(runtime.org_id)));
    assert_eq!(runtime.read_task(&task).await, task);
    assert_eq!(runtime.told(&task).await, [(1, "task_lifecycle".to_owned(), "created".to_owned())]);
}

#[tokio::test]
async fn a_key_has_one_live_task_and_a_new_one_once_that_has_ended() {
    let runtime = Runtime::start().await;
    let body = json!({"kind": "build", "project_id": "p1", "work_item_key": "issue-7"});
    let first = runtime.post("runtime/tasks", body.clone()).await.expect(200);
    let again = runtime.post("runtime/tasks", body.clone()).await;
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(again.expect(200), first);
    let blanks = json!({"kind": "build", "project_id": "p1", "work_item_key": "  issue-7 "});
    assert_eq!(runtime.post("runtime/tasks", blanks).await.expect(200), first, "blanks tell no keys apart");
    let attempt = runtime.running(&first).await;
    let while_active = runtime.post("runtime/tasks", body.clone()).await.expect(200);
    assert_eq!((id(&while_active), &while_active["status"]), (id(&first), &json!("active")));
    assert_eq!(while_active["latest_attempt"]["id"], attempt["id"]);
    runtime.say(&attempt, "complete", json!({"outcome": "succeeded"})).await.expect(200);
    let next = runtime.post("runtime/tasks", body).await;
    assert!(!next.headers.contains_key("idempotent-replayed"));
    assert_ne!(id(&next.expect(200)), id(&first));
}

#[tokio::test]
async fn many_who_dispatch_one_key_at_once_get_one_task() {
    let runtime = Runtime::start().await;
    let body = || json!({"kind": "build", "project_id": "p1", "work_item_key": "issue-7"});
    let answers = futures::future::join_all((0..16).map(|_| runtime.post("runtime/tasks", body()))).await;
    let ids: std::collections::BTreeSet<_> =
        answers.into_iter().map(|answer| id(&answer.expect(200)).to_owned()).collect();
    assert_eq!((ids.len(), runtime.count("select count(*) from svc_runtime.tasks").await), (1, 1));
}

#[tokio::test]
async fn a_task_that_does_not_fit_is_refused_by_field() {
    let runtime = Runtime::start().await;
    for (name, value) in [
        ("kind", json!("")),
        ("project_id", json!("a\nb")),
        ("work_item_key", json!("x".repeat(257))),
        ("max_retries", json!(-1)),
        ("max_retries", json!(21)),
        ("priority", json!(1001)),
        ("metadata", json!({"x": "y".repeat(65_536)})),
        ("metadata.deadline", json!({"deadline": "yesterday"})),
        ("metadata.deadline", json!({"deadline": "2001-01-01T00:00:00Z"})),
        ("metadata.max_runtime_secs", json!({"max_runtime_secs": 0})),
        ("surprise", json!(1)),
    ] {
        let mut body = json!({"kind": "build", "project_id": "p1"});
        body[name.split('.').next().unwrap()] = value;
        let answer = runtime.post("runtime/tasks", body).await;
        assert_eq!(field(&answer), (400, name), "{}", answer.body);
    }
    let answer = runtime.post("runtime/tasks", json!({"project_id": "p1"})).await;
    assert_eq!(field(&answer), (400, "kind"));
}

#[tokio::test]
async fn tasks_are_listed_newest_first_by_what_is_asked_for() {
    let runtime = Runtime::start().await;
    for n in 0..5 {
        runtime.task(json!({"kind": if n % 2 == 0 { "even" } else { "odd" }, "priority": n})).await;
        runtime.pass(1).await;
    }
    let numbers =
        |list: &Value| -> Vec<_> { list.as_array().unwrap().iter().map(|t| t["priority"].as_i64().unwrap()).collect() };
    for (query, expected) in [
        ("", vec![4, 3, 2, 1, 0]),
        ("limit=2", vec![4, 3]),
        ("limit=2&offset=1", vec![3, 2]),
        ("limit=100000", vec![4, 3, 2, 1, 0]),
        ("kind=odd", vec![3, 1]),
        ("status=active", vec![]),
        ("project_id=p2", vec![]),
    ] {
        let list = runtime.get(&format!("runtime/tasks?{query}")).await.expect(200);
        assert_eq!(numbers(&list["data"]), expected, "{query}");
        let bare = runtime.get(&format!("runtime/tasks?{query}&envelope=false")).await.expect(200);
        assert_eq!(numbers(&bare), expected, "{query}");
    }
    let first = runtime.get("runtime/tasks?limit=3").await.expect(200);
    assert_eq!((&first["pagination"]["has_more"], &first["pagination"]["total"]), (&json!(true), &json!(5)));
    let cursor = first["pagination"]["cursor"].as_str().unwrap();
    let rest = runtime.get(&format!("runtime/tasks?limit=3&cursor={cursor}")).await.expect(200);
    assert_eq!(numbers(&rest["data"]), [1, 0]);
    for query in ["limit=0", "offset=-1", "offset=x", "status=done", "cursor=x", "envelope=no"] {
        assert_eq!(runtime.get(&format!("runtime/tasks?{query}")).await.status, 400, "{query}");
    }
}

#[tokio::test]
async fn cancelling_ends_the_task_and_its_attempt_once() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    let path = format!("runtime/tasks/{}/cancel", id(&task));
    let cancelled = runtime.post(&path, json!({"reason": "not wanted"})).await.expect(200);
    assert_eq!((&cancelled["status"], &cancelled["task"]["status"]), (&json!("cancelled"), &json!("cancelled")));
    assert_eq!(cancelled["cancelled_attempts"], json!([attempt["id"]]));
    assert_eq!(cancelled["cancel_reason"], "not wanted");
    assert_eq!(reason(&runtime.post(&path, Value::Null).await), (409, "task_terminal"));
    for what in ["heartbeat", "claim"] {
        assert_eq!(reason(&runtime.say(&attempt, what, json!({})).await), (409, "attempt_cancelled"), "{what}");
    }
    let done = runtime.say(&attempt, "complete", json!({"outcome": "succeeded"})).await;
    assert_eq!(reason(&done), (409, "attempt_cancelled"));
    let again = runtime.post(&format!("runtime/tasks/{}/attempts", id(&task)), Value::Null).await;
    assert_eq!(reason(&again), (409, "task_terminal"));
}

/// Whoever is first decides, and the other is told.
#[tokio::test]
async fn cancelled_and_completed_at_once_a_task_ends_in_one_way() {
    let runtime = Runtime::start().await;
    for round in 0..8 {
        let task = runtime.task(json!({})).await;
        let attempt = runtime.running(&task).await;
        let path = format!("runtime/tasks/{}/cancel", id(&task));
        let cancel = runtime.post(&path, Value::Null);
        let complete = runtime.say(&attempt, "complete", json!({"outcome": "succeeded"}));
        let (cancelled, completed) = if round % 2 == 0 {
            futures::join!(cancel, complete)
        } else {
            let (completed, cancelled) = futures::join!(complete, cancel);
            (cancelled, completed)
        };
        let ended = runtime.get(&format!("runtime/tasks/{}", id(&task))).await.expect(200);
        let states = (ended["status"].as_str().unwrap(), ended["latest_attempt"]["status"].as_str().unwrap());
        match (cancelled.status.as_u16(), completed.status.as_u16()) {
            (200, 409) => assert_eq!((states, reason(&completed).1), (("cancelled", "cancelled"), "attempt_cancelled")),
            (409, 200) => assert_eq!((states, reason(&cancelled).1), (("completed", "succeeded"), "task_terminal")),
            both => panic!("{both:?}: {states:?}"),
        }
    }
}

#[tokio::test]
async fn a_task_fails_at_its_deadline_whatever_its_state() {
    let runtime = Runtime::start().await;
    let deadline = (runtime.app.app.now() + chrono::Duration::seconds(60)).to_rfc3339();
    let body = json!({"metadata": {"deadline": deadline}});
    let (waiting, worked_on) = (runtime.task(body.clone()).await, runtime.task(body).await);
    let attempt = runtime.running(&worked_on).await;
    runtime.pass(60).await;
    let late = runtime.post(&format!("runtime/tasks/{}/attempts", id(&waiting)), Value::Null).await;
    assert_eq!(reason(&late), (409, "deadline_passed"));
    runtime.sweep().await;
    for task in [&waiting, &worked_on] {
        let task = runtime.read_task(task).await;
        assert_eq!((&task["status"], &task["failure_reason"]), (&json!("failed"), &json!("the deadline has passed")));
    }
    assert_eq!(reason(&runtime.say(&attempt, "heartbeat", json!({})).await), (409, "attempt_cancelled"));
}

#[tokio::test]
async fn the_detail_has_attempts_and_events_in_their_order() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    runtime.say(&attempt, "complete", json!({"outcome": "failed", "failure_reason": "no"})).await.expect(200);
    runtime.pass(60).await;
    runtime.running(&task).await;
    let path = format!("runtime/tasks/{}/detail", id(&task));
    let detail = runtime.get(&path).await.expect(200);
    let states: Vec<_> = detail["attempts"].as_array().unwrap().iter().map(|a| a["status"].as_str().unwrap()).collect();
    assert_eq!((states, &detail["status"]), (vec!["failed", "running"], &json!("active")));
    assert_eq!(detail["latest_attempt"]["attempt_number"], 2);
    assert_eq!(detail["events"].as_array().unwrap().len(), runtime.told(&task).await.len());
    assert!(!detail.to_string().contains("lease_token"), "{detail}");
    let short = runtime.get(&format!("{path}?max_events=2")).await.expect(200);
    assert_eq!(short["events"].as_array().unwrap(), detail["events"].as_array().unwrap().split_at(8).1);
}

#[test]
fn no_state_changes_but_as_the_table_says() {
    use TaskStatus::{Active, Cancelled, Completed, Failed, Pending};
    let all = [Pending, Active, Completed, Failed, Cancelled];
    let now = chrono::DateTime::UNIX_EPOCH;
    for (from, to) in all.into_iter().flat_map(|from| all.map(|to| (from, to))) {
        let mut task = Task { status: from, ..some() };
        let turned = task.turn(to, now);
        let is_legal = match from {
            Pending => matches!(to, Active | Completed | Failed | Cancelled),
            Active => matches!(to, Pending | Completed | Failed | Cancelled),
            Completed | Failed | Cancelled => false,
        };
        assert_eq!((turned.is_ok(), task.status), (is_legal, if is_legal { to } else { from }), "{from:?} {to:?}");
        assert_eq!(task.completed_at.is_some(), is_legal && to.is_terminal());
        assert!(turned.is_ok() || turned.unwrap_err().code().http() == 409);
    }
}

fn some() -> Task {
    let now = chrono::DateTime::UNIX_EPOCH;
    Task::fresh(&contract::Entropy::seeded(1), "", "", 0, now)
}
