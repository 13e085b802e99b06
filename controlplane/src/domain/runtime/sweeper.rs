//! Ends what nobody keeps alive: attempts whose lease has run out, tasks past their deadline, and the
//! wait for a repair that came to nothing.
//!
//! Each in a transaction of its own, locked with SKIP LOCKED, so any replica may sweep at any time.
//! What it finds is looked at again under the lock: a heartbeat may have come first.

use chrono::Duration;
use contract::Timestamp;
use platform::{App, Result};
use serde_json::json;

use super::actor;
use super::attempts::{self, Attempt, AttemptStatus, Ending};
use super::change::Change;
use super::events::{self, EventSubject};
use super::recovery::{self, FailureKind};
use super::tasks::{self, TaskStatus};

/// How often the sweeper runs.
pub const PERIOD: Duration = Duration::seconds(10);
/// Ended in one run; the rest waits for the next.
const BATCH: usize = 200;

pub async fn sweep(app: &App) -> Result<()> {
    for _ in 0..BATCH {
        if !expire_one(app).await? {
            break;
        }
    }
    for _ in 0..BATCH {
        if !close_one(app).await? {
            break;
        }
    }
    for _ in 0..BATCH {
        if !escalate_one(app).await? {
            break;
        }
    }
    Ok(())
}

/// Times out one attempt; false if there is none.
async fn expire_one(app: &App) -> Result<bool> {
    let mut tx = app.pool().begin().await?;
    let Some((org_id, task_id)) = attempts::expired(&mut tx).await? else {
        return Ok(false);
    };
    let mut task = tasks::lock(&mut tx, &org_id, &task_id).await?;
    let Some(attempt) = attempts::lock_active(&mut tx, &task_id).await? else {
        return Ok(true);
    };
    let mut change = Change::begin(app, &mut tx).await?;
    if attempt.ends_at() > change.now {
        return Ok(true);
    }
    let kind = cause(&attempt, change.now);
    let reason = match kind {
        FailureKind::ClaimTimeout => format!("not claimed by {}", attempt.lease_expires_at.to_rfc3339()),
        FailureKind::RuntimeExceeded => "ran longer than `max_runtime_secs`".to_owned(),
        _ => format!("lease expired at {}", attempt.lease_expires_at.to_rfc3339()),
    };
    let payload = json!({"failure_kind": kind, "lease_expires_at": attempt.lease_expires_at});
    events::append(&mut change, EventSubject::attempt(&attempt), "lease_expired", payload, actor::SYSTEM).await?;
    let ending = Ending::new(AttemptStatus::TimedOut, Some(kind), Some(reason));
    attempts::end(&mut change, &mut task, attempt, ending, actor::SYSTEM).await?;
    tx.commit().await?;
    Ok(true)
}

fn cause(attempt: &Attempt, now: Timestamp) -> FailureKind {
    if attempt.status == AttemptStatus::Pending {
        FailureKind::ClaimTimeout
    } else if attempt.lease_expires_at <= now {
        FailureKind::LeaseExpired
    } else {
        FailureKind::RuntimeExceeded
    }
}

/// Fails one task whose deadline has passed; false if there is none.
async fn close_one(app: &App) -> Result<bool> {
    const REASON: &str = "the deadline has passed";
    let mut tx = app.pool().begin().await?;
    let Some(mut task) = tasks::overdue(&mut tx).await? else {
        return Ok(false);
    };
    let mut change = Change::begin(app, &mut tx).await?;
    task.failure_reason = Some(REASON.to_owned());
    task.turn(TaskStatus::Failed, change.now)?;
    if let Some(attempt) = attempts::lock_active(change.tx, &task.id).await? {
        let ending = Ending::new(AttemptStatus::Cancelled, Some(FailureKind::Timeout), Some(REASON.to_owned()));
        attempts::end(&mut change, &mut task, attempt, ending, actor::SYSTEM).await?;
    } else {
        attempts::settle(&mut change, &mut task, actor::SYSTEM).await?;
    }
    tx.commit().await?;
    Ok(true)
}

/// Brings one task to a person whose repair has come to nothing; false if there is none.
async fn escalate_one(app: &App) -> Result<bool> {
    let mut tx = app.pool().begin().await?;
    let Some((org_id, task_id)) = recovery::stranded(&mut tx).await? else {
        return Ok(false);
    };
    let mut task = tasks::lock(&mut tx, &org_id, &task_id).await?;
    let mut change = Change::begin(app, &mut tx).await?;
    // What is repaired has failed before.
    let last = attempts::latest(change.tx, std::slice::from_ref(&task.id)).await?.pop();
    if let Some(attempt) = last {
        recovery::escalate(&mut change, &mut task, &attempt).await?;
    }
    task.awaits_repair = None;
    attempts::settle_as(&mut change, &mut task, "repair_failed", actor::SYSTEM).await?;
    tx.commit().await?;
    Ok(true)
}
