//! SQL of the recoveries.

use contract::OrgId;
use platform::{Result, execute};
use serde_json::Value;
use sqlx::PgConnection;

use super::{Action, Level, Recovery};
use crate::domain::runtime::listing::{ListWindow, page};

/// A query for recoveries: all columns, then this.
macro_rules! recoveries {
    ($($tail:literal)+, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            Recovery,
            r#"select r.id, r.org_id, r.task_id, r.task_attempt_id, r.task_attempt_id as attempt_id,
                 r.failure_kind as "failure_kind: _", r.derived, r.action_type as "action_type: Action",
                 r.action_type as "kind: Action", r.level as "level: Level", r.status, r.trigger_event, r.state_before,
                 r.state_after, r.executed_by, r.model_id, r.override_reason, r.new_attempt_hint, r.review_id,
                 r.created_at
               from svc_runtime.recovery_actions r "# $(+ $tail)+,
            $($argument),+
        )
    };
}

pub async fn find(conn: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<Option<Recovery>> {
    Ok(recoveries!("where r.org_id = $1 and r.id = $2", org_id.as_str(), id).fetch_optional(conn).await?)
}

/// The attempt that a recovery was about.
pub async fn attempt_of(conn: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<Option<String>> {
    Ok(find(conn, org_id, id).await?.map(|recovery| recovery.task_attempt_id))
}

/// Recoveries of a task, from the first.
pub async fn of_task(conn: &mut PgConnection, task_id: &str) -> Result<Vec<Recovery>> {
    Ok(recoveries!("where r.task_id = $1 order by r.position", task_id).fetch_all(conn).await?)
}

/// The last of an organization.
pub async fn recent(conn: &mut PgConnection, org_id: &OrgId, most: i64) -> Result<Vec<Recovery>> {
    let found =
        recoveries!("where r.org_id = $1 order by r.created_at desc, r.id desc limit $2", org_id.as_str(), most);
    Ok(found.fetch_all(conn).await?)
}

pub async fn insert(tx: &mut PgConnection, recovery: &Recovery) -> Result<()> {
    execute!(
        tx,
        "insert into svc_runtime.recovery_actions (id, org_id, task_id, task_attempt_id, failure_kind, derived,
           action_type, level, status, trigger_event, state_before, state_after, executed_by, model_id,
           override_reason, new_attempt_hint, review_id, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
        recovery.id,
        recovery.org_id,
        recovery.task_id,
        recovery.task_attempt_id,
        recovery.failure_kind as _,
        recovery.derived,
        recovery.action_type as _,
        recovery.level as _,
        recovery.status,
        recovery.trigger_event,
        recovery.state_before,
        recovery.state_after,
        recovery.executed_by,
        recovery.model_id,
        recovery.override_reason,
        recovery.new_attempt_hint,
        recovery.review_id,
        recovery.created_at,
    )
}

/// The past of a task, by which its next recovery level is chosen.
#[derive(Debug)]
pub struct TaskHistory {
    /// Levels taken, from the first.
    pub levels: Vec<Option<Level>>,
    /// The last thing that was made.
    pub artifact_id: Option<String>,
    /// The last model, and its whole decision's context.
    pub model_id: Option<String>,
    pub decision: Option<(String, Value)>,
}

pub async fn known(conn: &mut PgConnection, task_id: &str) -> Result<TaskHistory> {
    let levels = sqlx::query_scalar!(
        r#"select level as "level: Level" from svc_runtime.recovery_actions
           where task_id = $1 and status = 'initiated' order by position"#,
        task_id,
    )
    .fetch_all(&mut *conn)
    .await?;
    let last = sqlx::query!(
        r#"select
             (select id from svc_runtime.artifact_instances where task_id = $1
              order by created_at desc, id desc limit 1) as artifact_id,
             (select jsonb_build_array(model_id, context) from svc_runtime.model_decisions where task_id = $1
              order by position desc limit 1) as decision"#,
        task_id,
    )
    .fetch_one(conn)
    .await?;
    let decision = last.decision.and_then(|decision| {
        let model_id = decision.get(0)?.as_str()?.to_owned();
        Some((model_id, decision.get(1)?.clone()))
    });
    let model_id = decision.as_ref().map(|(model_id, _)| model_id.clone());
    Ok(TaskHistory { levels, artifact_id: last.artifact_id, model_id, decision })
}

/// A task that waits for a repair which has come to nothing.
pub async fn stranded(conn: &mut PgConnection) -> Result<Option<(OrgId, String)>> {
    let row = sqlx::query!(
        "select t.org_id, t.id
         from svc_runtime.tasks t join svc_runtime.tasks r on r.id = t.awaits_repair
         where t.status = 'pending' and r.status in ('failed', 'cancelled')
         order by t.updated_at limit 1
         for no key update of t skip locked",
    );
    Ok(row.fetch_optional(conn).await?.map(|row| (OrgId::from(row.org_id), row.id)))
}

pub async fn page(
    conn: &mut PgConnection,
    org_id: &OrgId,
    task_id: Option<&str>,
    listing: &ListWindow,
) -> Result<(Vec<Recovery>, i64)> {
    Ok(page!(
        conn,
        listing,
        recoveries,
        r#"select count(*) as "total!" from svc_runtime.recovery_actions r "#,
        "where r.org_id = $1 and ($2::text is null or r.task_id = $2)",
        " and ($3::timestamptz is null or (r.created_at, r.id) < ($3, $4))
         order by r.created_at desc, r.id desc
         limit $5 offset $6",
        org_id.as_str(),
        task_id,
    ))
}
