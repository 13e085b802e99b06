//! SQL of operations.

use contract::load::Loaded;
use contract::{EnvId, Timestamp};
use platform::{App, Error, Result, execute};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::{
    KEPT, OperationEnd, OperationError, OperationKey, OperationKind, OperationProgress, OperationRecord,
    OperationStatus, SILENT_MAX,
};

/// The facts of an operation when it begins.
#[derive(Debug)]
pub struct Beginning {
    pub env_id: EnvId,
    pub kind: OperationKind,
    pub created_by: String,
    pub bytes_total: Option<i64>,
}

pub async fn insert(
    conn: &mut PgConnection,
    key: &OperationKey,
    beginning: &Beginning,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    execute!(
        conn,
        "insert into operations
             (org_id, operation_id, env_id, kind, status, created_by, bytes_done, bytes_total, started_at, heartbeat_at)
         values ($1, $2, $3, $4, 'running', $5, 0, $6, $7, $7)",
        key.org_id.as_str(),
        key.operation_id.as_str(),
        beginning.env_id.as_str(),
        beginning.kind.as_str(),
        beginning.created_by,
        beginning.bytes_total,
        now,
    )
}

pub async fn find(conn: &mut PgConnection, key: &OperationKey) -> Result<Option<OperationRecord>> {
    let row = sqlx::query!(
        r#"select env_id, kind, status, created_by, bytes_done, bytes_total, rows_done,
                  error as "error: Json<OperationError>", result as "result: Json<Loaded>",
                  started_at, cancel_requested_at, finished_at
           from operations where org_id = $1 and operation_id = $2"#,
        key.org_id.as_str(),
        key.operation_id.as_str(),
    );
    let Some(row) = row.fetch_optional(conn).await? else {
        return Ok(None);
    };
    let unknown = || Error::internal("an operation of an unknown kind or status");
    let progress =
        OperationProgress { done: row.bytes_done, total: row.bytes_total, unit: "bytes", rows: row.rows_done };
    Ok(Some(OperationRecord {
        id: key.operation_id.clone(),
        env_id: row.env_id.into(),
        kind: OperationKind::parse(&row.kind).ok_or_else(unknown)?,
        status: OperationStatus::parse(&row.status).ok_or_else(unknown)?,
        progress,
        created_by: row.created_by,
        cancel_requested: row.cancel_requested_at.is_some(),
        started_at: row.started_at,
        finished_at: row.finished_at,
        error: row.error.map(|Json(error)| error),
        result: row.result.map(|Json(result)| result),
    }))
}

/// How far it is; whether its end was asked for. None: it does not run any more.
pub async fn beat(
    conn: &mut PgConnection,
    key: &OperationKey,
    (bytes, rows): (i64, Option<i64>),
    now: Timestamp,
) -> Result<Option<bool>> {
    let is_cancelled = sqlx::query_scalar!(
        r#"update operations set bytes_done = $3, rows_done = coalesce($4, rows_done), heartbeat_at = $5
           where org_id = $1 and operation_id = $2 and status = 'running'
           returning cancel_requested_at is not null as "is_cancelled!""#,
        key.org_id.as_str(),
        key.operation_id.as_str(),
        bytes,
        rows,
        now,
    );
    Ok(is_cancelled.fetch_optional(conn).await?)
}

/// Asks for the end of one that runs; the first who asks counts.
pub async fn ask_cancel(conn: &mut PgConnection, key: &OperationKey, now: Timestamp) -> Result<()> {
    execute!(
        conn,
        "update operations set cancel_requested_at = coalesce(cancel_requested_at, $3)
         where org_id = $1 and operation_id = $2 and status = 'running'",
        key.org_id.as_str(),
        key.operation_id.as_str(),
        now,
    )
}

pub async fn ended(
    conn: &mut PgConnection,
    key: &OperationKey,
    end: &OperationEnd,
    bytes: i64,
    now: Timestamp,
) -> Result<()> {
    let (error, result) = match end {
        OperationEnd::Succeeded(loaded) => (None, Some(loaded)),
        OperationEnd::Failed(error) => (Some(error), None),
        OperationEnd::Cancelled => (None, None),
    };
    let rows = result.and_then(|loaded| i64::try_from(loaded.rows_loaded?).ok());
    execute!(
        conn,
        "update operations
         set status = $3, error = $4, result = $5, bytes_done = $6, rows_done = coalesce($7, rows_done), finished_at = $8
         where org_id = $1 and operation_id = $2",
        key.org_id.as_str(),
        key.operation_id.as_str(),
        end.status().as_str(),
        error.map(Json) as _,
        result.map(Json) as _,
        bytes,
        rows,
        now,
    )
}

/// Those whose processes are gone have failed.
pub async fn end_silent(conn: &mut PgConnection, now: Timestamp) -> Result<()> {
    execute!(
        conn,
        "update operations set status = 'failed', error = $1, finished_at = $2
         where status = 'running' and heartbeat_at < $3",
        Json(OperationError::silent()) as _,
        now,
        now - SILENT_MAX,
    )
}

/// Forgets what ended a day ago.
pub async fn sweep(app: &App) -> Result<()> {
    let mut conn = app.pool().acquire().await?;
    end_silent(&mut conn, app.now()).await?;
    let before = app.now() - KEPT;
    execute!(&mut *conn, "delete from operations where finished_at < $1", before)
}
