//! Checks of a history, whatever was stopped, killed and cut meanwhile: what workers were
//! told, against what the database says.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tokio_postgres::Client;

/// The whole of what has to be empty.
const NEVER: &[(&str, &str)] = &[
    ("a task that has not ended", "select id from svc_runtime.tasks where completed_at is null"),
    ("an attempt that has not ended", "select id from svc_runtime.task_attempts where completed_at is null"),
    (
        "a task whose end is not its one success",
        "select t.id from svc_runtime.tasks t where (t.status = 'completed') <> (1 = (select count(*)
           from svc_runtime.task_attempts a where a.task_id = t.id and a.status = 'succeeded'))",
    ),
    (
        "a task tried more often than it may be",
        "select t.id from svc_runtime.tasks t where t.max_retries + 1 < (select count(*)
           from svc_runtime.task_attempts a where a.task_id = t.id and a.failure_kind is distinct from 'claim_timeout')",
    ),
    (
        "two attempts of one task that ran at the same time",
        "select a.id from svc_runtime.task_attempts a join svc_runtime.task_attempts b
           on a.task_id = b.task_id and a.attempt_number < b.attempt_number and b.started_at < a.completed_at",
    ),
    (
        "a sequence with gaps",
        "select task_id from svc_runtime.workflow_events group by task_id, attempt_id
           having max(sequence_num) <> count(*) or min(sequence_num) <> 1",
    ),
    (
        "a task that ended other than once",
        "select t.id from svc_runtime.tasks t where 1 <> (select count(*) from svc_runtime.workflow_events e
           where e.task_id = t.id and e.kind = 'task_lifecycle'
             and e.payload ->> 'action' in ('completed', 'failed', 'cancelled'))",
    ),
    (
        "an event of an attempt after its end",
        "select e.id from svc_runtime.workflow_events e join svc_runtime.task_attempts a on a.id = e.attempt_id
           where e.kind = 'step' and e.created_at > a.completed_at",
    ),
    (
        "a key that two tasks have",
        "select min(id) from svc_runtime.tasks where work_item_key is not null group by work_item_key having count(*) > 1",
    ),
];

/// Fails with what did happen all the same.
pub async fn check(client: &Client, history: &[Value]) {
    for (problem, query) in NEVER {
        let found = client.query(*query, &[]).await.unwrap();
        let first: Vec<String> = found.iter().take(5).map(|row| row.get(0)).collect();
        assert!(found.is_empty(), "{problem}: {} of them, such as {first:?}", found.len());
    }
    let attempts = client
        .query(
            "select id, status, to_char(completed_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')
             from svc_runtime.task_attempts",
            &[],
        )
        .await
        .unwrap();
    let ended: BTreeMap<String, (String, String)> =
        attempts.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect();
    let mut claimed = BTreeSet::new();
    for line in history.iter().filter(|line| line["status"] == 200) {
        let (what, id) = (line["what"].as_str().unwrap(), line["attempt"].as_str().unwrap());
        let (status, at) = &ended[id];
        match what {
            "claim" => assert!(claimed.insert(id), "{id} was given out twice"),
            "complete" => assert_eq!(line["ended"].as_str(), Some(status.as_str()), "{id} was told another end"),
            // Times of one clock, in UTC and to the microsecond: they sort as text.
            _ => assert!(
                instant(&line["at"]).as_str() <= at.as_str(),
                "{what} of {id} was accepted after its end at {at}: {line}"
            ),
        }
    }
}

/// A time as the database writes it: with all its digits.
fn instant(time: &Value) -> String {
    let time = time.as_str().unwrap().trim_end_matches('Z');
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    format!("{seconds}.{fraction:0<6}Z")
}

/// How late, in seconds of the database's clock, a lease that was lost was found to be.
pub async fn lateness(client: &Client) -> Vec<(f64, f64)> {
    let rows = client
        .query(
            "select extract(epoch from lease_expires_at)::float8, extract(epoch from completed_at)::float8
             from svc_runtime.task_attempts where status = 'timed_out'",
            &[],
        )
        .await
        .unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}
