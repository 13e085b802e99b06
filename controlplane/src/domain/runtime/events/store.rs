//! SQL of the workflow events.

use std::collections::VecDeque;

use contract::{OrgId, Timestamp, ids};
use platform::{Error, Result};
use serde_json::Value;
use sqlx::PgConnection;

use super::WorkflowEvent;
use super::stream::Seen;
use crate::domain::runtime::attempts::Attempt;
use crate::domain::runtime::change::Change;
use crate::domain::runtime::listing::{ListWindow, page};
use crate::domain::runtime::tasks::Task;

/// A query for events: all columns, then this.
macro_rules! events {
    ($($tail:literal)+, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            WorkflowEvent,
            "select e.id, e.task_id, e.attempt_id, e.sequence_num, e.kind, e.payload, e.actor, e.created_at, e.position
             from svc_runtime.workflow_events e " $(+ $tail)+,
            $($argument),+
        )
    };
}

/// The subject of an event.
#[derive(Debug, Clone, Copy)]
pub struct EventSubject<'a> {
    org: &'a str,
    task: &'a str,
    attempt: Option<&'a str>,
}

impl<'a> EventSubject<'a> {
    pub fn task(task: &'a Task) -> Self {
        Self { org: &task.org_id, task: &task.id, attempt: None }
    }

    pub fn attempt(attempt: &'a Attempt) -> Self {
        Self { org: &attempt.org_id, task: &attempt.task_id, attempt: Some(&attempt.id) }
    }
}

/// Appends an event in the transaction of what it tells.
pub async fn append(
    change: &mut Change<'_>,
    about: EventSubject<'_>,
    kind: &str,
    payload: Value,
    who: &str,
) -> Result<WorkflowEvent> {
    let event = sqlx::query_as!(
        WorkflowEvent,
        r#"with attempt as (
             update svc_runtime.task_attempts set next_sequence = next_sequence + 1
             where id = $4 returning next_sequence - 1 as number
           ), task as (
             update svc_runtime.tasks set next_sequence = next_sequence + 1
             where id = $3 and $4::text is null returning next_sequence - 1 as number
           )
           insert into svc_runtime.workflow_events
             (id, org_id, task_id, attempt_id, sequence_num, kind, payload, actor, created_at)
           select $1, $2, $3, $4, number, $5, $6, $7, $8 from (table attempt union all table task) counted
           returning id, task_id, attempt_id, sequence_num, kind, payload, actor, created_at, position"#,
        ids::fresh(change.now, change.app.entropy()),
        about.org,
        about.task,
        about.attempt,
        kind,
        payload,
        who,
        change.now,
    );
    Ok(event.fetch_one(&mut *change.tx).await?)
}

/// The last events of a task, in their order.
pub async fn newest_of_task(conn: &mut PgConnection, task_id: &str, most: i32) -> Result<Vec<WorkflowEvent>> {
    let mut newest = events!(
        "where e.task_id = $1
         order by e.created_at desc, e.position desc
         limit $2",
        task_id,
        i64::from(most),
    )
    .fetch_all(conn)
    .await?;
    newest.reverse();
    Ok(newest)
}

/// The last events of an attempt, in their order.
pub async fn newest_of_attempt(conn: &mut PgConnection, attempt_id: &str, most: i32) -> Result<Vec<WorkflowEvent>> {
    let mut newest =
        events!("where e.attempt_id = $1 order by e.sequence_num desc limit $2", attempt_id, i64::from(most))
            .fetch_all(conn)
            .await?;
    newest.reverse();
    Ok(newest)
}

/// The filter of a list of events.
#[derive(Debug, Default)]
pub struct EventFilter {
    pub task_id: String,
    pub kind: Option<String>,
    pub after_sequence: Option<i32>,
}

/// In their order.
pub async fn page(
    conn: &mut PgConnection,
    org_id: &OrgId,
    filter: &EventFilter,
    listing: &ListWindow,
) -> Result<(Vec<WorkflowEvent>, i64)> {
    Ok(page!(
        conn,
        listing,
        events,
        r#"select count(*) as "total!" from svc_runtime.workflow_events e "#,
        "where e.org_id = $1 and e.task_id = $2 and ($3::text is null or e.kind = $3)
           and ($4::integer is null or e.sequence_num > $4)",
        " and ($5::timestamptz is null or (e.created_at, lpad(e.position::text, 20, '0')) > ($5, $6))
         order by e.created_at, e.position
         limit $7 offset $8",
        org_id.as_str(),
        filter.task_id,
        filter.kind,
        filter.after_sequence,
    ))
}

/// Whose events are followed.
#[derive(Debug)]
pub struct EventScope {
    pub task_id: Option<String>,
    pub project_id: Option<String>,
}

/// Behind everything that is seen by now.
pub async fn end(conn: &mut PgConnection) -> Result<Seen> {
    let xact = sqlx::query_scalar!(r#"select pg_snapshot_xmin(pg_current_snapshot())::text as "xact!""#);
    let xact = xact.fetch_one(conn).await?.parse().map_err(Error::internal)?;
    Ok(Seen { xact, position: -1 })
}

/// The next events in the order in which they come to be seen.
pub async fn seen(
    conn: &mut PgConnection,
    org_id: &OrgId,
    about: &EventScope,
    after: Seen,
    most: i64,
) -> Result<VecDeque<(Seen, WorkflowEvent)>> {
    struct EventRow {
        id: String,
        task_id: String,
        attempt_id: Option<String>,
        sequence_num: i32,
        kind: String,
        payload: Value,
        actor: String,
        created_at: Timestamp,
        position: i64,
        xact: String,
    }
    let rows = sqlx::query_as!(
        EventRow,
        r#"select e.id, e.task_id, e.attempt_id, e.sequence_num, e.kind, e.payload, e.actor, e.created_at, e.position,
             e.xact::text as "xact!"
           from svc_runtime.workflow_events e
           where e.org_id = $1 and ($2::text is null or e.task_id = $2)
             and ($3::text is null
               or exists (select from svc_runtime.tasks t where t.id = e.task_id and t.project_id = $3))
             and (e.xact, e.position) > ($4::text::xid8, $5) and e.xact < pg_snapshot_xmin(pg_current_snapshot())
           order by e.xact, e.position
           limit $6"#,
        org_id.as_str(),
        about.task_id,
        about.project_id,
        after.xact.to_string(),
        after.position,
        most,
    )
    .fetch_all(conn)
    .await?;
    let event = |row| {
        let EventRow { id, task_id, attempt_id, sequence_num, kind, payload, actor, created_at, position, xact } = row;
        let event = WorkflowEvent { id, task_id, attempt_id, sequence_num, kind, payload, actor, created_at, position };
        Ok((Seen { xact: xact.parse().map_err(Error::internal)?, position }, event))
    };
    rows.into_iter().map(event).collect()
}

/// Where an event stands among those of its moment.
pub fn mark(event: &WorkflowEvent) -> (Timestamp, String) {
    (event.created_at, format!("{:020}", event.position))
}
