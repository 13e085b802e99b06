//! "Total recovery actions by kind and recent details, `freshness`."

use std::collections::BTreeMap;

use platform::Result;
use platform::http::call::Call;
use platform::http::json::Json;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Freshness, SLO_MS};
use crate::domain::runtime::clock;
use crate::domain::runtime::recovery::{self, Recovery};

#[derive(Debug, Serialize, JsonSchema)]
pub struct RecoveryActions {
    total: i64,
    by_kind: BTreeMap<String, i64>,
    by_level: BTreeMap<String, i64>,
    recent: Vec<Recovery>,
    freshness: Freshness,
}

const RECENT_MAX: i64 = 50;

pub async fn view(cx: Call) -> Result<Json<RecoveryActions>> {
    let mut conn = cx.app.pool().acquire().await?;
    let asked = clock::now(&mut conn).await?;
    let counted = sqlx::query!(
        r#"select action_type, coalesce(level, 'none') as "level!", count(*) as "count!"
           from svc_runtime.recovery_actions where org_id = $1 group by 1, 2"#,
        cx.org_id().as_str(),
    )
    .fetch_all(&mut *conn)
    .await?;
    let (mut by_kind, mut by_level) = (BTreeMap::new(), BTreeMap::new());
    for row in &counted {
        *by_kind.entry(row.action_type.clone()).or_insert(0) += row.count;
        *by_level.entry(row.level.clone()).or_insert(0) += row.count;
    }
    Ok(Json(RecoveryActions {
        total: counted.iter().map(|row| row.count).sum(),
        by_kind,
        by_level,
        recent: recovery::recent(&mut conn, cx.org_id(), RECENT_MAX).await?,
        freshness: Freshness::of(asked, clock::now(&mut conn).await?, SLO_MS),
    }))
}
