//! SQL of shadow mode: sessions here, what they replay and what came of it below.

mod outcome;
mod replays;
mod uploads;

use chrono::Duration;
use contract::{EnvId, OrgId, ShadowSessionId, Timestamp};
use platform::{App, Error, OnConstraint, Result, execute};
use sqlx::PgConnection;

pub use outcome::{Latencies, Mismatch, Statistics, mismatches, statistics};
pub use replays::{NewReplay, Sampled, WAITING_MAX, insert_logged, insert_replay, insert_sampled, sampling};
pub use uploads::{has_upload, insert_upload, is_replayed, kept, replayed_bytes};

use super::states::SessionStatus;

/// Sessions and uploads are kept for this long.
const KEPT: Duration = Duration::days(30);

#[derive(Debug, Clone)]
pub struct ShadowSessionRow {
    pub session_id: ShadowSessionId,
    pub env_id: EnvId,
    pub org_id: OrgId,
    pub status: SessionStatus,
    pub source: String,
    pub replayed_in: Option<EnvId>,
    pub duration_hours: i32,
    pub sample_rate: f64,
    pub created_by: String,
    pub started_at: Timestamp,
    pub ends_at: Timestamp,
    pub stopped_at: Option<Timestamp>,
}

/// "409 (shadow session already active)".
pub async fn insert_session(conn: &mut PgConnection, session: &ShadowSessionRow) -> Result<()> {
    sqlx::query!(
        "insert into shadow_sessions
             (session_id, env_id, org_id, status, source, replayed_in, duration_hours, sample_rate, created_by,
              started_at, ends_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        session.session_id.as_str(),
        session.env_id.as_str(),
        session.org_id.as_str(),
        session.status.as_str(),
        session.source,
        session.replayed_in.as_ref().map(EnvId::as_str),
        session.duration_hours,
        session.sample_rate,
        session.created_by,
        session.started_at,
        session.ends_at,
    )
    .execute(conn)
    .await
    .on_constraint("shadow_sessions_running_key", || {
        Error::conflict("session_active", "a shadow session is active in this environment: stop it first")
    })?;
    Ok(())
}

/// The environment's last session: the one that runs, if one does.
pub async fn latest(conn: &mut PgConnection, env_id: &EnvId) -> Result<Option<ShadowSessionRow>> {
    let row = sqlx::query!(
        "select * from shadow_sessions where env_id = $1 order by status = 'running' desc, started_at desc limit 1",
        env_id.as_str(),
    );
    let Some(row) = row.fetch_optional(conn).await? else {
        return Ok(None);
    };
    Ok(Some(ShadowSessionRow {
        session_id: row.session_id.into(),
        env_id: row.env_id.into(),
        org_id: row.org_id.into(),
        status: SessionStatus::parse(&row.status).ok_or_else(|| Error::internal("an unknown session status"))?,
        source: row.source,
        replayed_in: row.replayed_in.map(EnvId::from),
        duration_hours: row.duration_hours,
        sample_rate: row.sample_rate,
        created_by: row.created_by,
        started_at: row.started_at,
        ends_at: row.ends_at,
        stopped_at: row.stopped_at,
    }))
}

/// Stops the session with its replays; what waits is dropped. False when it had stopped before.
pub async fn stop(
    conn: &mut PgConnection,
    session_id: &ShadowSessionId,
    (from, to): (SessionStatus, SessionStatus),
    now: Timestamp,
) -> Result<bool> {
    let done = sqlx::query!(
        "update shadow_sessions set status = $3, stopped_at = $4 where session_id = $1 and status = $2",
        session_id.as_str(),
        from.as_str(),
        to.as_str(),
        now,
    );
    if done.execute(&mut *conn).await?.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query!(
        "update shadow_replays set status = 'completed', finished_at = $2 where session_id = $1 and status = 'running'",
        session_id.as_str(),
        now,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!("delete from shadow_queries where session_id = $1 and done_at is null", session_id.as_str())
        .execute(conn)
        .await?;
    Ok(true)
}

/// Forgets what is old, with everything below it.
pub async fn sweep(app: &App) -> Result<()> {
    let before = app.now() - KEPT;
    sqlx::query!("delete from shadow_sessions where stopped_at < $1", before).execute(app.pool()).await?;
    execute!(app.pool(), "delete from shadow_uploads where created_at < $1", before)
}
