//! SQL of the JIT requests.

use contract::{EnvId, JitRequestId, OrgId, Timestamp};
use platform::http::page::PageRequest;
use platform::{Error, OnConstraint, Result, execute, page_rows, scalar};
use sqlx::PgConnection;

use super::status::JitStatus;

#[derive(Debug, Clone)]
pub struct JitRequestRow {
    pub request_id: JitRequestId,
    pub requester_id: String,
    pub requester_email: String,
    pub held_role: String,
    pub requested_role: String,
    pub reason: String,
    pub duration_minutes: i32,
    pub status: String,
    pub requested_at: Timestamp,
    pub decided_by: Option<String>,
    pub decided_at: Option<Timestamp>,
    pub denial_reason: Option<String>,
    pub expires_at: Option<Timestamp>,
    pub revoked_by: Option<String>,
    pub revoked_at: Option<Timestamp>,
}

impl JitRequestRow {
    pub fn status(&self) -> Result<JitStatus> {
        JitStatus::parse(&self.status).ok_or_else(|| Error::internal("a request has one of four states"))
    }
}

pub async fn page(conn: &mut PgConnection, env_id: &EnvId, page: &PageRequest) -> Result<(Vec<JitRequestRow>, i64)> {
    let rows = page_rows!(
        conn,
        page,
        JitRequestRow,
        "select request_id, requester_id, requester_email, held_role, requested_role, reason, duration_minutes, status,
                requested_at, decided_by, decided_at, denial_reason, expires_at, revoked_by, revoked_at
         from jit_requests
         where env_id = $1 and ($2::timestamptz is null or (requested_at, request_id) < ($2, $3))
         order by requested_at desc, request_id desc
         limit $4",
        env_id.as_str(),
    );
    let total =
        sqlx::query_scalar!(r#"select count(*) as "total!" from jit_requests where env_id = $1"#, env_id.as_str());
    Ok((rows, total.fetch_one(conn).await?))
}

/// The request, which stays locked.
pub async fn lock(conn: &mut PgConnection, env_id: &EnvId, request_id: &JitRequestId) -> Result<Option<JitRequestRow>> {
    Ok(sqlx::query_as!(
        JitRequestRow,
        "select request_id, requester_id, requester_email, held_role, requested_role, reason, duration_minutes, status,
                requested_at, decided_by, decided_at, denial_reason, expires_at, revoked_by, revoked_at
         from jit_requests
         where env_id = $1 and request_id = $2
         for update",
        env_id.as_str(),
        request_id.as_str(),
    )
    .fetch_optional(conn)
    .await?)
}

pub async fn count_pending(conn: &mut PgConnection, env_id: &EnvId) -> Result<i64> {
    scalar!(
        conn,
        r#"select count(*) as "pending!" from jit_requests where env_id = $1 and status = 'pending'"#,
        env_id.as_str(),
    )
}

pub async fn insert(conn: &mut PgConnection, env_id: &EnvId, row: &JitRequestRow) -> Result<()> {
    sqlx::query!(
        "insert into jit_requests (request_id, env_id, requester_id, requester_email, held_role, requested_role, reason,
                                   duration_minutes, status, requested_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        row.request_id.as_str(),
        env_id.as_str(),
        row.requester_id,
        row.requester_email,
        row.held_role,
        row.requested_role,
        row.reason,
        row.duration_minutes,
        row.status,
        row.requested_at,
    )
    .execute(conn)
    .await
    .on_constraint("jit_requests_pending_key", || {
        Error::conflict("already_requested", format!("your request for `{}` is pending already", row.requested_role))
    })?;
    Ok(())
}

/// The request as it has become.
pub async fn save(conn: &mut PgConnection, row: &JitRequestRow) -> Result<()> {
    execute!(
        conn,
        "update jit_requests
         set status = $2, decided_by = $3, decided_at = $4, denial_reason = $5, expires_at = $6, revoked_by = $7,
             revoked_at = $8
         where request_id = $1",
        row.request_id.as_str(),
        row.status,
        row.decided_by,
        row.decided_at,
        row.denial_reason,
        row.expires_at,
        row.revoked_by,
        row.revoked_at,
    )
}

/// Somebody whose elevation has ended by itself.
#[derive(Debug)]
pub struct Expired {
    pub org_id: OrgId,
    pub env_id: EnvId,
    pub requester_id: String,
    pub requester_email: String,
    pub requested_role: String,
    pub expires_at: Option<Timestamp>,
}

/// Writes down that the elevation has ended; `None` if it was revoked, or has been said to have.
pub async fn expire(conn: &mut PgConnection, request_id: &JitRequestId, now: Timestamp) -> Result<Option<Expired>> {
    Ok(sqlx::query_as!(
        Expired,
        "update jit_requests j set expired_at = $2
         from environments e
         where j.request_id = $1 and j.status = 'approved' and j.expired_at is null and j.expires_at <= $2
           and e.env_id = j.env_id
         returning e.org_id, j.env_id, j.requester_id, j.requester_email, j.requested_role, j.expires_at",
        request_id.as_str(),
        now,
    )
    .fetch_optional(conn)
    .await?)
}
