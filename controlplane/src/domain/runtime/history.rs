//! Workers that fall asleep, forget and repeat themselves, all at once on real time; and a checker
//! of what they were told, against what the database says.
//!
//! Leases are shortened behind the product's back, so that they run out while their holders sleep.

use std::collections::{BTreeMap, BTreeSet};

use contract::Entropy;
use serde_json::{Value, json};

use super::tests::{Runtime, id, reason};

const WORKERS: u64 = 6;
const TASKS: usize = 25;
const SEED: u64 = 20_260_901;

/// An answer of 200 to a write that proves a lease.
struct Accepted {
    attempt_id: String,
    what: &'static str,
}

#[tokio::test]
async fn whatever_workers_do_at_once_each_task_ends_once_and_nothing_lost_is_accepted() {
    let runtime = Runtime::start().await;
    runtime
        .sql(
            "create or replace function svc_runtime.clock() returns timestamptz language sql stable
             as $$ select clock_timestamp() $$",
        )
        .await;
    for _ in 0..TASKS {
        runtime.task(json!({"max_retries": 20})).await;
    }
    let workers = (0..WORKERS).map(|n| worker(&runtime, Entropy::seeded(SEED + n)));
    let accepted: Vec<Accepted> = futures::future::join_all(workers).await.into_iter().flatten().collect();
    check(&runtime, &accepted).await;
}

/// Works until every task has ended.
async fn worker(runtime: &Runtime, entropy: Entropy) -> Vec<Accepted> {
    let mut accepted = Vec::new();
    let mut lost: Vec<Value> = Vec::new();
    let live = "select count(*) from svc_runtime.tasks where status in ('pending', 'active')";
    while runtime.count(live).await > 0 {
        let [dice] = entropy.bytes::<1>();
        match dice % 8 {
            0 => runtime.sweep().await,
            // Nobody waits out a pause in a test.
            1 => runtime.sql("update svc_runtime.tasks set not_before = null where not_before is not null").await,
            2 => {
                for attempt in lost.iter().take(3) {
                    let late = runtime.say(attempt, "complete", json!({"outcome": "succeeded"})).await;
                    assert_ne!(late.status, 200, "a lost lease was accepted");
                }
            }
            _ => work(runtime, dice, &mut accepted, &mut lost).await,
        }
    }
    accepted
}

async fn work(runtime: &Runtime, dice: u8, accepted: &mut Vec<Accepted>, lost: &mut Vec<Value>) {
    let next = runtime.post("runtime/tasks/claim-next", json!({"agent_id": "w", "lease_ttl_secs": 30})).await;
    if next.status == 204 {
        return;
    }
    let attempt = next.expect(200);
    let mut keep = |what| accepted.push(Accepted { attempt_id: id(&attempt).to_owned(), what });
    keep("claim");
    for _ in 0..dice % 3 {
        if runtime.say(&attempt, "heartbeat", json!({})).await.status == 200 {
            keep("heartbeat");
        }
        let event = json!({"attempt_id": id(&attempt), "kind": "step", "lease_token": attempt["lease_token"]});
        runtime.post("runtime/events", event).await.expect(200);
    }
    if dice.is_multiple_of(4) {
        // It sleeps past its lease.
        let end = format!(
            "update svc_runtime.task_attempts set lease_expires_at = clock_timestamp() - interval '1 second'
             where id = '{}'",
            id(&attempt)
        );
        runtime.sql(&end).await;
        for what in ["heartbeat", "claim"] {
            assert_eq!(reason(&runtime.say(&attempt, what, json!({})).await), (409, "lease_expired"));
        }
        lost.push(attempt);
        return;
    }
    let outcome = if dice.is_multiple_of(5) {
        json!({"outcome": "failed", "failure_reason": "bad luck"})
    } else {
        json!({"outcome": "succeeded"})
    };
    // The first answer is taken for lost, and the request sent again: at once and afterwards.
    let twice = futures::future::join(
        runtime.say(&attempt, "complete", outcome.clone()),
        runtime.say(&attempt, "complete", outcome.clone()),
    );
    let (first, second) = twice.await;
    let third = runtime.say(&attempt, "complete", outcome).await.expect(200);
    assert_eq!((first.expect(200), second.expect(200)), (third.clone(), third));
    accepted.push(Accepted { attempt_id: id(&attempt).to_owned(), what: "complete" });
}

async fn check(runtime: &Runtime, accepted: &[Accepted]) {
    let pool = runtime.app.app.pool();
    let attempts: Vec<(String, String)> =
        sqlx::query_as("select id, status from svc_runtime.task_attempts").fetch_all(pool).await.unwrap();
    let status: BTreeMap<_, _> = attempts.into_iter().collect();
    let completed: Vec<_> = accepted.iter().filter(|a| a.what == "complete").map(|a| &a.attempt_id).collect();
    assert_eq!(completed.iter().collect::<BTreeSet<_>>().len(), completed.len(), "an attempt was completed twice");
    for attempt_id in completed {
        assert!(matches!(status[attempt_id].as_str(), "succeeded" | "failed"), "{attempt_id} {}", status[attempt_id]);
    }
    for outcome in ["succeeded", "failed", "timed_out"] {
        assert!(status.values().any(|status| status == outcome), "none {outcome}: the workers were too tame");
    }
    let claimed = accepted.iter().filter(|a| a.what == "claim").count();
    assert_eq!(claimed, status.len(), "an attempt that nobody was told of");
    for (problem, query) in [
        ("tasks that have not ended", "select count(*) from svc_runtime.tasks where completed_at is null"),
        (
            "tasks whose end is not their one success",
            "select count(*) from svc_runtime.tasks t where (t.status = 'completed') <> (1 = (select count(*)
               from svc_runtime.task_attempts a where a.task_id = t.id and a.status = 'succeeded'))",
        ),
        (
            "tasks whose retries are not their failures",
            "select count(*) from svc_runtime.tasks t where t.retry_count <> least(t.max_retries, (select count(*)
               from svc_runtime.task_attempts a where a.task_id = t.id and a.status in ('failed', 'timed_out')))",
        ),
        (
            "attempts of one task that ran at the same time",
            "select count(*) from svc_runtime.task_attempts a join svc_runtime.task_attempts b
               on a.task_id = b.task_id and a.attempt_number < b.attempt_number and b.started_at < a.completed_at",
        ),
        (
            "sequences with gaps",
            "select count(*) from (select max(sequence_num) - count(*) as gap from svc_runtime.workflow_events
               group by task_id, attempt_id) g where gap <> 0",
        ),
        (
            "tasks that ended more than once",
            "select count(*) from (select task_id from svc_runtime.workflow_events where kind = 'task_lifecycle'
               and payload ->> 'action' in ('completed', 'failed', 'cancelled') group by task_id
               having count(*) <> 1) e",
        ),
    ] {
        assert_eq!(runtime.count(query).await, 0, "{problem}");
    }
}
