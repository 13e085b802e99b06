//! Model decisions: which model an attempt was given, and why. Append-only.
//!
//! "POST /v2/runtime/decisions: `attempt_id`, `model_id`, `routing_reason`, `confidence`,
//! `fallback_used`, `cost_estimate`; records a decision."

use contract::{Access, Code, OrgId, Scope, Timestamp, ids};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::http::routes::Routes;
use platform::{Error, Result, execute};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::PgConnection;

use super::{attempts, fields};

pub fn routes() -> Routes {
    Routes::new()
        .post("/v2/runtime/decisions", Access::Developer, Scope::Agent, record)
        .says("Records which model an attempt was given, and why.")
        .refuses(&[Code::NotFound])
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Decision {
    pub id: String,
    #[serde(skip)]
    pub task_id: String,
    pub attempt_id: String,
    pub model_id: String,
    pub routing_reason: Option<String>,
    pub confidence: Option<f64>,
    pub fallback_used: bool,
    pub cost_estimate: Option<f64>,
    pub context: Value,
    pub created_at: Timestamp,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DecisionInput")]
#[serde(deny_unknown_fields)]
pub struct Choice {
    attempt_id: String,
    model_id: String,
    routing_reason: Option<String>,
    confidence: Option<f64>,
    #[serde(default)]
    fallback_used: bool,
    cost_estimate: Option<f64>,
    #[serde(default)]
    context: fields::Object,
    /// Proves that the attempt is the caller's; whoever holds it may leave it out.
    lease_token: Option<String>,
}

async fn record(cx: Call, Json(choice): Json<Choice>) -> Result<Json<Decision>> {
    let model_id = fields::name("model_id", &choice.model_id)?;
    let routing_reason = fields::maybe_prose("routing_reason", choice.routing_reason.as_deref())?;
    let confidence = choice.confidence.map(|given| fields::share("confidence", given)).transpose()?;
    let cost_estimate = choice.cost_estimate.map(|given| fields::amount("cost_estimate", given)).transpose()?;
    let context = fields::object("context", choice.context)?;
    let mut tx = cx.begin().await?;
    let (attempt, now) = attempts::live(&cx, &mut tx, &choice.attempt_id, choice.lease_token.as_deref()).await?;
    let decision = Decision {
        id: ids::fresh(now, cx.app.entropy()),
        task_id: attempt.task_id,
        attempt_id: attempt.id,
        model_id,
        routing_reason,
        confidence,
        fallback_used: choice.fallback_used,
        cost_estimate,
        context,
        created_at: now,
    };
    insert(&mut tx, cx.org_id(), &decision).await?;
    tx.commit().await?;
    Ok(Json(decision))
}

async fn insert(tx: &mut PgConnection, org_id: &OrgId, decision: &Decision) -> Result<()> {
    execute!(
        tx,
        "insert into svc_runtime.model_decisions (id, org_id, task_id, attempt_id, model_id, routing_reason,
           confidence, fallback_used, cost_estimate, context, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        decision.id,
        org_id.as_str(),
        decision.task_id,
        decision.attempt_id,
        decision.model_id,
        decision.routing_reason,
        decision.confidence,
        decision.fallback_used,
        decision.cost_estimate,
        decision.context,
        decision.created_at,
    )
}

/// Decisions of a task, from the first.
pub async fn of_task(conn: &mut PgConnection, task_id: &str) -> Result<Vec<Decision>> {
    let found = sqlx::query_as!(
        Decision,
        "select id, task_id, attempt_id, model_id, routing_reason, confidence, fallback_used, cost_estimate, context,
           created_at
         from svc_runtime.model_decisions where task_id = $1 order by position",
        task_id,
    );
    Ok(found.fetch_all(conn).await?)
}

/// The task and the attempt that a decision was made for.
pub async fn made_for(conn: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<(String, String)> {
    let found = sqlx::query!(
        "select task_id, attempt_id from svc_runtime.model_decisions where org_id = $1 and id = $2",
        org_id.as_str(),
        id,
    );
    let row = found.fetch_optional(conn).await?.ok_or(Error::NotFound { kind: "decision" })?;
    Ok((row.task_id, row.attempt_id))
}

#[cfg(test)]
mod tests;
