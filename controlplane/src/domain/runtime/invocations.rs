//! Model invocations: what each call to a model took, cost and answered with. Append-only.
//!
//! "POST /v2/runtime/invocations: `decision_id`, `model_id`, `input_tokens`, `output_tokens`,
//! `cost_usd`, `latency_ms`; records an invocation." A call that was made is recorded also when
//! its attempt has ended since: it has cost what it cost.

use contract::{Access, Code, OrgId, Scope, Timestamp, ids};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::http::routes::Routes;
use platform::{Result, execute};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::{clock, decisions, fields};

pub fn routes() -> Routes {
    Routes::new()
        .post("/v2/runtime/invocations", Access::Developer, Scope::Agent, record)
        .says("Records what a call to a model took and cost.")
        .refuses(&[Code::NotFound])
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Invocation {
    pub id: String,
    #[serde(skip)]
    pub task_id: String,
    pub decision_id: String,
    pub model_id: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cost_usd: f64,
    pub latency_ms: i64,
    pub prompt_hash: Option<String>,
    pub error: Option<String>,
    pub created_at: Timestamp,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvocationInput {
    decision_id: String,
    model_id: String,
    input_tokens: i64,
    output_tokens: i64,
    cost_usd: f64,
    latency_ms: i64,
    prompt_hash: Option<String>,
    error: Option<String>,
}

async fn record(cx: Call, Json(report): Json<InvocationInput>) -> Result<Json<Invocation>> {
    let mut tx = cx.begin().await?;
    let (task_id, _) = decisions::made_for(&mut tx, cx.org_id(), &report.decision_id).await?;
    let now = clock::now(&mut tx).await?;
    let invocation = Invocation {
        id: ids::fresh(now, cx.app.entropy()),
        task_id,
        decision_id: report.decision_id,
        model_id: fields::name("model_id", &report.model_id)?,
        input_tokens: fields::count("input_tokens", report.input_tokens)?,
        output_tokens: fields::count("output_tokens", report.output_tokens)?,
        cost_usd: fields::amount("cost_usd", report.cost_usd)?,
        latency_ms: fields::count("latency_ms", report.latency_ms)?,
        prompt_hash: fields::maybe_name("prompt_hash", report.prompt_hash.as_deref())?,
        error: fields::maybe_prose("error", report.error.as_deref())?,
        created_at: now,
    };
    insert(&mut tx, cx.org_id(), &invocation).await?;
    tx.commit().await?;
    Ok(Json(invocation))
}

async fn insert(tx: &mut PgConnection, org_id: &OrgId, invocation: &Invocation) -> Result<()> {
    execute!(
        tx,
        "insert into svc_runtime.llm_invocations (id, org_id, task_id, decision_id, model_id, input_tokens,
           output_tokens, cost_usd, latency_ms, prompt_hash, error, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        invocation.id,
        org_id.as_str(),
        invocation.task_id,
        invocation.decision_id,
        invocation.model_id,
        invocation.input_tokens,
        invocation.output_tokens,
        invocation.cost_usd,
        invocation.latency_ms,
        invocation.prompt_hash,
        invocation.error,
        invocation.created_at,
    )
}

/// Invocations of a task, from the first.
pub async fn of_task(conn: &mut PgConnection, task_id: &str) -> Result<Vec<Invocation>> {
    let found = sqlx::query_as!(
        Invocation,
        "select id, task_id, decision_id, model_id, input_tokens, output_tokens, cost_usd, latency_ms, prompt_hash,
           error, created_at
         from svc_runtime.llm_invocations where task_id = $1 order by position",
        task_id,
    );
    Ok(found.fetch_all(conn).await?)
}
