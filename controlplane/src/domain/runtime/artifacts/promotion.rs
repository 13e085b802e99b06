//! `POST …/promote`: "sets `branch_id` to null in place".

use platform::http::call::Call;
use platform::http::json::{Json, MaybeJson};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Artifact, Verdict, store};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::events::{self, EventSubject};
use crate::domain::runtime::{actor, tasks};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactPromotion {
    /// Only what passed is promoted.
    #[serde(default)]
    require_validation: bool,
}

/// An event of the task: the attempt may be long over.
pub async fn promote(cx: Call, MaybeJson(promotion): MaybeJson<ArtifactPromotion>) -> Result<Json<Artifact>> {
    let mut tx = cx.begin().await?;
    let artifact_id: String = cx.id("artifact_id")?;
    let task_id = store::made_for(&mut tx, cx.org_id(), &artifact_id).await?;
    let task = tasks::lock(&mut tx, cx.org_id(), &task_id).await?;
    let artifact = store::lock(&mut tx, cx.org_id(), &artifact_id).await?;
    if artifact.branch_id.is_none() {
        return Ok(Json(artifact));
    }
    if promotion.require_validation && artifact.validation_status != Some(Verdict::Pass) {
        let known = json!({"validation_status": artifact.validation_status});
        return Err(Error::state_conflict("validation_failed", "the artifact has not passed validation", &known));
    }
    let mut change = Change::begin(&cx.app, &mut tx).await?;
    let who = actor::of(&cx.caller);
    store::supersede(change.tx, &artifact).await?;
    store::promote(change.tx, &artifact.id, &who, change.now).await?;
    let payload = json!({"artifact_id": artifact.id, "branch_id": artifact.branch_id});
    events::append(&mut change, EventSubject::task(&task), "artifact_promoted", payload, &who).await?;
    let promoted = store::lock(&mut tx, cx.org_id(), &artifact.id).await?;
    tx.commit().await?;
    Ok(Json(promoted))
}
