//! `POST …/cancel`: "cancels task and active attempts; 409 if terminal".

use platform::Result;
use platform::http::call::Call;
use platform::http::json::{Json, MaybeJson};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::http::TaskView;
use super::{Task, TaskStatus, store};
use crate::domain::runtime::attempts::{self, AttemptStatus, Ending};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::recovery::FailureKind;
use crate::domain::runtime::{actor, fields};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "TaskCancellation")]
#[serde(deny_unknown_fields)]
pub struct Cancellation {
    reason: Option<String>,
}

/// The task's own fields stand at the top as well.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CancelledTask {
    #[serde(flatten)]
    answer: TaskView,
    task: Task,
    cancelled_attempts: Vec<String>,
}

pub async fn cancel(cx: Call, MaybeJson(body): MaybeJson<Cancellation>) -> Result<Json<CancelledTask>> {
    let reason = fields::maybe_prose("reason", body.reason.as_deref())?;
    let mut tx = cx.begin().await?;
    let mut task = store::lock(&mut tx, cx.org_id(), &cx.id::<String>("task_id")?).await?;
    task.open()?;
    let mut change = Change::begin(&cx.app, &mut tx).await?;
    let who = actor::of(&cx.caller);
    task.cancel_reason.clone_from(&reason);
    task.turn(TaskStatus::Cancelled, change.now)?;
    let mut cancelled_attempts = Vec::new();
    if let Some(attempt) = attempts::lock_active(change.tx, &task.id).await? {
        cancelled_attempts.push(attempt.id.clone());
        let ending = Ending::new(AttemptStatus::Cancelled, Some(FailureKind::CancelledByUser), reason.clone());
        attempts::end(&mut change, &mut task, attempt, ending, &who).await?;
    } else {
        attempts::settle(&mut change, &mut task, &who).await?;
    }
    let answer = TaskView::of(&mut tx, task.clone()).await?;
    tx.commit().await?;
    Ok(Json(CancelledTask { answer, task, cancelled_attempts }))
}
