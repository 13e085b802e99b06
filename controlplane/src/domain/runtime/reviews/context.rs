//! `GET /v2/reviews/:id`: "review with context". The first look of somebody it is assigned to takes
//! it in review.

use platform::http::call::Call;
use platform::http::json::Json;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{EntityType, Review, ReviewShown, ReviewStatus, say, store};
use crate::domain::runtime::artifacts::{self, Artifact};
use crate::domain::runtime::attempts::{self, Attempt};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::gates::{self, GateEvaluation};
use crate::domain::runtime::tasks::{self, Task};
use crate::domain::runtime::{actor, people, recovery, releases};

#[derive(Debug, Serialize, JsonSchema)]
pub struct ReviewInContext {
    #[serde(flatten)]
    review: ReviewShown,
    context: Context,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReviewContext")]
struct Context {
    /// The artifact, gate, release or recovery itself.
    entity: Value,
    task: Option<Task>,
    attempt: Option<Attempt>,
    artifacts: Vec<Artifact>,
    gate_evaluation: Option<GateEvaluation>,
    explain_url: Option<String>,
}

pub async fn get(cx: Call) -> Result<Json<ReviewInContext>> {
    let mut tx = cx.begin().await?;
    let id: String = cx.id("review_id")?;
    let mut review = store::find(&mut tx, cx.org_id(), &id).await?;
    if review.status == ReviewStatus::Pending && people::is_assigned(&cx, &review.assigned_to) {
        (review, _) = super::lock(&cx, &mut tx, &id).await?;
        // Somebody may have come first.
        if review.status == ReviewStatus::Pending {
            let mut change = Change::begin(&cx.app, &mut tx).await?;
            review.turn(ReviewStatus::InReview)?;
            store::save(change.tx, &mut review, change.now).await?;
            say(&mut change, &review, "in_review", &actor::of(&cx.caller)).await?;
        }
    }
    let context = context(&cx, &mut tx, &review).await?;
    tx.commit().await?;
    Ok(Json(ReviewInContext { review: review.into(), context }))
}

async fn context(cx: &Call, conn: &mut sqlx::PgConnection, review: &Review) -> Result<Context> {
    let org_id = cx.org_id();
    let task = match &review.task_id {
        Some(task_id) => Some(tasks::find(conn, org_id, task_id).await?),
        None => None,
    };
    let attempt = match &review.attempt_id {
        Some(attempt_id) => Some(attempts::find(conn, org_id, attempt_id).await?),
        None => None,
    };
    let mut artifacts = match &review.task_id {
        Some(task_id) => artifacts::of_task(conn, task_id).await?,
        None => Vec::new(),
    };
    if let Some(attempt_id) = &review.attempt_id {
        artifacts.retain(|artifact| artifact.attempt_id == *attempt_id);
    }
    let gate_evaluation = match &review.gate_evaluation_id {
        Some(evaluation_id) => Some(gates::evaluation(conn, org_id, evaluation_id).await?),
        None => None,
    };
    let explained = review.artifact_id.as_ref().or(review.attempt_id.as_ref());
    Ok(Context {
        entity: entity(cx, conn, review).await?,
        task,
        attempt,
        artifacts,
        gate_evaluation,
        explain_url: explained.map(|id| format!("/v2/explain/{id}")),
    })
}

async fn entity(cx: &Call, conn: &mut sqlx::PgConnection, review: &Review) -> Result<Value> {
    let (org_id, id) = (cx.org_id(), review.entity_id.as_str());
    let value = match review.entity_type {
        EntityType::Artifact => serde_json::to_value(artifacts::find(conn, org_id, id).await?),
        EntityType::ReleaseDecision => serde_json::to_value(releases::find(conn, org_id, id).await?),
        EntityType::Gate => {
            let gate = gates::of_project(conn, org_id, gates::GateId::of(id)?, Some(&review.project_id)).await?;
            serde_json::to_value(gate)
        }
        EntityType::Recovery => match recovery::find(conn, org_id, id).await? {
            Some(recovery) => serde_json::to_value(recovery),
            None => serde_json::to_value(attempts::find(conn, org_id, id).await?),
        },
    };
    value.map_err(Error::internal)
}
