//! The worker says how it ended. Said again the same way within a day, it is answered the same;
//! said otherwise, it is refused: an attempt ends once.

use chrono::Duration;
use platform::http::call::Call;
use platform::http::json::Json;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Attempt, AttemptStatus, Ending, end, lease, store};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::recovery::{self, FailureKind};
use crate::domain::runtime::tasks::{self, TaskStatus};
use crate::domain::runtime::{actor, fields};

const REPLAYED_FOR: Duration = Duration::hours(24);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AttemptOutcome {
    Succeeded,
    Failed,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "AttemptCompletion")]
#[serde(deny_unknown_fields)]
pub struct Completion {
    lease_token: String,
    outcome: AttemptOutcome,
    failure_reason: Option<String>,
    failure_kind: Option<FailureKind>,
    result: Option<fields::Object>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "AttemptFailure")]
#[serde(deny_unknown_fields)]
pub struct AttemptFailure {
    lease_token: String,
    failure_reason: Option<String>,
    failure_kind: Option<FailureKind>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CompletedAttempt")]
struct Completed {
    #[serde(flatten)]
    attempt: Attempt,
    task_status: TaskStatus,
    /// What the next attempt should do otherwise.
    next_attempt_hint: Option<Value>,
}

/// A [`Completed`] that may have been stored since.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct StoredCompletion(#[schemars(with = "Completed")] Value);

pub async fn complete(cx: Call, Json(completion): Json<Completion>) -> Result<Json<StoredCompletion>> {
    let attempt_id: String = cx.id("attempt_id")?;
    let Completion { lease_token, outcome, failure_reason, failure_kind, result } = completion;
    let result = fields::maybe_object("result", result)?;
    let ending = ending(outcome, failure_reason.as_deref(), failure_kind)?;
    finish(&cx, &attempt_id, &lease_token, ending, result).await.map(StoredCompletion).map(Json)
}

pub async fn fail(cx: Call, Json(failure): Json<AttemptFailure>) -> Result<Json<StoredCompletion>> {
    let attempt_id: String = cx.id("attempt_id")?;
    let ending = ending(AttemptOutcome::Failed, failure.failure_reason.as_deref(), failure.failure_kind)?;
    finish(&cx, &attempt_id, &failure.lease_token, ending, None).await.map(StoredCompletion).map(Json)
}

/// "`failure_reason` string when failed."
fn ending(outcome: AttemptOutcome, reason: Option<&str>, kind: Option<FailureKind>) -> Result<Ending> {
    let reason = fields::maybe_prose("failure_reason", reason)?;
    match (outcome, reason) {
        (AttemptOutcome::Failed, None) => {
            Err(Error::invalid("failure_reason", "required", "`failure_reason` says why the attempt failed"))
        }
        (AttemptOutcome::Failed, reason) => Ok(Ending::new(AttemptStatus::Failed, kind, reason)),
        (AttemptOutcome::Succeeded, None) if kind.is_none() => Ok(Ending::new(AttemptStatus::Succeeded, None, None)),
        (AttemptOutcome::Succeeded, _) => {
            Err(Error::invalid("failure_reason", "absent", "an attempt that succeeded has no failure"))
        }
    }
}

async fn finish(cx: &Call, attempt_id: &str, token: &str, mut ending: Ending, result: Option<Value>) -> Result<Value> {
    let request = json!([ending.status, ending.kind, ending.reason, result]);
    let request_sha256 = Sha256::digest(request.to_string()).to_vec();
    let mut tx = cx.begin().await?;
    let mut task = tasks::lock_of_attempt(&mut tx, cx.org_id(), attempt_id).await?;
    let mut attempt = store::lock(&mut tx, cx.org_id(), attempt_id).await?;
    let mut change = Change::begin(&cx.app, &mut tx).await?;
    let now = change.now;
    lease::proven(&attempt, token)?;
    lease::speaking(cx, &attempt)?;
    if let (Some(earlier), Some(answer)) = (&attempt.completion_sha256, &attempt.completion) {
        let is_recent = attempt.completed_at.is_some_and(|ended| now - ended <= REPLAYED_FOR);
        let is_same = *earlier == request_sha256 && is_recent;
        return if is_same { Ok(answer.clone()) } else { Err(lease::state_conflict(&attempt, "already_completed")) };
    }
    lease::held(&attempt, AttemptStatus::Running, now)?;
    attempt.result = result;
    if let (AttemptStatus::Failed, None, Some(reason)) = (ending.status, ending.kind, &ending.reason) {
        ending.kind = Some(recovery::derived(change.tx, attempt_id, reason).await?);
        ending.derived = true;
    }
    let who = actor::agent(attempt.agent_id.as_deref(), &cx.caller);
    let attempt = end(&mut change, &mut task, attempt, ending, &who).await?;
    let answer = Completed { attempt, task_status: task.status, next_attempt_hint: task.next_attempt_hint };
    let answer = serde_json::to_value(answer).map_err(Error::internal)?;
    store::remember(&mut tx, attempt_id, (&request_sha256, &answer), &actor::of(&cx.caller)).await?;
    tx.commit().await?;
    Ok(answer)
}
