//! `POST /v2/recovery/:attempt_id`: what a person does about an attempt.
//!
//! While an attempt is active it can only be blocked (its holder is asked to stop) or escalated.
//! A person may try once more what has no retries left: that is what they are asked for.

use platform::http::call::Call;
use platform::http::json::Json;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Action, FailureKind, Level, Recovery, plan};
use crate::domain::runtime::attempts::{self, Attempt};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::people::{self, Made, PM};
use crate::domain::runtime::releases::{self, Release, ReleaseOutcome};
use crate::domain::runtime::reviews::{Review, ReviewShown};
use crate::domain::runtime::tasks::{self, Task, TaskStatus};
use crate::domain::runtime::{artifacts, fields};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecoveryWish {
    action: Action,
    override_reason: Option<String>,
    model_id: Option<String>,
    assigned_to: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RecoveryDone")]
pub struct Done {
    recovery: Recovery,
    task: Task,
    attempt: Attempt,
    review: Option<ReviewShown>,
}

/// Everything one action is about.
struct Case<'a> {
    cx: &'a Call,
    task: Task,
    attempt: Attempt,
    /// The active attempt of the task, if there is one.
    active: Option<Attempt>,
    recovery: Recovery,
    reason: Option<String>,
    change: Change<'a>,
}

pub async fn act(cx: Call, Json(wish): Json<RecoveryWish>) -> Result<Json<Done>> {
    let who = people::person(&cx)?;
    let reason = fields::maybe_prose("override_reason", wish.override_reason.as_deref())?;
    let model_id = fields::maybe_name("model_id", wish.model_id.as_deref())?;
    let assigned_to = people::assignee("assigned_to", wish.assigned_to.as_deref().unwrap_or(PM))?;
    fits(wish.action, reason.is_some(), model_id.is_some())?;
    let attempt_id: String = cx.id("attempt_id")?;
    let mut tx = cx.begin().await?;
    let task = tasks::lock_of_attempt(&mut tx, cx.org_id(), &attempt_id).await?;
    let attempt = attempts::lock(&mut tx, cx.org_id(), &attempt_id).await?;
    task.open()?;
    let active = attempts::lock_active(&mut tx, &task.id).await?;
    if let Some(active) = &active
        && !matches!(wish.action, Action::Block | Action::Escalate)
    {
        let message = "the task has an active attempt: it can be blocked or escalated";
        return Err(Error::state_conflict("attempt_active", message, &json!({"attempt_id": active.id})));
    }
    let change = Change::begin(&cx.app, &mut tx).await?;
    let kind = attempt.failure_kind.unwrap_or(FailureKind::Other);
    let recovery = Recovery {
        action_type: wish.action,
        executed_by: who,
        override_reason: reason.clone(),
        model_id,
        trigger_event: None,
        ..plan::begin(&change, &task, &attempt, kind)
    };
    let mut case = Case { cx: &cx, task, attempt, active, recovery, reason, change };
    let review = case.carry_out(&assigned_to).await?;
    let Case { mut task, attempt, recovery, mut change, .. } = case;
    let who = recovery.executed_by.clone();
    attempts::settle_as(&mut change, &mut task, "recovery", &who).await?;
    let recovery = plan::finish(&mut change, recovery, &task, &attempt).await?;
    tx.commit().await?;
    Ok(Json(Done { recovery, task, attempt, review: review.map(ReviewShown::from) }))
}

/// "`override_reason` (required for approve, block), `model_id` (required for `retry_with_model`)."
fn fits(action: Action, has_reason: bool, has_model: bool) -> Result<()> {
    let required = |field: &'static str| Err(Error::invalid(field, "required", format!("`{field}` is required")));
    match action {
        Action::Approve | Action::Block if !has_reason => required("override_reason"),
        Action::RetryWithModel if !has_model => required("model_id"),
        Action::RetryWithModel => Ok(()),
        _ if has_model => Err(Error::invalid("model_id", "absent", "`model_id` belongs to `retry_with_model`")),
        _ => Ok(()),
    }
}

impl Case<'_> {
    async fn carry_out(&mut self, assigned_to: &str) -> Result<Option<Review>> {
        match self.recovery.action_type {
            Action::Retry => self.again(Level::L1),
            Action::RetryWithModel => self.again(Level::L2),
            Action::Repair => self.repair().await?,
            Action::Approve => self.approve().await?,
            Action::Block => self.block().await?,
            Action::Escalate => return self.escalate(assigned_to).await.map(Some),
        }
        Ok(None)
    }

    /// The task may be tried at once.
    fn again(&mut self, level: Level) {
        self.recovery.level = Some(level);
        self.task.blocked_reason = None;
        self.task.awaits_repair = None;
        self.task.not_before = None;
        let reason = self.reason.as_deref().unwrap_or("a person wants it tried again");
        self.task.next_attempt_hint = Some(plan::hint(&self.recovery, None, reason));
        self.recovery.new_attempt_hint.clone_from(&self.task.next_attempt_hint);
    }

    async fn repair(&mut self) -> Result<()> {
        if self.task.repairs.is_some() {
            return Err(Error::conflict("is_repair", "a repair is not repaired"));
        }
        let artifact_id = artifacts::last_of_task(self.change.tx, &self.task.id).await?.map(|artifact| artifact.id);
        self.again(Level::L3);
        let evidence = json!({"artifact_id": artifact_id, "failure_reason": self.attempt.failure_reason});
        plan::repair(&mut self.change, &mut self.task, &self.attempt, evidence).await?;
        let reason = self.reason.as_deref().unwrap_or("a person wants it repaired");
        self.task.next_attempt_hint = Some(plan::hint(&self.recovery, artifact_id.as_deref(), reason));
        self.recovery.new_attempt_hint.clone_from(&self.task.next_attempt_hint);
        Ok(())
    }

    /// The last artifact is accepted as it is: the task is done.
    async fn approve(&mut self) -> Result<()> {
        let Some(artifact) = artifacts::last_of_task(self.change.tx, &self.task.id).await? else {
            return Err(Error::conflict("no_artifact", "the task has made nothing that could be accepted"));
        };
        let made = Made { task_id: None, attempt_id: Some(&artifact.attempt_id) };
        people::four_eyes(self.cx, self.change.tx, made).await?;
        self.task.turn(TaskStatus::Completed, self.change.now)?;
        let (org_id, who) = (self.cx.org_id(), self.recovery.executed_by.clone());
        let release = Release {
            artifact_ids: json!([artifact.id]),
            artifact_id: Some(artifact.id),
            override_reason: self.reason.clone(),
            ..Release::new(&self.change, org_id, &self.task.project_id, ReleaseOutcome::Approved, &who)
        };
        releases::insert(self.change.tx, &release).await
    }

    /// Nobody tries it any more; who is at it is asked to stop.
    async fn block(&mut self) -> Result<()> {
        self.recovery.level = Some(Level::Blocked);
        self.task.blocked_reason.clone_from(&self.reason);
        if let Some(active) = &self.active {
            attempts::ask_to_stop(self.change.tx, &active.id, self.change.now).await?;
            if active.id == self.attempt.id {
                self.attempt = attempts::find(self.change.tx, self.cx.org_id(), &active.id).await?;
            }
        }
        Ok(())
    }

    /// A person is asked; what nobody is at waits for them.
    async fn escalate(&mut self, assigned_to: &str) -> Result<Review> {
        self.recovery.level = Some(Level::L4);
        let reason = self.reason.clone().unwrap_or_else(|| "a person was asked for".to_owned());
        if self.active.is_none() {
            self.task.blocked_reason = Some(reason.clone());
        }
        let who = &self.recovery.executed_by;
        let review = plan::ask(&mut self.change, &self.task, &self.attempt, &reason, assigned_to, who).await?;
        self.recovery.review_id = Some(review.id.clone());
        Ok(review)
    }
}
