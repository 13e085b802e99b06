//! The report of a session: "`summary`, `mismatches` array of `query`, `reason`, `category`, and
//! `performance` with p50, p95, p99 latency of source and service in ms".

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::sessions::latest;
use super::store::{self, Latencies, Mismatch, Statistics};
use contract::ShadowSessionId;
use platform::Result;
use platform::http::call::Call;
use platform::http::json::Json;

/// The last mismatches; a report is read by people.
const MISMATCHES_MAX: i64 = 100;

#[derive(Debug, Serialize, JsonSchema)]
pub struct ShadowReport {
    session_id: ShadowSessionId,
    id: ShadowSessionId,
    summary: ShadowSummary,
    mismatches: Vec<Mismatch>,
    performance: Map<String, Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ShadowSummary {
    total_queries: i64,
    matched: i64,
    mismatched: i64,
    failed: i64,
    match_rate: f64,
    latency_improvement: String,
}

pub async fn report(cx: Call) -> Result<Json<ShadowReport>> {
    let mut conn = cx.app.pool().acquire().await?;
    let session = latest(&cx, &mut conn).await?;
    let statistics = store::statistics(&mut conn, &session.session_id).await?;
    let mismatches = store::mismatches(&mut conn, &session.session_id, MISMATCHES_MAX).await?;
    Ok(Json(ShadowReport {
        id: session.session_id.clone(),
        session_id: session.session_id,
        summary: ShadowSummary {
            total_queries: statistics.queries_replayed,
            matched: statistics.queries_matched,
            mismatched: statistics.queries_mismatched,
            failed: statistics.queries_failed,
            match_rate: statistics.match_rate,
            latency_improvement: improvement(&statistics),
        },
        mismatches,
        performance: performance(&statistics.latencies),
    }))
}

/// How much less time the service takes on average, of what the source takes; below zero: more.
fn improvement(statistics: &Statistics) -> String {
    match (statistics.avg_latency_source_ms, statistics.avg_latency_service_ms) {
        (Some(source), Some(service)) if source > 0.0 => format!("{:.1}%", (source - service) / source * 100.0),
        _ => "unknown".to_owned(),
    }
}

fn performance(latencies: &Latencies) -> Map<String, Value> {
    let mut found = Map::new();
    for (at, name) in ["p50", "p95", "p99"].into_iter().enumerate() {
        for (side, values) in [("source", &latencies.source_ms), ("service", &latencies.service_ms)] {
            found.insert(format!("{name}_{side}_ms"), values.get(at).copied().into());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_improvement_is_a_share_of_the_source() {
        for (source, service, said) in [
            (Some(100.0), Some(25.0), "75.0%"),
            (Some(10.0), Some(15.0), "-50.0%"),
            (Some(0.0), Some(1.0), "unknown"),
            (None, None, "unknown"),
        ] {
            let statistics =
                Statistics { avg_latency_source_ms: source, avg_latency_service_ms: service, ..Statistics::default() };
            assert_eq!(improvement(&statistics), said);
        }
    }
}
