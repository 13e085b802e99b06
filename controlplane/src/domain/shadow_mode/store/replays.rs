//! Replays, and the queries that wait for theirs: lines of an upload, and what is sampled.

use contract::wire::Forwarded;
use contract::{EnvId, ReplayId, ShadowSessionId, Timestamp, UploadId};
use platform::{App, Result, execute};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::ShadowSessionRow;

/// Sampled queries that may wait for their replay; while there are more, none are taken.
pub const WAITING_MAX: i64 = 1_000;

/// A replay of an upload, or of what a session samples.
#[derive(Debug)]
pub struct NewReplay<'a> {
    pub replay_id: &'a ReplayId,
    pub session: &'a ShadowSessionRow,
    pub upload_id: Option<&'a UploadId>,
    pub env_id: &'a EnvId,
    pub concurrency: i32,
}

pub async fn insert_replay(conn: &mut PgConnection, replay: &NewReplay<'_>, now: Timestamp) -> Result<()> {
    execute!(
        conn,
        "insert into shadow_replays (replay_id, session_id, upload_id, env_id, status, concurrency, started_at)
         values ($1, $2, $3, $4, 'running', $5, $6)",
        replay.replay_id.as_str(),
        replay.session.session_id.as_str(),
        replay.upload_id.map(UploadId::as_str),
        replay.env_id.as_str(),
        replay.concurrency,
        now,
    )
}

/// Every line of the upload, to be replayed under these rights.
pub async fn insert_logged(
    conn: &mut PgConnection,
    replay: &NewReplay<'_>,
    upload_id: &UploadId,
    caller: &Forwarded,
) -> Result<()> {
    execute!(
        conn,
        "insert into shadow_queries
             (shadow_id, session_id, replay_id, caller, sql, shown, source_ms, row_count, result_hash)
         select $1 || '-' || lpad(number::text, 6, '0'), $2, $1, $3, sql, sql, duration_ms, row_count, result_hash
         from shadow_upload_lines where upload_id = $4",
        replay.replay_id.as_str(),
        replay.session.session_id.as_str(),
        Json(caller) as _,
        upload_id.as_str(),
    )
}

/// The session that samples an environment's queries.
#[derive(Debug)]
pub struct Sampling {
    pub session_id: ShadowSessionId,
    pub replay_id: ReplayId,
    pub rate: f64,
    pub waiting: i64,
}

pub async fn sampling(conn: &mut PgConnection, env_id: &EnvId, now: Timestamp) -> Result<Option<Sampling>> {
    let row = sqlx::query!(
        r#"select s.session_id, r.replay_id, s.sample_rate,
                  (select count(*) from shadow_queries q where q.replay_id = r.replay_id and q.done_at is null)
                    as "waiting!"
           from shadow_sessions s
           join shadow_replays r on r.session_id = s.session_id and r.upload_id is null
           where s.env_id = $1 and s.status = 'running' and s.ends_at > $2"#,
        env_id.as_str(),
        now,
    );
    Ok(row.fetch_optional(conn).await?.map(|row| Sampling {
        session_id: row.session_id.into(),
        replay_id: row.replay_id.into(),
        rate: row.sample_rate,
        waiting: row.waiting,
    }))
}

/// A query that was taken, as it ran.
#[derive(Debug)]
pub struct Sampled {
    pub caller: Forwarded,
    pub agent_id: Option<String>,
    pub framework: Option<String>,
    pub sql: String,
    pub shown: String,
    pub source_ms: f64,
    pub row_count: i64,
}

pub async fn insert_sampled(app: &App, conn: &mut PgConnection, into: &Sampling, sampled: &Sampled) -> Result<()> {
    execute!(
        conn,
        "insert into shadow_queries
             (shadow_id, session_id, replay_id, caller, agent_id, framework, sql, shown, source_ms, row_count)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        contract::ids::fresh(app.now(), app.entropy()),
        into.session_id.as_str(),
        into.replay_id.as_str(),
        Json(&sampled.caller) as _,
        sampled.agent_id,
        sampled.framework,
        sampled.sql,
        sampled.shown,
        sampled.source_ms,
        sampled.row_count,
    )
}
