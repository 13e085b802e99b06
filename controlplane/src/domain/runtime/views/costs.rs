//! "Total cost, invocation count, token count, per model, `freshness`."

use chrono::Duration;
use contract::{OrgId, Timestamp};
use platform::Result;
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::{Freshness, SLO_MS};
use crate::domain::runtime::{clock, fields};

const WINDOW_DAYS: i64 = 7;
const WINDOW_DAYS_MAX: i32 = 90;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Window {
    window_days: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct InvocationCosts {
    total_cost_usd: f64,
    total_invocations: i64,
    total_tokens: i64,
    by_model: Vec<ModelCosts>,
    freshness: Freshness,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ModelCosts {
    model_id: String,
    invocations: i64,
    input_tokens: i64,
    output_tokens: i64,
    cost_usd: f64,
    errors: i64,
    p50_latency_ms: f64,
    p99_latency_ms: f64,
}

pub async fn view(cx: Call, Query(window): Query<Window>) -> Result<Json<InvocationCosts>> {
    let days = fields::integer("window_days", window.window_days.unwrap_or(WINDOW_DAYS), 1, WINDOW_DAYS_MAX)?;
    let mut conn = cx.app.pool().acquire().await?;
    let asked = clock::now(&mut conn).await?;
    let by_model = by_model(&mut conn, cx.org_id(), asked - Duration::days(days.into())).await?;
    let tokens = |model: &ModelCosts| model.input_tokens.saturating_add(model.output_tokens);
    Ok(Json(InvocationCosts {
        total_cost_usd: by_model.iter().map(|model| model.cost_usd).sum(),
        total_invocations: by_model.iter().map(|model| model.invocations).sum(),
        total_tokens: by_model.iter().map(tokens).sum(),
        by_model,
        freshness: Freshness::of(asked, clock::now(&mut conn).await?, SLO_MS),
    }))
}

/// The dearest model first.
async fn by_model(conn: &mut PgConnection, org_id: &OrgId, since: Timestamp) -> Result<Vec<ModelCosts>> {
    let found = sqlx::query_as!(
        ModelCosts,
        r#"select model_id, count(*) as "invocations!", sum(input_tokens)::bigint as "input_tokens!",
             sum(output_tokens)::bigint as "output_tokens!", sum(cost_usd) as "cost_usd!",
             count(error) as "errors!",
             percentile_cont(0.5) within group (order by latency_ms) as "p50_latency_ms!",
             percentile_cont(0.99) within group (order by latency_ms) as "p99_latency_ms!"
           from svc_runtime.llm_invocations
           where org_id = $1 and created_at >= $2
           group by model_id
           order by sum(cost_usd) desc, model_id"#,
        org_id.as_str(),
        since,
    );
    Ok(found.fetch_all(conn).await?)
}
