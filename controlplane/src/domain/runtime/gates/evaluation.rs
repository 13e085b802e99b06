//! `POST /v2/gates/:gate_id/evaluate`: the rule of a project over a bag of facts.
//!
//! "Result body fields: `result`, `gate_id`, `passed_conditions`, `failed_conditions`, and for
//! `PendingManual` `approval_role`, `client_sign_off`, `action_url`."

use contract::{Timestamp, ids};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::predicate::Condition;
use super::{Gate, GateEvaluation, GateId, GateResult, store};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::events::{self, EventSubject};
use crate::domain::runtime::notifications::{self, Notification};
use crate::domain::runtime::reviews::{self, EntityType, Review};
use crate::domain::runtime::{actor, clock, fields, tasks};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateFacts {
    project_id: String,
    facts: fields::Object,
    task_id: Option<String>,
    /// Says what would come of it, and keeps nothing.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct GateVerdict {
    evaluation_id: Option<String>,
    result: GateResult,
    gate_id: GateId,
    passed_conditions: Vec<Condition>,
    failed_conditions: Vec<Condition>,
    #[serde(flatten)]
    sign_off: Option<GateSignOff>,
    facts_hash: String,
    gate_version: i32,
    evaluated_at: Timestamp,
}

/// Whom a passed gate still waits for.
#[derive(Debug, Serialize, JsonSchema)]
struct GateSignOff {
    approval_role: String,
    client_sign_off: bool,
    /// Absent in a dry run.
    action_url: Option<String>,
    review_id: Option<String>,
}

pub async fn evaluate(cx: Call, Json(asked): Json<GateFacts>) -> Result<Json<GateVerdict>> {
    let gate_id = GateId::of(&cx.id::<String>("gate_id")?)?;
    let project_id = fields::name("project_id", &asked.project_id)?;
    let facts = fields::object("facts", asked.facts)?;
    let mut tx = cx.begin().await?;
    let now = clock::now(&mut tx).await?;
    if let Some(task_id) = &asked.task_id {
        tasks::find(&mut tx, cx.org_id(), task_id).await?;
    }
    let gate = store::of_project(&mut tx, cx.org_id(), gate_id, Some(&project_id)).await?;
    let (passed, failed): (Vec<_>, Vec<_>) =
        gate.predicates.iter().map(|predicate| predicate.evaluate(&facts)).partition(|(passed, _)| *passed);
    let conditions = |all: Vec<(bool, Condition)>| all.into_iter().map(|(_, condition)| condition).collect::<Vec<_>>();
    let (passed, failed) = (conditions(passed), conditions(failed));
    let evaluation = GateEvaluation {
        id: ids::fresh(now, cx.app.entropy()),
        project_id,
        gate_id: gate_id.as_str().to_owned(),
        gate_version: gate.version,
        task_id: asked.task_id,
        result: result(&gate, &failed),
        facts_hash: hash(&facts)?,
        facts,
        passed_conditions: json!(passed),
        failed_conditions: json!(failed),
        evaluated_by: actor::of(&cx.caller),
        evaluated_at: now,
    };
    let review = if asked.dry_run {
        None
    } else {
        keep(&cx, &mut Change { app: &cx.app, tx: &mut tx, now }, &gate, &evaluation).await?
    };
    tx.commit().await?;
    let sign_off = (evaluation.result == GateResult::PendingManual).then(|| GateSignOff {
        approval_role: gate.approval_role,
        client_sign_off: gate.client_sign_off_required,
        action_url: review.as_ref().map(|review| reviews::action_url(&review.id)),
        review_id: review.as_ref().map(|review| review.id.clone()),
    });
    Ok(Json(GateVerdict {
        evaluation_id: (!asked.dry_run).then_some(evaluation.id),
        result: evaluation.result,
        gate_id,
        passed_conditions: passed,
        failed_conditions: failed,
        sign_off,
        facts_hash: evaluation.facts_hash,
        gate_version: gate.version,
        evaluated_at: now,
    }))
}

fn result(gate: &Gate, failed: &[Condition]) -> GateResult {
    match (failed.is_empty(), gate.auto_approvable) {
        (false, _) => GateResult::Failed,
        (true, true) => GateResult::AutoApproved,
        (true, false) => GateResult::PendingManual,
    }
}

/// Of the canonical text: the same facts have one hash.
fn hash(facts: &Value) -> Result<String> {
    let text = serde_json_canonicalizer::to_vec(facts).map_err(Error::internal)?;
    Ok(format!("sha256:{}", hex::encode(Sha256::digest(text))))
}

/// Stores the evaluation; asks for a review where a person has to decide, and tells them.
async fn keep(cx: &Call, change: &mut Change<'_>, gate: &Gate, evaluation: &GateEvaluation) -> Result<Option<Review>> {
    store::insert(change.tx, cx.org_id(), evaluation).await?;
    if let Some(task_id) = &evaluation.task_id {
        let task = tasks::find(change.tx, cx.org_id(), task_id).await?;
        let payload = json!({
            "gate_id": evaluation.gate_id,
            "evaluation_id": evaluation.id,
            "result": evaluation.result,
            "facts_hash": evaluation.facts_hash,
        });
        let who = &evaluation.evaluated_by;
        events::append(change, EventSubject::task(&task), "gate_evaluated", payload, who).await?;
    }
    if evaluation.result != GateResult::PendingManual {
        return Ok(None);
    }
    let entity = (EntityType::Gate, evaluation.gate_id.as_str());
    let review = Review {
        task_id: evaluation.task_id.clone(),
        gate_evaluation_id: Some(evaluation.id.clone()),
        reason: format!("{} waits for approval", gate.name),
        assigned_to: gate.approval_role.clone(),
        evidence_bundle: json!({"facts_hash": evaluation.facts_hash, "passed_conditions": evaluation.passed_conditions}),
        requested_by: evaluation.evaluated_by.clone(),
        ..Review::fresh(change, cx.org_id().as_str(), &evaluation.project_id, entity)
    };
    let review = reviews::request(change, &review).await?;
    notifications::send(&cx.app, change.tx, cx, Notification::GateReady, &review).await?;
    if gate.client_sign_off_required {
        notifications::send(&cx.app, change.tx, cx, Notification::SignOffNeeded, &review).await?;
    }
    Ok(Some(review))
}
