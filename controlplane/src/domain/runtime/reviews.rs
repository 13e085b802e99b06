//! Reviews: what people are asked to decide, and what they decided.
//!
//! "Review request: `entity_type` (`gate`, `artifact`, `release_decision`, `recovery`), `entity_id`,
//! `project_id`, `reason`, `urgency` (`low`, `medium`, `high`, `critical`), `assigned_to` (role `pm`,
//! `client`, `admin`, or a specific email), `status` (`pending`, `in_review`, `approved`, `rejected`,
//! `deferred`), `created_at`, `reviewed_at` (null while pending), `reviewer_notes`."
//!
//! A review is open until it is approved or rejected; the first look of somebody it is assigned to
//! takes it in review. What is approved or blocked leaves a release (`releases`).

mod context;
mod http;
mod moves;
pub mod store;
mod subject;
#[cfg(test)]
mod tests;

use contract::{Access, Code, Scope, Timestamp, ids};
use platform::http::call::Call;
use platform::http::routes::Routes;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::change::Change;
use super::events::{self, EventSubject};
use super::tasks::{self, Task};

pub fn routes() -> Routes {
    use Access::{Developer, Member};
    const ALL: &str = "/v2/reviews";
    Routes::new()
        .post(ALL, Developer, Scope::Agent, http::create)
        .says("Requests a review.")
        .refuses(&[Code::NotFound])
        .get(ALL, Member, Scope::Agent, http::list)
        .says("Lists reviews, newest first.")
        .get("/v2/reviews/pending", Member, Scope::Agent, http::pending)
        .ours()
        .says("Lists the reviews that nobody has looked at.")
        .get("/v2/reviews/{review_id}", Member, Scope::Agent, context::get)
        .says("Reads a review with what it is about.")
        .put("/v2/reviews/{review_id}/resolve", Developer, Scope::Agent, moves::resolve)
        .says("Decides a review.")
        .post("/v2/reviews/{review_id}/approve", Developer, Scope::Agent, moves::approve)
        .says("Approves a review.")
        .post("/v2/reviews/{review_id}/reject", Developer, Scope::Agent, moves::reject)
        .says("Rejects a review, with a reason.")
        .post("/v2/reviews/{review_id}/defer", Developer, Scope::Agent, moves::defer)
        .says("Defers a review.")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::Type, JsonSchema)]
#[schemars(rename = "ReviewEntityType")]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum EntityType {
    Gate,
    Artifact,
    ReleaseDecision,
    Recovery,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::Type, JsonSchema)]
#[schemars(rename = "ReviewUrgency")]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Urgency {
    Low,
    Medium,
    High,
    Critical,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::Type, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum ReviewStatus {
    Pending,
    InReview,
    Approved,
    Rejected,
    Deferred,
}

impl ReviewStatus {
    /// Every change of state there is.
    pub const TURNS: [(Self, Self); 11] = [
        (Self::Pending, Self::InReview),
        (Self::Pending, Self::Approved),
        (Self::Pending, Self::Rejected),
        (Self::Pending, Self::Deferred),
        (Self::InReview, Self::Approved),
        (Self::InReview, Self::Rejected),
        (Self::InReview, Self::Deferred),
        (Self::Deferred, Self::InReview),
        (Self::Deferred, Self::Approved),
        (Self::Deferred, Self::Rejected),
        (Self::Deferred, Self::Deferred),
    ];
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Review {
    pub id: String,
    pub org_id: String,
    pub project_id: String,
    pub entity_type: EntityType,
    pub entity_id: String,
    pub task_id: Option<String>,
    pub attempt_id: Option<String>,
    pub artifact_id: Option<String>,
    pub gate_evaluation_id: Option<String>,
    pub gate_predicate_id: Option<String>,
    pub reason: String,
    pub urgency: Urgency,
    pub assigned_to: String,
    pub status: ReviewStatus,
    pub evidence_bundle: Value,
    pub requested_by: String,
    pub due_at: Option<Timestamp>,
    pub resolution_reason: Option<String>,
    pub reviewer_notes: Option<String>,
    pub reviewed_by: Option<String>,
    pub reviewed_at: Option<Timestamp>,
    pub version: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A review as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReviewShown {
    #[serde(flatten)]
    review: Review,
    requested_at: Timestamp,
    resolved_at: Option<Timestamp>,
    /// Where a person decides.
    action_url: String,
}

impl From<Review> for ReviewShown {
    fn from(review: Review) -> Self {
        Self {
            requested_at: review.created_at,
            resolved_at: review.reviewed_at,
            action_url: action_url(&review.id),
            review,
        }
    }
}

/// Asks for a review. A gate that already waits for one keeps it: it is pointed at the new
/// evaluation.
pub async fn request(change: &mut Change<'_>, review: &Review) -> Result<Review> {
    let stored = store::insert(change.tx, review).await?;
    let action = if stored.id == review.id { "requested" } else { "renewed" };
    say(change, &stored, action, &review.requested_by).await?;
    Ok(stored)
}

impl Review {
    /// One that nobody has looked at, of this entity of a project.
    pub fn fresh(change: &Change<'_>, org_id: &str, project_id: &str, entity: (EntityType, &str)) -> Self {
        let (entity_type, entity_id) = entity;
        Self {
            id: ids::fresh(change.now, change.app.entropy()),
            org_id: org_id.to_owned(),
            project_id: project_id.to_owned(),
            entity_type,
            entity_id: entity_id.to_owned(),
            task_id: None,
            attempt_id: None,
            artifact_id: None,
            gate_evaluation_id: None,
            gate_predicate_id: None,
            reason: String::new(),
            urgency: Urgency::Medium,
            assigned_to: String::new(),
            status: ReviewStatus::Pending,
            evidence_bundle: Value::Null,
            requested_by: String::new(),
            due_at: None,
            resolution_reason: None,
            reviewer_notes: None,
            reviewed_by: None,
            reviewed_at: None,
            version: 1,
            created_at: change.now,
            updated_at: change.now,
        }
    }

    /// Changes the state, if there is such a change.
    pub fn turn(&mut self, to: ReviewStatus) -> Result<()> {
        if !ReviewStatus::TURNS.contains(&(self.status, to)) {
            let known = json!({"status": self.status});
            return Err(Error::state_conflict("review_closed", "the review has been decided", &known));
        }
        self.status = to;
        Ok(())
    }
}

/// The review and its task, locked: the task first, as everywhere.
async fn lock(cx: &Call, tx: &mut PgConnection, id: &str) -> Result<(Review, Option<Task>)> {
    let task = match store::find(tx, cx.org_id(), id).await?.task_id {
        Some(task_id) => Some(tasks::lock(tx, cx.org_id(), &task_id).await?),
        None => None,
    };
    Ok((store::lock(tx, cx.org_id(), id).await?, task))
}

/// Where a person decides.
pub fn action_url(review_id: &str) -> String {
    format!("/v2/reviews/{review_id}")
}

/// An event of the task that the review is about, where there is one.
async fn say(change: &mut Change<'_>, review: &Review, action: &str, who: &str) -> Result<()> {
    let Some(task_id) = &review.task_id else { return Ok(()) };
    let task = tasks::find(change.tx, &review.org_id.as_str().into(), task_id).await?;
    let payload = json!({
        "action": action,
        "review_id": review.id,
        "entity_type": review.entity_type,
        "entity_id": review.entity_id,
        "reason": review.resolution_reason.as_ref().unwrap_or(&review.reason),
    });
    events::append(change, EventSubject::task(&task), "review_lifecycle", payload, who).await.map(drop)
}
