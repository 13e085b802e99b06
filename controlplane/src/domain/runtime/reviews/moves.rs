//! The moves of a review: approve, reject, defer, and `resolve`, which is each of them and
//! `blocked`: rejected, and the release blocked.
//!
//! "PUT /v2/reviews/:id/resolve; POST …/approve: optional notes; …/reject: mandatory reason;
//! …/defer: new deadline."

use contract::Timestamp;
use platform::http::call::Call;
use platform::http::json::{Json, MaybeJson};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::http::to_come;
use super::{EntityType, Review, ReviewShown, ReviewStatus, say, store};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::notifications::{self, Notification};
use crate::domain::runtime::people::{self, Made};
use crate::domain::runtime::releases::{self, Release, ReleaseOutcome};
use crate::domain::runtime::tasks::Task;
use crate::domain::runtime::{attempts, fields, recovery};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ReviewOutcome {
    Approved,
    Rejected,
    Blocked,
    Deferred,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewResolution {
    outcome: ReviewOutcome,
    decided_by: Option<String>,
    expected_version: Option<i32>,
    resolution_reason: Option<String>,
    /// When a deferred review is due.
    until: Option<Timestamp>,
    #[serde(default)]
    evidence_bundle: fields::Object,
    policy_version: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewApproval {
    notes: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ReviewRejection")]
#[serde(deny_unknown_fields)]
pub struct Rejection {
    reason: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ReviewDeferral")]
#[serde(deny_unknown_fields)]
pub struct Deferral {
    until: Timestamp,
    reason: Option<String>,
}

/// A decision, however it was said.
struct ReviewDecision {
    outcome: ReviewOutcome,
    reason: Option<String>,
    notes: Option<String>,
    until: Option<Timestamp>,
    expected_version: Option<i32>,
    evidence_bundle: Value,
    policy_version: Option<String>,
}

impl ReviewDecision {
    fn plain(outcome: ReviewOutcome) -> Self {
        Self {
            outcome,
            reason: None,
            notes: None,
            until: None,
            expected_version: None,
            evidence_bundle: json!({}),
            policy_version: None,
        }
    }
}

pub async fn resolve(cx: Call, Json(resolution): Json<ReviewResolution>) -> Result<Json<ReviewShown>> {
    let decision = ReviewDecision {
        outcome: resolution.outcome,
        reason: fields::maybe_prose("resolution_reason", resolution.resolution_reason.as_deref())?,
        notes: None,
        until: resolution.until,
        expected_version: resolution.expected_version,
        evidence_bundle: fields::object("evidence_bundle", resolution.evidence_bundle)?,
        policy_version: fields::maybe_name("policy_version", resolution.policy_version.as_deref())?,
    };
    if resolution.decided_by.is_some_and(|by| !is_caller(&cx, &by)) {
        return Err(Error::invalid("decided_by", "caller", "`decided_by` is whoever asks: nobody decides for others"));
    }
    decide(&cx, decision).await.map(Json)
}

/// The caller's user id, as records name it or bare, or their e-mail.
fn is_caller(cx: &Call, given: &str) -> bool {
    let user = cx.caller.user_id.as_ref().map(contract::UserId::as_str);
    let bare = given.strip_prefix("user:").unwrap_or(given);
    user == Some(bare) || cx.caller.email.as_deref() == Some(given)
}

pub async fn approve(cx: Call, MaybeJson(approval): MaybeJson<ReviewApproval>) -> Result<Json<ReviewShown>> {
    let notes = fields::maybe_prose("notes", approval.notes.as_deref())?;
    decide(&cx, ReviewDecision { notes, ..ReviewDecision::plain(ReviewOutcome::Approved) }).await.map(Json)
}

pub async fn reject(cx: Call, Json(rejection): Json<Rejection>) -> Result<Json<ReviewShown>> {
    let reason = Some(fields::prose("reason", &rejection.reason)?);
    decide(&cx, ReviewDecision { reason, ..ReviewDecision::plain(ReviewOutcome::Rejected) }).await.map(Json)
}

pub async fn defer(cx: Call, Json(deferral): Json<Deferral>) -> Result<Json<ReviewShown>> {
    let reason = fields::maybe_prose("reason", deferral.reason.as_deref())?;
    decide(
        &cx,
        ReviewDecision { reason, until: Some(deferral.until), ..ReviewDecision::plain(ReviewOutcome::Deferred) },
    )
    .await
    .map(Json)
}

async fn decide(cx: &Call, decision: ReviewDecision) -> Result<ReviewShown> {
    let who = people::person(cx)?;
    let mut tx = cx.begin().await?;
    let (mut review, task) = super::lock(cx, &mut tx, &cx.id::<String>("review_id")?).await?;
    people::assigned(cx, &review.assigned_to)?;
    if decision.expected_version.is_some_and(|version| version != review.version) {
        let known = json!({"version": review.version});
        return Err(Error::state_conflict("version_conflict", "the review has changed since", &known));
    }
    let mut change = Change::begin(&cx.app, &mut tx).await?;
    let now = change.now;
    review.turn(match decision.outcome {
        ReviewOutcome::Approved => ReviewStatus::Approved,
        ReviewOutcome::Rejected | ReviewOutcome::Blocked => ReviewStatus::Rejected,
        ReviewOutcome::Deferred => ReviewStatus::Deferred,
    })?;
    fits(&decision, now)?;
    if decision.outcome == ReviewOutcome::Approved {
        let made = Made { task_id: review.task_id.as_deref(), attempt_id: review.attempt_id.as_deref() };
        people::four_eyes(cx, change.tx, made).await?;
    }
    if decision.outcome == ReviewOutcome::Deferred {
        review.due_at = decision.until;
    } else {
        (review.reviewed_by, review.reviewed_at) = (Some(who.clone()), Some(now));
    }
    review.resolution_reason.clone_from(&decision.reason);
    review.reviewer_notes = decision.notes.clone().or(decision.reason.clone()).or(review.reviewer_notes);
    store::save(change.tx, &mut review, now).await?;
    let action = serde_json::to_value(decision.outcome).map_err(Error::internal)?;
    say(&mut change, &review, action.as_str().unwrap_or_default(), &who).await?;
    if decision.outcome == ReviewOutcome::Approved && review.entity_type == EntityType::Recovery {
        resume(cx, &mut change, &review, task, &who).await?;
    }
    release(cx, &mut change, &review, decision, &who).await?;
    notify(cx, change.tx, &review).await?;
    tx.commit().await?;
    Ok(review.into())
}

/// "Pipeline resumes."
async fn resume(cx: &Call, change: &mut Change<'_>, review: &Review, task: Option<Task>, who: &str) -> Result<()> {
    let (Some(mut task), Some(attempt_id)) = (task, &review.attempt_id) else { return Ok(()) };
    let attempt = attempts::lock(change.tx, cx.org_id(), attempt_id).await?;
    recovery::resume(change, &mut task, &attempt, review, who).await
}

/// What each outcome has to come with.
fn fits(decision: &ReviewDecision, now: Timestamp) -> Result<()> {
    let required = |field: &'static str, why: &str| Err(Error::invalid(field, "required", format!("`{field}` {why}")));
    match decision.outcome {
        ReviewOutcome::Rejected | ReviewOutcome::Blocked if decision.reason.is_none() => {
            required("resolution_reason", "says why it was rejected")
        }
        ReviewOutcome::Deferred if decision.until.is_none() => required("until", "says until when it is deferred"),
        ReviewOutcome::Deferred => to_come("until", decision.until, now),
        _ if decision.until.is_some() => Err(Error::invalid("until", "absent", "only a deferred review has `until`")),
        _ => Ok(()),
    }
}

/// "`approved`/`blocked` also write a Release row."
async fn release(
    cx: &Call,
    change: &mut Change<'_>,
    review: &Review,
    decision: ReviewDecision,
    who: &str,
) -> Result<()> {
    let outcome = match decision.outcome {
        ReviewOutcome::Approved => ReleaseOutcome::Approved,
        ReviewOutcome::Blocked => ReleaseOutcome::Blocked,
        ReviewOutcome::Rejected | ReviewOutcome::Deferred => return Ok(()),
    };
    let gate_id = (review.entity_type == EntityType::Gate).then(|| review.entity_id.clone());
    let release = Release {
        review_id: Some(review.id.clone()),
        artifact_id: review.artifact_id.clone(),
        artifact_ids: json!(review.artifact_id.iter().collect::<Vec<_>>()),
        gate_id,
        evidence_bundle: decision.evidence_bundle,
        policy_version: decision.policy_version,
        rationale: review.reviewer_notes.clone(),
        ..Release::new(change, cx.org_id(), &review.project_id, outcome, who)
    };
    releases::insert(change.tx, &release).await
}

/// "Gate approved (to client and pm), gate rejected (to pm)."
async fn notify(cx: &Call, tx: &mut PgConnection, review: &Review) -> Result<()> {
    let notification = match review.status {
        ReviewStatus::Approved => Notification::GateApproved,
        ReviewStatus::Rejected => Notification::GateRejected,
        _ => return Ok(()),
    };
    if review.entity_type != EntityType::Gate {
        return Ok(());
    }
    notifications::send(&cx.app, tx, cx, notification, review).await
}
