//! SQL of the attempts.

use contract::{OrgId, Timestamp};
use platform::{Error, Result, execute};
use serde_json::Value;
use sqlx::PgConnection;

use super::{Attempt, AttemptStatus};

/// A query for attempts: all columns, then this.
macro_rules! attempts {
    ($tail:literal, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            Attempt,
            r#"select a.id, a.org_id, a.task_id, a.attempt_number, a.agent_id, a.branch_id, a.status as "status: _",
                 a.retry_count, a.max_retries, a.lease_token_sha256, a.lease_ttl_secs, a.lease_expires_at,
                 a.last_heartbeat_at, a.heartbeat_count, a.progress, a.started_at, a.runtime_ends_at, a.completed_at,
                 a.failure_kind as "failure_kind: _", a.failure_reason, a.result,
                 a.recovery_level as "recovery_level: _", a.recovers_attempt_id, a.model_hint, a.cancel_requested,
                 a.held_by, a.completion_sha256, a.completion, a.version, a.created_at, a.updated_at
               from svc_runtime.task_attempts a "# + $tail,
            $($argument),+
        )
    };
}

const fn absent() -> Error {
    Error::NotFound { kind: "attempt" }
}

pub async fn find(conn: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<Attempt> {
    let found = attempts!("where a.org_id = $1 and a.id = $2", org_id.as_str(), id);
    found.fetch_optional(conn).await?.ok_or_else(absent)
}

pub async fn lock(tx: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<Attempt> {
    let found = attempts!("where a.org_id = $1 and a.id = $2 for no key update", org_id.as_str(), id);
    found.fetch_optional(tx).await?.ok_or_else(absent)
}

/// The active attempt of a locked task.
pub async fn lock_active(tx: &mut PgConnection, task_id: &str) -> Result<Option<Attempt>> {
    let found = attempts!("where a.task_id = $1 and a.status in ('pending', 'running') for no key update", task_id);
    Ok(found.fetch_optional(tx).await?)
}

/// Attempts of a task, from the first.
pub async fn of_task(conn: &mut PgConnection, task_id: &str) -> Result<Vec<Attempt>> {
    Ok(attempts!("where a.task_id = $1 order by a.attempt_number", task_id).fetch_all(conn).await?)
}

/// The last attempt of each task.
pub async fn latest(conn: &mut PgConnection, task_ids: &[String]) -> Result<Vec<Attempt>> {
    let found = attempts!(
        "where a.task_id = any($1) and a.attempt_number =
           (select max(b.attempt_number) from svc_runtime.task_attempts b where b.task_id = a.task_id)",
        task_ids,
    );
    Ok(found.fetch_all(conn).await?)
}

/// A task with an attempt whose lease has ended, the task locked; one that is being changed is
/// passed over.
pub async fn expired(tx: &mut PgConnection) -> Result<Option<(OrgId, String)>> {
    let row = sqlx::query!(
        "select t.org_id, t.id
         from svc_runtime.task_attempts a join svc_runtime.tasks t on t.id = a.task_id
         where a.status in ('pending', 'running')
           and least(a.lease_expires_at, a.runtime_ends_at) <= svc_runtime.clock()
         order by least(a.lease_expires_at, a.runtime_ends_at)
         limit 1
         for no key update of t skip locked",
    );
    Ok(row.fetch_optional(tx).await?.map(|row| (OrgId::from(row.org_id), row.id)))
}

/// Inserts a new attempt with the next number of its task, which is locked.
pub async fn insert(tx: &mut PgConnection, attempt: &mut Attempt) -> Result<()> {
    attempt.attempt_number = sqlx::query_scalar!(
        r#"insert into svc_runtime.task_attempts (id, org_id, task_id, attempt_number, agent_id, branch_id, status,
             retry_count, max_retries, lease_token_sha256, lease_ttl_secs, lease_expires_at, started_at,
             runtime_ends_at, recovery_level, recovers_attempt_id, model_hint, held_by, created_at, updated_at)
           select $1, $2, $3, coalesce(max(attempt_number), 0) + 1, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
             $14, $15, $16, $17, $18, $18
           from svc_runtime.task_attempts where task_id = $3
           returning attempt_number"#,
        attempt.id,
        attempt.org_id,
        attempt.task_id,
        attempt.agent_id,
        attempt.branch_id,
        attempt.status as _,
        attempt.retry_count,
        attempt.max_retries,
        attempt.lease_token_sha256,
        attempt.lease_ttl_secs,
        attempt.lease_expires_at,
        attempt.started_at,
        attempt.runtime_ends_at,
        attempt.recovery_level as _,
        attempt.recovers_attempt_id,
        attempt.model_hint,
        attempt.held_by,
        attempt.created_at,
    )
    .fetch_one(tx)
    .await?;
    Ok(())
}

/// Stores what may change of a locked attempt, but for its heartbeats.
pub async fn save(tx: &mut PgConnection, attempt: &mut Attempt, now: Timestamp) -> Result<()> {
    attempt.version = attempt.version.saturating_add(1);
    attempt.updated_at = now;
    execute!(
        tx,
        "update svc_runtime.task_attempts
         set agent_id = $2, status = $3, lease_expires_at = $4, started_at = $5, runtime_ends_at = $6,
             completed_at = $7, failure_kind = $8, failure_reason = $9, result = $10, held_by = $11, version = $12,
             updated_at = $13
         where id = $1",
        attempt.id,
        attempt.agent_id,
        attempt.status as _,
        attempt.lease_expires_at,
        attempt.started_at,
        attempt.runtime_ends_at,
        attempt.completed_at,
        attempt.failure_kind as _,
        attempt.failure_reason,
        attempt.result,
        attempt.held_by,
        attempt.version,
        attempt.updated_at,
    )
}

/// A lease that a heartbeat has extended.
#[derive(Debug)]
pub struct ExtendedLease {
    pub status: AttemptStatus,
    pub lease_expires_at: Timestamp,
    pub lease_ttl_secs: i32,
    pub cancel_requested: bool,
    pub at: Timestamp,
}

/// Extends a lease that is held by this token and has not ended; `None` when it is not.
pub async fn extend_lease(
    conn: &mut PgConnection,
    org_id: &OrgId,
    id: &str,
    token_sha256: &[u8],
    progress: Option<&Value>,
) -> Result<Option<ExtendedLease>> {
    let extended = sqlx::query_as!(
        ExtendedLease,
        r#"update svc_runtime.task_attempts
           set lease_expires_at = svc_runtime.clock() + make_interval(secs => lease_ttl_secs),
               last_heartbeat_at = svc_runtime.clock(), updated_at = svc_runtime.clock(),
               heartbeat_count = heartbeat_count + 1, version = version + 1, progress = coalesce($4, progress)
           where org_id = $1 and id = $2 and lease_token_sha256 = $3 and status in ('pending', 'running')
             and least(lease_expires_at, runtime_ends_at) > svc_runtime.clock()
           returning status as "status: _", lease_expires_at, lease_ttl_secs, cancel_requested,
             last_heartbeat_at as "at!""#,
        org_id.as_str(),
        id,
        token_sha256,
        progress,
    );
    Ok(extended.fetch_optional(conn).await?)
}

/// Remembers what an attempt was completed with and what was answered.
pub async fn remember(
    tx: &mut PgConnection,
    id: &str,
    (request_sha256, answer): (&[u8], &Value),
    who: &str,
) -> Result<()> {
    execute!(
        tx,
        "update svc_runtime.task_attempts set completion_sha256 = $2, completion = $3, completed_by = $4 where id = $1",
        id,
        request_sha256,
        answer,
        who,
    )
}

/// The holder of an active attempt hears of it with its next heartbeat.
pub async fn ask_to_stop(tx: &mut PgConnection, id: &str, now: Timestamp) -> Result<()> {
    execute!(
        tx,
        "update svc_runtime.task_attempts set cancel_requested = true, version = version + 1, updated_at = $2
         where id = $1 and status in ('pending', 'running')",
        id,
        now,
    )
}
