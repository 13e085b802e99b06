//! SQL of shadow mode.

use chrono::Duration;
use contract::wire::Forwarded;
use contract::{EnvId, OrgId, ReplayId, ShadowSessionId, Timestamp, UploadId};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;
use sqlx::types::Json;

use super::states::SessionStatus;
use super::uploads::Line;
use crate::{App, Error, OnConstraint, Result};

/// Sampled queries that may wait for their replay; while there are more, none are taken.
pub const WAITING_MAX: i64 = 1_000;
/// Sessions and uploads are kept for this long.
const KEPT: Duration = Duration::days(30);

#[derive(Debug, Clone)]
pub struct Session {
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
pub async fn insert_session(conn: &mut PgConnection, session: &Session) -> Result<()> {
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
pub async fn latest(conn: &mut PgConnection, env_id: &EnvId) -> Result<Option<Session>> {
    let row = sqlx::query!(
        "select * from shadow_sessions where env_id = $1 order by status = 'running' desc, started_at desc limit 1",
        env_id.as_str(),
    );
    let Some(row) = row.fetch_optional(conn).await? else {
        return Ok(None);
    };
    Ok(Some(Session {
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

/// What an environment's uploads hold.
#[derive(Debug)]
pub struct Held {
    pub lines: i64,
    /// Of their statements.
    pub bytes: i64,
}

/// What the environment's uploads hold; whoever else uploads waits.
pub async fn kept(conn: &mut PgConnection, env_id: &EnvId) -> Result<Held> {
    sqlx::query!("select from environments where env_id = $1 for no key update", env_id.as_str())
        .fetch_one(&mut *conn)
        .await?;
    let held = sqlx::query_as!(
        Held,
        r#"select count(*) as "lines!", coalesce(sum(octet_length(l.sql)), 0)::bigint as "bytes!"
           from shadow_uploads u join shadow_upload_lines l on l.upload_id = u.upload_id where u.env_id = $1"#,
        env_id.as_str(),
    );
    Ok(held.fetch_one(conn).await?)
}

/// Does a query of a replay of the upload wait, or run? Two that end at once may both leave their replay `running`.
pub async fn is_replayed(conn: &mut PgConnection, upload_id: &UploadId) -> Result<bool> {
    let found = sqlx::query_scalar!(
        r#"select exists (select from shadow_replays r join shadow_queries q on q.replay_id = r.replay_id
                          where r.upload_id = $1 and r.status = 'running' and q.done_at is null) as "is!""#,
        upload_id.as_str(),
    );
    Ok(found.fetch_one(conn).await?)
}

/// Bytes of the statements that the environment's sessions replay, or keep for their reports.
pub async fn replayed_bytes(conn: &mut PgConnection, env_id: &EnvId) -> Result<i64> {
    let kept = sqlx::query_scalar!(
        r#"select coalesce(sum(octet_length(q.sql) + octet_length(q.shown)), 0)::bigint as "bytes!"
           from shadow_sessions s join shadow_queries q on q.session_id = s.session_id where s.env_id = $1"#,
        env_id.as_str(),
    );
    Ok(kept.fetch_one(conn).await?)
}

pub async fn insert_upload(
    conn: &mut PgConnection,
    upload_id: &UploadId,
    (env_id, created_by): (&EnvId, &str),
    lines: &[Line],
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "insert into shadow_uploads (upload_id, env_id, queries, created_by, created_at) values ($1, $2, $3, $4, $5)",
        upload_id.as_str(),
        env_id.as_str(),
        i32::try_from(lines.len()).map_err(Error::internal)?,
        created_by,
        now,
    )
    .execute(&mut *conn)
    .await?;
    let (mut sql, mut durations, mut counts, mut hashes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        sql.push(line.sql.clone());
        durations.push(line.duration_ms);
        counts.push(line.row_count);
        hashes.push(line.result_hash.clone());
    }
    sqlx::query!(
        "insert into shadow_upload_lines (upload_id, number, sql, duration_ms, row_count, result_hash)
         select $1, l.number, l.sql, l.duration_ms, l.row_count, l.result_hash
         from unnest($2::text[], $3::double precision[], $4::bigint[], $5::text[])
              with ordinality as l (sql, duration_ms, row_count, result_hash, number)",
        upload_id.as_str(),
        &sql,
        &durations as &[Option<f64>],
        &counts as &[Option<i64>],
        &hashes as &[Option<String>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn has_upload(conn: &mut PgConnection, env_id: &EnvId, upload_id: &UploadId) -> Result<bool> {
    let found = sqlx::query_scalar!(
        r#"select exists (select from shadow_uploads where upload_id = $1 and env_id = $2) as "found!""#,
        upload_id.as_str(),
        env_id.as_str(),
    );
    Ok(found.fetch_one(conn).await?)
}

/// A replay of an upload, or of what a session samples.
#[derive(Debug)]
pub struct NewReplay<'a> {
    pub replay_id: &'a ReplayId,
    pub session: &'a Session,
    pub upload_id: Option<&'a UploadId>,
    pub env_id: &'a EnvId,
    pub concurrency: i32,
}

pub async fn insert_replay(conn: &mut PgConnection, replay: &NewReplay<'_>, now: Timestamp) -> Result<()> {
    sqlx::query!(
        "insert into shadow_replays (replay_id, session_id, upload_id, env_id, status, concurrency, started_at)
         values ($1, $2, $3, $4, 'running', $5, $6)",
        replay.replay_id.as_str(),
        replay.session.session_id.as_str(),
        replay.upload_id.map(UploadId::as_str),
        replay.env_id.as_str(),
        replay.concurrency,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Every line of the upload, to be replayed under these rights.
pub async fn insert_logged(
    conn: &mut PgConnection,
    replay: &NewReplay<'_>,
    upload_id: &UploadId,
    caller: &Forwarded,
) -> Result<()> {
    sqlx::query!(
        "insert into shadow_queries
             (shadow_id, session_id, replay_id, caller, sql, shown, source_ms, row_count, result_hash)
         select $1 || '-' || lpad(number::text, 6, '0'), $2, $1, $3, sql, sql, duration_ms, row_count, result_hash
         from shadow_upload_lines where upload_id = $4",
        replay.replay_id.as_str(),
        replay.session.session_id.as_str(),
        Json(caller) as _,
        upload_id.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(())
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
    sqlx::query!(
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
    .execute(conn)
    .await?;
    Ok(())
}

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

/// Forgets what is old, with everything below it.
pub async fn sweep(app: &App) -> Result<()> {
    let before = app.now() - KEPT;
    sqlx::query!("delete from shadow_sessions where stopped_at < $1", before).execute(app.pool()).await?;
    sqlx::query!("delete from shadow_uploads where created_at < $1", before).execute(app.pool()).await?;
    Ok(())
}
