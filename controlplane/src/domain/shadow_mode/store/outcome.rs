//! Outcomes of a session's queries.

use contract::ShadowSessionId;
use platform::Result;
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;

/// "`statistics`: `queries_replayed`, `queries_matched`, `queries_mismatched`, `queries_failed`
/// (integers), `match_rate` number, `avg_latency_source_ms`, `avg_latency_service_ms`".
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[schemars(rename = "ShadowStatistics")]
pub struct Statistics {
    pub queries_replayed: i64,
    pub queries_matched: i64,
    pub queries_mismatched: i64,
    pub queries_failed: i64,
    pub match_rate: f64,
    pub avg_latency_source_ms: Option<f64>,
    pub avg_latency_service_ms: Option<f64>,
    #[serde(skip)]
    pub latencies: Latencies,
}

/// Over queries whose time is known on both sides.
#[derive(Debug, Clone, Default)]
pub struct Latencies {
    /// p50, p95, p99.
    pub source_ms: Vec<f64>,
    pub service_ms: Vec<f64>,
}

pub async fn statistics(conn: &mut PgConnection, session_id: &ShadowSessionId) -> Result<Statistics> {
    let row = sqlx::query!(
        r#"select count(*) as "replayed!",
                  count(*) filter (where verdict = 'matched') as "matched!",
                  count(*) filter (where verdict = 'error') as "failed!",
                  avg(source_ms) filter (where service_ms is not null) as source_avg,
                  avg(service_ms) filter (where source_ms is not null) as service_avg,
                  percentile_cont(array[0.5, 0.95, 0.99]::double precision[]) within group (order by source_ms)
                    filter (where source_ms is not null and service_ms is not null) as source,
                  percentile_cont(array[0.5, 0.95, 0.99]::double precision[]) within group (order by service_ms)
                    filter (where source_ms is not null and service_ms is not null) as service
           from shadow_queries where session_id = $1 and done_at is not null"#,
        session_id.as_str(),
    )
    .fetch_one(conn)
    .await?;
    Ok(Statistics {
        queries_replayed: row.replayed,
        queries_matched: row.matched,
        queries_mismatched: row.replayed.saturating_sub(row.matched).saturating_sub(row.failed),
        queries_failed: row.failed,
        match_rate: share(row.matched, row.replayed),
        avg_latency_source_ms: row.source_avg.map(micros),
        avg_latency_service_ms: row.service_avg.map(micros),
        latencies: Latencies {
            source_ms: row.source.into_iter().flatten().map(micros).collect(),
            service_ms: row.service.into_iter().flatten().map(micros).collect(),
        },
    })
}

/// Milliseconds to the microsecond: what is below is not of the query.
fn micros(ms: f64) -> f64 {
    (ms * 1_000.0).round() / 1_000.0
}

/// To four decimals; nothing of nothing is 0.
fn share(part: i64, whole: i64) -> f64 {
    let parts = part.saturating_mul(10_000).checked_div(whole).unwrap_or(0);
    f64::from(i32::try_from(parts).unwrap_or(0)) / 10_000.0
}

/// A query that did not match.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ShadowMismatch")]
pub struct Mismatch {
    pub query: String,
    pub reason: String,
    pub category: String,
}

/// The last of them.
pub async fn mismatches(conn: &mut PgConnection, session_id: &ShadowSessionId, most: i64) -> Result<Vec<Mismatch>> {
    let rows = sqlx::query_as!(
        Mismatch,
        r#"select shown as query, coalesce(reason, '') as "reason!", verdict as "category!"
           from shadow_queries
           where session_id = $1 and done_at is not null and verdict <> 'matched'
           order by done_at desc, shadow_id desc
           limit $2"#,
        session_id.as_str(),
        most,
    );
    Ok(rows.fetch_all(conn).await?)
}
