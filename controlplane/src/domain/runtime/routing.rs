//! Routing signals: how each model has done, for whoever chooses the next one.
//!
//! "`model_id`, `sample_size`, `success_rate`, `avg_confidence`, `avg_cost_usd`, `avg_latency_ms`,
//! `total_cost_usd`, `override_rate`, `p50_latency_ms`, `p99_latency_ms`."
//!
//! A sample is a decision for the model. It succeeded if its attempt did; what still runs or was
//! cancelled says nothing. It was overridden if a person put another model in its place, or accepted
//! by hand what it had made.

use chrono::Duration;
use contract::{Access, OrgId, Scope, Timestamp};
use platform::Result;
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use platform::http::routes::Routes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::views::{Freshness, SLO_MS};
use super::{clock, fields};

/// "`window_days` integer 1 to 90, default 7."
const WINDOW_DAYS: i64 = 7;
const WINDOW_DAYS_MAX: i32 = 90;

pub fn routes() -> Routes {
    Routes::new()
        .get("/v2/routing/signals", Access::Member, Scope::Agent, signals)
        .says("Tells how each model has done.")
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RoutingQuery {
    window_days: Option<i64>,
    project_id: Option<String>,
    kind: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RoutingSignals {
    window_days: i32,
    models: Vec<RoutingSignal>,
    freshness: Freshness,
}

/// What cannot be said of a model, because there is nothing to say it from, is null.
#[derive(Debug, Serialize, JsonSchema)]
struct RoutingSignal {
    model_id: String,
    sample_size: i64,
    success_rate: Option<f64>,
    avg_confidence: Option<f64>,
    avg_cost_usd: Option<f64>,
    avg_latency_ms: Option<f64>,
    total_cost_usd: f64,
    override_rate: f64,
    p50_latency_ms: Option<f64>,
    p99_latency_ms: Option<f64>,
}

async fn signals(cx: Call, Query(asked): Query<RoutingQuery>) -> Result<Json<RoutingSignals>> {
    let given = asked.window_days.unwrap_or(WINDOW_DAYS);
    let window_days = fields::integer("window_days", given, 1, WINDOW_DAYS_MAX)?;
    let mut conn = cx.app.pool().acquire().await?;
    let now = clock::now(&mut conn).await?;
    let models = of_models(&mut conn, cx.org_id(), &asked, now - Duration::days(window_days.into())).await?;
    let freshness = Freshness::of(now, clock::now(&mut conn).await?, SLO_MS);
    Ok(Json(RoutingSignals { window_days, models, freshness }))
}

/// The most used first.
async fn of_models(
    conn: &mut PgConnection,
    org_id: &OrgId,
    asked: &RoutingQuery,
    since: Timestamp,
) -> Result<Vec<RoutingSignal>> {
    let found = sqlx::query_as!(
        RoutingSignal,
        r#"with samples as (
             select d.id, d.model_id, d.confidence, a.status,
               exists (select from svc_runtime.recovery_actions r
                       where r.task_attempt_id = a.id and r.executed_by <> 'system' and r.status = 'initiated'
                         and r.action_type in ('retry_with_model', 'approve')) as overridden
             from svc_runtime.model_decisions d
             join svc_runtime.task_attempts a on a.id = d.attempt_id
             join svc_runtime.tasks t on t.id = d.task_id
             where d.org_id = $1 and d.created_at >= $2
               and ($3::text is null or t.project_id = $3) and ($4::text is null or t.kind = $4)
           ), chosen as (
             select model_id, count(*) as sample_size, avg(confidence) as avg_confidence,
               (count(*) filter (where status = 'succeeded'))::float8
                 / nullif(count(*) filter (where status in ('succeeded', 'failed', 'timed_out')), 0) as success_rate,
               (count(*) filter (where overridden))::float8 / count(*) as override_rate
             from samples group by model_id
           ), called as (
             select s.model_id, avg(i.cost_usd) as avg_cost_usd, sum(i.cost_usd) as total_cost_usd,
               avg(i.latency_ms)::float8 as avg_latency_ms,
               percentile_cont(0.5) within group (order by i.latency_ms) as p50_latency_ms,
               percentile_cont(0.99) within group (order by i.latency_ms) as p99_latency_ms
             from samples s join svc_runtime.llm_invocations i on i.decision_id = s.id
             group by s.model_id
           )
           select model_id as "model_id!", sample_size as "sample_size!", success_rate, avg_confidence, avg_cost_usd,
             avg_latency_ms, coalesce(total_cost_usd, 0) as "total_cost_usd!", override_rate as "override_rate!",
             p50_latency_ms, p99_latency_ms
           from chosen left join called using (model_id)
           order by sample_size desc, model_id"#,
        org_id.as_str(),
        since,
        asked.project_id,
        asked.kind,
    );
    Ok(found.fetch_all(conn).await?)
}

#[cfg(test)]
mod tests;
