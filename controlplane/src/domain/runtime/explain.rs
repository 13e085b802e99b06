//! Explain: why an artifact or an attempt is what it is, in one bundle.
//!
//! "GET `/v2/explain/:attempt_id`"; the id of an artifact is taken too, and explained by its attempt.

use contract::{Access, OrgId, Scope};
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use platform::http::routes::Routes;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::PgConnection;

use super::artifacts::lineage::{self, Direction, Graph};
use super::artifacts::{self, Artifact, Validation};
use super::attempts::{self, Attempt};
use super::decisions::{self, Decision};
use super::events::{self, WorkflowEvent};
use super::fields;
use super::invocations::{self, Invocation};
use super::recovery::{self, Recovery};
use super::releases::{self, Release};
use super::reviews::{self, ReviewShown};
use super::tasks::{self, Task};

const EVENTS: i64 = 100;
const EVENTS_MAX: i32 = 1_000;

pub fn routes() -> Routes {
    Routes::new()
        .get("/v2/explain/{id}", Access::Member, Scope::Agent, get)
        .says("Explains an artifact or an attempt by all that led to it.")
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ExplanationExtent {
    max_events: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Explanation {
    /// The one that was asked for.
    artifact: Option<Artifact>,
    attempt: Attempt,
    task: Task,
    decisions: Vec<Decision>,
    invocations: Vec<Invocation>,
    artifacts: Vec<Artifact>,
    validations: Vec<Validation>,
    /// The last of the attempt, in their order.
    events: Vec<WorkflowEvent>,
    recovery_actions: Vec<Recovery>,
    reviews: Vec<ReviewShown>,
    /// The last word on the artifact.
    release: Option<Release>,
    lineage: Option<ExplainedLineage>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExplainedLineage {
    upstream: Graph,
    downstream: Graph,
}

async fn get(cx: Call, Query(extent): Query<ExplanationExtent>) -> Result<Json<Explanation>> {
    let most = fields::integer("max_events", extent.max_events.unwrap_or(EVENTS), 0, EVENTS_MAX)?;
    let id: String = cx.id("id")?;
    // One snapshot: what the parts say of each other fits together.
    let mut tx = cx.begin().await?;
    sqlx::query!("set transaction isolation level repeatable read, read only").execute(&mut *tx).await?;
    let artifact = match artifacts::find(&mut tx, cx.org_id(), &id).await {
        Ok(artifact) => Some(artifact),
        Err(Error::NotFound { .. }) => None,
        Err(error) => return Err(error),
    };
    let attempt_id = artifact.as_ref().map_or(id, |artifact| artifact.attempt_id.clone());
    bundle(&mut tx, cx.org_id(), &attempt_id, artifact, most).await.map(Json)
}

/// The same of an attempt, as evidence.
pub async fn of_attempt(conn: &mut PgConnection, org_id: &OrgId, attempt_id: &str, most: i32) -> Result<Value> {
    serde_json::to_value(bundle(conn, org_id, attempt_id, None, most).await?).map_err(Error::internal)
}

async fn bundle(
    conn: &mut PgConnection,
    org_id: &OrgId,
    attempt_id: &str,
    artifact: Option<Artifact>,
    most: i32,
) -> Result<Explanation> {
    let attempt = attempts::find(conn, org_id, attempt_id).await?;
    let task = tasks::find(conn, org_id, &attempt.task_id).await?;
    let mut decisions = decisions::of_task(conn, &task.id).await?;
    decisions.retain(|decision| decision.attempt_id == attempt.id);
    let mut invocations = invocations::of_task(conn, &task.id).await?;
    invocations.retain(|call| decisions.iter().any(|decision| decision.id == call.decision_id));
    let mut artifacts = artifacts::of_task(conn, &task.id).await?;
    artifacts.retain(|artifact| artifact.attempt_id == attempt.id);
    let validations = artifacts::validations_of_attempt(conn, &attempt.id).await?;
    let events = events::newest_of_attempt(conn, &attempt.id, most).await?;
    let mut recovery_actions = recovery::of_task(conn, &task.id).await?;
    recovery_actions.retain(|recovery| recovery.task_attempt_id == attempt.id);
    let mut reviews = reviews::store::of_task(conn, &task.id).await?;
    reviews.retain(|review| review.attempt_id.as_ref().is_none_or(|id| *id == attempt.id));
    let (release, lineage) = match &artifact {
        Some(artifact) => {
            let upstream = lineage::walk(conn, org_id, &artifact.id, Direction::Upstream, lineage::DEPTH).await?;
            let downstream = lineage::walk(conn, org_id, &artifact.id, Direction::Downstream, lineage::DEPTH).await?;
            (releases::of_artifact(conn, org_id, &artifact.id).await?, Some(ExplainedLineage { upstream, downstream }))
        }
        None => (None, None),
    };
    let reviews = reviews.into_iter().map(ReviewShown::from).collect();
    Ok(Explanation {
        artifact,
        attempt,
        task,
        decisions,
        invocations,
        artifacts,
        validations,
        events,
        recovery_actions,
        reviews,
        release,
        lineage,
    })
}

#[cfg(test)]
mod tests;
