//! Logs of queries that were uploaded, and what they take up.

use contract::{EnvId, Timestamp, UploadId};
use platform::{Error, Result, execute, scalar};
use sqlx::PgConnection;

use crate::domain::environments;
use crate::domain::shadow_mode::uploads::Line;

/// Totals of an environment's uploads.
#[derive(Debug)]
pub struct UploadTotals {
    pub lines: i64,
    /// Of their statements.
    pub bytes: i64,
}

/// What the environment's uploads hold; whoever else uploads waits.
pub async fn kept(conn: &mut PgConnection, env_id: &EnvId) -> Result<UploadTotals> {
    environments::lock(&mut *conn, env_id).await?;
    let held = sqlx::query_as!(
        UploadTotals,
        r#"select count(*) as "lines!", coalesce(sum(octet_length(l.sql)), 0)::bigint as "bytes!"
           from shadow_uploads u join shadow_upload_lines l on l.upload_id = u.upload_id where u.env_id = $1"#,
        env_id.as_str(),
    );
    Ok(held.fetch_one(conn).await?)
}

/// Does a query of a replay of the upload wait, or run? Two that end at once may both leave their replay `running`.
pub async fn is_replayed(conn: &mut PgConnection, upload_id: &UploadId) -> Result<bool> {
    scalar!(
        conn,
        r#"select exists (select from shadow_replays r join shadow_queries q on q.replay_id = r.replay_id
                          where r.upload_id = $1 and r.status = 'running' and q.done_at is null) as "is!""#,
        upload_id.as_str(),
    )
}

/// Bytes of the statements that the environment's sessions replay, or keep for their reports.
pub async fn replayed_bytes(conn: &mut PgConnection, env_id: &EnvId) -> Result<i64> {
    scalar!(
        conn,
        r#"select coalesce(sum(octet_length(q.sql) + octet_length(q.shown)), 0)::bigint as "bytes!"
           from shadow_sessions s join shadow_queries q on q.session_id = s.session_id where s.env_id = $1"#,
        env_id.as_str(),
    )
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
    execute!(
        conn,
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
}

pub async fn has_upload(conn: &mut PgConnection, env_id: &EnvId, upload_id: &UploadId) -> Result<bool> {
    scalar!(
        conn,
        r#"select exists (select from shadow_uploads where upload_id = $1 and env_id = $2) as "found!""#,
        upload_id.as_str(),
        env_id.as_str(),
    )
}
