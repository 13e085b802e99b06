//! The effect of an approved review of a recovery on its task: "approve: pipeline resumes".
//! After a no it stays as it is: blocked, or failed.

use platform::Result;

use super::{FailureKind, Level, plan};
use crate::domain::runtime::attempts::{self, Attempt};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::reviews::Review;
use crate::domain::runtime::tasks::{Task, TaskStatus};

/// The task, which is locked, may be tried at once, if it is this person that it waited for.
pub async fn resume(
    change: &mut Change<'_>,
    task: &mut Task,
    attempt: &Attempt,
    review: &Review,
    who: &str,
) -> Result<()> {
    if task.status != TaskStatus::Pending || task.blocked_reason.is_none() {
        return Ok(());
    }
    let mut recovery = plan::begin(change, task, attempt, attempt.failure_kind.unwrap_or(FailureKind::Other));
    recovery.level = Some(Level::L1);
    recovery.trigger_event = Some("review_lifecycle".to_owned());
    recovery.review_id = Some(review.id.clone());
    who.clone_into(&mut recovery.executed_by);
    let reason = review.reviewer_notes.as_deref().unwrap_or("a person has approved it");
    task.next_attempt_hint = Some(plan::hint(&recovery, None, reason));
    recovery.new_attempt_hint.clone_from(&task.next_attempt_hint);
    (task.blocked_reason, task.not_before) = (None, None);
    attempts::settle_as(change, task, "recovery", who).await?;
    plan::finish(change, recovery, task, attempt).await.map(drop)
}
