//! SQL of the tasks.

use contract::{OrgId, Timestamp};
use platform::{Error, Result, execute, scalar};
use sqlx::PgConnection;

use super::Task;
use crate::domain::runtime::listing::{ListWindow, page};

/// A query for tasks: all columns, then this.
macro_rules! tasks {
    ($($tail:literal)+, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            Task,
            r#"select t.id, t.org_id, t.project_id, t.kind, t.status as "status: _", t.work_item_key, t.priority,
                 t.retry_count, t.max_retries, t.metadata, t.not_before, t.deadline, t.max_runtime_secs, t.completed_at,
                 t.failure_reason, t.cancel_reason, t.next_attempt_hint, t.blocked_reason, t.repairs, t.awaits_repair,
                 t.created_by, t.version, t.created_at, t.updated_at
               from svc_runtime.tasks t "# $(+ $tail)+,
            $($argument),+
        )
    };
}

const fn absent() -> Error {
    Error::NotFound { kind: "task" }
}

pub async fn find(conn: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<Task> {
    let found = tasks!("where t.org_id = $1 and t.id = $2", org_id.as_str(), id);
    found.fetch_optional(conn).await?.ok_or_else(absent)
}

/// The task, and nobody else changes it or its attempts until the transaction ends.
pub async fn lock(tx: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<Task> {
    let found = tasks!("where t.org_id = $1 and t.id = $2 for no key update", org_id.as_str(), id);
    found.fetch_optional(tx).await?.ok_or_else(absent)
}

/// The locked task of an attempt.
pub async fn lock_of_attempt(tx: &mut PgConnection, org_id: &OrgId, attempt_id: &str) -> Result<Task> {
    let found = tasks!(
        "where t.id = (select task_id from svc_runtime.task_attempts where org_id = $1 and id = $2)
         for no key update",
        org_id.as_str(),
        attempt_id,
    );
    found.fetch_optional(tx).await?.ok_or(Error::NotFound { kind: "attempt" })
}

/// A repair that a task waits for, and that is not done.
pub async fn is_awaiting(conn: &mut PgConnection, task: &Task) -> Result<bool> {
    scalar!(
        conn,
        r#"select exists (select from svc_runtime.tasks where id = $1 and status <> 'completed') as "waits!""#,
        task.awaits_repair,
    )
}

/// The request of a worker that takes any task.
#[derive(Debug)]
pub struct TaskRequest<'a> {
    pub kinds: &'a [String],
    pub project_id: Option<&'a str>,
    pub now: Timestamp,
}

/// The locked task that has waited longest among the most urgent; one that somebody else is about
/// to take is passed over.
pub async fn next(tx: &mut PgConnection, org_id: &OrgId, wanted: &TaskRequest<'_>) -> Result<Option<Task>> {
    let found = tasks!(
        "where t.org_id = $1 and t.status = 'pending' and (t.not_before is null or t.not_before <= $4)
           and (t.deadline is null or t.deadline > $4) and t.blocked_reason is null
           and not exists (select from svc_runtime.tasks r where r.id = t.awaits_repair and r.status <> 'completed')
           and (cardinality($2::text[]) = 0 or t.kind = any($2)) and ($3::text is null or t.project_id = $3)
           and not exists (select from svc_runtime.task_attempts a
                           where a.task_id = t.id and a.status in ('pending', 'running'))
         order by t.priority desc, t.created_at, t.id
         limit 1
         for no key update skip locked",
        org_id.as_str(),
        wanted.kinds,
        wanted.project_id,
        wanted.now,
    );
    Ok(found.fetch_optional(tx).await?)
}

/// A locked task whose time is up; one that is being changed is passed over.
pub async fn overdue(tx: &mut PgConnection) -> Result<Option<Task>> {
    let found = tasks!(
        "where t.deadline <= svc_runtime.clock() and t.status = any($1)
         order by t.deadline
         limit 1
         for no key update skip locked",
        &["pending".to_owned(), "active".to_owned()] as &[String],
    );
    Ok(found.fetch_optional(tx).await?)
}

/// What a list of tasks may ask for.
#[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
pub struct TaskFilter {
    pub status: Option<super::TaskStatus>,
    pub project_id: Option<String>,
    pub kind: Option<String>,
    pub work_item_key: Option<String>,
}

pub async fn page(
    conn: &mut PgConnection,
    org_id: &OrgId,
    filter: &TaskFilter,
    listing: &ListWindow,
) -> Result<(Vec<Task>, i64)> {
    Ok(page!(
        conn,
        listing,
        tasks,
        r#"select count(*) as "total!" from svc_runtime.tasks t "#,
        "where t.org_id = $1 and ($2::text is null or t.status = $2) and ($3::text is null or t.project_id = $3)
           and ($4::text is null or t.kind = $4) and ($5::text is null or t.work_item_key = $5)",
        " and ($6::timestamptz is null or (t.created_at, t.id) < ($6, $7))
         order by t.created_at desc, t.id desc
         limit $8 offset $9",
        org_id.as_str(),
        filter.status as _,
        filter.project_id,
        filter.kind,
        filter.work_item_key,
    ))
}

/// Inserts the task, or finds the live one with its key; says which.
pub async fn dispatch(tx: &mut PgConnection, task: &Task) -> Result<(String, bool)> {
    let row = sqlx::query!(
        r#"insert into svc_runtime.tasks (id, org_id, project_id, kind, work_item_key, priority, max_retries, metadata,
             deadline, max_runtime_secs, repairs, created_by, created_at, updated_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)
           on conflict (org_id, work_item_key) where status in ('pending', 'active') and work_item_key is not null
           do update set work_item_key = excluded.work_item_key
           returning id"#,
        task.id,
        task.org_id,
        task.project_id,
        task.kind,
        task.work_item_key,
        task.priority,
        task.max_retries,
        task.metadata,
        task.deadline,
        task.max_runtime_secs,
        task.repairs,
        task.created_by,
        task.created_at,
    )
    .fetch_one(tx)
    .await?;
    let is_new = row.id == task.id;
    Ok((row.id, is_new))
}

/// Stores what may change of a locked task.
pub async fn save(tx: &mut PgConnection, task: &mut Task, now: Timestamp) -> Result<()> {
    task.version = task.version.saturating_add(1);
    task.updated_at = now;
    execute!(
        tx,
        "update svc_runtime.tasks
         set status = $2, retry_count = $3, not_before = $4, completed_at = $5, failure_reason = $6,
             cancel_reason = $7, next_attempt_hint = $8, blocked_reason = $9, awaits_repair = $10, version = $11,
             updated_at = $12
         where id = $1",
        task.id,
        task.status as _,
        task.retry_count,
        task.not_before,
        task.completed_at,
        task.failure_reason,
        task.cancel_reason,
        task.next_attempt_hint,
        task.blocked_reason,
        task.awaits_repair,
        task.version,
        task.updated_at,
    )
}
