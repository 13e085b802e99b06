//! The end of an attempt, and what it makes of the task: in one place, whoever brings it about.

use platform::Result;
use serde_json::json;

use super::{Attempt, AttemptStatus, store};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::events::{self, EventSubject};
use crate::domain::runtime::recovery::{self, FailureKind};
use crate::domain::runtime::tasks::{self, Task, TaskStatus};

#[derive(Debug)]
pub struct Ending {
    pub status: AttemptStatus,
    pub kind: Option<FailureKind>,
    /// The kind was not said but concluded.
    pub derived: bool,
    pub reason: Option<String>,
}

impl Ending {
    pub fn new(status: AttemptStatus, kind: Option<FailureKind>, reason: Option<String>) -> Self {
        Self { status, kind, derived: false, reason }
    }
}

/// Ends the attempt and moves its task on; both are locked.
pub async fn end(
    change: &mut Change<'_>,
    task: &mut Task,
    mut attempt: Attempt,
    ending: Ending,
    who: &str,
) -> Result<Attempt> {
    attempt.turn(ending.status, change.now)?;
    (attempt.failure_kind, attempt.failure_reason) = (ending.kind, ending.reason);
    store::save(change.tx, &mut attempt, change.now).await?;
    let payload = json!({
        "action": attempt.status,
        "agent_id": attempt.agent_id,
        "failure_kind": attempt.failure_kind,
        "failure_reason": attempt.failure_reason,
        "derived": ending.derived,
    });
    events::append(change, EventSubject::attempt(&attempt), "attempt_lifecycle", payload, who).await?;
    match attempt.status {
        AttemptStatus::Succeeded => task.turn(TaskStatus::Completed, change.now)?,
        AttemptStatus::Failed | AttemptStatus::TimedOut => {
            // Nobody has tried: the task stays as it is.
            if attempt.failure_kind == Some(FailureKind::ClaimTimeout) {
                return Ok(attempt);
            }
            recovery::plan(change, task, &attempt, ending.derived).await?;
        }
        AttemptStatus::Pending | AttemptStatus::Running | AttemptStatus::Cancelled => {}
    }
    settle(change, task, who).await?;
    Ok(attempt)
}

/// Stores a task whose state has changed, and says so.
pub async fn settle(change: &mut Change<'_>, task: &mut Task, who: &str) -> Result<()> {
    settle_as(change, task, "retry_scheduled", who).await
}

/// The same; says of a task that is pending why it is.
pub async fn settle_as(change: &mut Change<'_>, task: &mut Task, pending: &str, who: &str) -> Result<()> {
    tasks::save(change.tx, task, change.now).await?;
    let pending = if task.blocked_reason.is_some() { "blocked" } else { pending };
    let payload = json!({
        "action": if task.status == TaskStatus::Pending { json!(pending) } else { json!(task.status) },
        "retry_count": task.retry_count,
        "not_before": task.not_before,
        "reason": task.failure_reason.as_ref().or(task.cancel_reason.as_ref()).or(task.blocked_reason.as_ref()),
    });
    events::append(change, EventSubject::task(task), "task_lifecycle", payload, who).await.map(drop)
}
