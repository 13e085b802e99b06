//! "Running, pending, blocked attempt counts, oldest attempt age, lease expiry warnings,
//! `freshness`."

use contract::{OrgId, Timestamp};
use platform::Result;
use platform::http::call::Call;
use platform::http::json::Json;
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;

use super::{ATTEMPTS_SLO_MS, Freshness};
use crate::domain::runtime::clock;

/// A lease that ends sooner is a warning.
const WARNING_SECS: f64 = 30.0;
const EXPIRING_MAX: i64 = 20;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ActiveAttempts")]
pub struct Active {
    total_running: i64,
    total_pending: i64,
    /// Tasks whose last attempt left them to a person.
    total_blocked: i64,
    /// Null while nothing is active.
    oldest_attempt_age_secs: Option<f64>,
    lease_expiry_warnings: i64,
    expiring: Vec<ExpiringLease>,
    freshness: Freshness,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExpiringLease {
    attempt_id: String,
    agent_id: Option<String>,
    lease_expires_at: Timestamp,
}

pub async fn view(cx: Call) -> Result<Json<Active>> {
    let mut conn = cx.app.pool().acquire().await?;
    let asked = clock::now(&mut conn).await?;
    let found = sqlx::query!(
        r#"select count(*) filter (where status = 'running') as "running!",
             count(*) filter (where status = 'pending') as "pending!",
             extract(epoch from svc_runtime.clock() - min(created_at))::float8 as oldest,
             count(*) filter (where lease_expires_at < svc_runtime.clock() + make_interval(secs => $2)) as "warnings!",
             (select count(*) from svc_runtime.tasks
              where org_id = $1 and blocked_reason is not null and status in ('pending', 'active')) as "blocked!"
           from svc_runtime.task_attempts
           where org_id = $1 and status in ('pending', 'running')"#,
        cx.org_id().as_str(),
        WARNING_SECS,
    )
    .fetch_one(&mut *conn)
    .await?;
    let expiring = expiring(&mut conn, cx.org_id()).await?;
    Ok(Json(Active {
        total_running: found.running,
        total_pending: found.pending,
        total_blocked: found.blocked,
        oldest_attempt_age_secs: found.oldest,
        lease_expiry_warnings: found.warnings,
        expiring,
        freshness: Freshness::of(asked, clock::now(&mut conn).await?, ATTEMPTS_SLO_MS),
    }))
}

/// The first to end.
async fn expiring(conn: &mut PgConnection, org_id: &OrgId) -> Result<Vec<ExpiringLease>> {
    let found = sqlx::query_as!(
        ExpiringLease,
        "select id as attempt_id, agent_id, lease_expires_at from svc_runtime.task_attempts
         where org_id = $1 and status in ('pending', 'running')
           and lease_expires_at < svc_runtime.clock() + make_interval(secs => $2)
         order by lease_expires_at, id limit $3",
        org_id.as_str(),
        WARNING_SECS,
        EXPIRING_MAX,
    );
    Ok(found.fetch_all(conn).await?)
}
