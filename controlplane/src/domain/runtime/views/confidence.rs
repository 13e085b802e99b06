//! "Confidence buckets low, medium, high and percentiles P50, P90, P99, `freshness`." Of all
//! artifacts: below 0.5 is low, below 0.8 medium.

use platform::Result;
use platform::http::call::Call;
use platform::http::json::Json;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Freshness, SLO_MS};
use crate::domain::runtime::clock;

#[derive(Debug, Serialize, JsonSchema)]
pub struct ConfidenceDistribution {
    total_artifacts: i64,
    low_confidence: i64,
    medium_confidence: i64,
    high_confidence: i64,
    /// Null while there is no artifact.
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    freshness: Freshness,
}

pub async fn view(cx: Call) -> Result<Json<ConfidenceDistribution>> {
    let mut conn = cx.app.pool().acquire().await?;
    let asked = clock::now(&mut conn).await?;
    let found = sqlx::query!(
        r#"select count(*) as "total!", count(*) filter (where confidence < 0.5) as "low!",
             count(*) filter (where confidence >= 0.5 and confidence < 0.8) as "medium!",
             count(*) filter (where confidence >= 0.8) as "high!",
             percentile_cont(0.5) within group (order by confidence) as p50,
             percentile_cont(0.9) within group (order by confidence) as p90,
             percentile_cont(0.99) within group (order by confidence) as p99
           from svc_runtime.artifact_instances where org_id = $1"#,
        cx.org_id().as_str(),
    )
    .fetch_one(&mut *conn)
    .await?;
    Ok(Json(ConfidenceDistribution {
        total_artifacts: found.total,
        low_confidence: found.low,
        medium_confidence: found.medium,
        high_confidence: found.high,
        p50: found.p50,
        p90: found.p90,
        p99: found.p99,
        freshness: Freshness::of(asked, clock::now(&mut conn).await?, SLO_MS),
    }))
}
