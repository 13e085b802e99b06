//! The runtime's tables as the query proxy reads them.
//!
//! "They are queryable through the SQL proxy and such queries bypass the analytical engine and run directly against the
//! control plane database." What runs here is ours alone: the statement of a caller is governed and run where it was
//! asked, over the rows of the tables that it names, which a data plane gets from here. So no function, no join and no
//! name of a caller ever reaches this database.
//!
//! A reading is one transaction: read only, of one moment, with a time limit, under the reader's own role where there
//! is one, for the organization whose environment the data plane's certificate names.

use std::time::Duration;

use contract::runtime_tables::{BYTES_MAX, ROWS_MAX, Table};
use contract::{EnvId, OrgId};
use futures::TryStreamExt;
use platform::{App, Error, Result, execute, scalar};
use sqlx::error::DatabaseError;
use sqlx::{PgConnection, PgPool};
use tokio::sync::mpsc;

use crate::domain::environments;

/// What the database may take for one reading, whatever a data plane asks for.
const TIMEOUT_MAX: Duration = Duration::from_secs(30);
/// Rows travel in pages of about this size.
const PAGE_BYTES: usize = 1 << 20;

/// Rows of a table, as a JSON array of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRows {
    pub table: Table,
    pub rows: String,
}

/// Why a reading gives no rows.
#[derive(Debug, thiserror::Error)]
pub enum ReadRefusal {
    #[error("the runtime is off, or there is no such environment")]
    Absent,
    #[error("svc_runtime.{table} has more than a statement may read: {ROWS_MAX} rows, and {BYTES_MAX} bytes in all")]
    TooLarge { table: Table },
    #[error("the tables of svc_runtime were not read in time")]
    Late,
    #[error(transparent)]
    Other(#[from] Error),
}

impl From<sqlx::Error> for ReadRefusal {
    fn from(error: sqlx::Error) -> Self {
        /// `query_canceled`: by `statement_timeout`.
        const CANCELED: &str = "57014";
        match error.as_database_error().and_then(DatabaseError::code) {
            Some(code) if code == CANCELED => Self::Late,
            _ => Self::Other(error.into()),
        }
    }
}

/// Says to all data planes whether there is a runtime; asked once, when a control plane starts.
pub async fn switch(app: &App) -> Result<()> {
    let is_on = app.config().v2_runtime_enabled;
    execute!(app.pool(), "update runtime_switch set is_on = $1 where is_on <> $1", is_on)
}

pub async fn is_on(conn: &mut PgConnection) -> Result<bool> {
    scalar!(conn, "select is_on from runtime_switch")
}

/// Sends the tables' rows, page by page; whoever stops listening ends it.
pub async fn read(
    app: &App,
    env_id: &EnvId,
    tables: &[Table],
    timeout: Duration,
    pages: &mpsc::Sender<TableRows>,
) -> Result<(), ReadRefusal> {
    if !app.config().v2_runtime_enabled {
        return Err(ReadRefusal::Absent);
    }
    let timeout = timeout.min(TIMEOUT_MAX);
    // to PostgreSQL 0 is no limit, and what is ready at once is never late
    if timeout.as_millis() == 0 {
        return Err(ReadRefusal::Late);
    }
    let reading = async {
        let _place = app.runtime_readings().acquire().await.map_err(Error::internal)?;
        let org_id = organization(app.pool(), env_id).await?.ok_or(ReadRefusal::Absent)?;
        let mut tx = app.pool().begin_with("begin isolation level repeatable read read only").await?;
        stand(&mut tx, &org_id, timeout).await?;
        let mut left = BYTES_MAX;
        for table in tables {
            left = send(&mut tx, *table, left, pages).await?;
        }
        Ok(tx.commit().await?)
    };
    tokio::time::timeout(timeout, reading).await.unwrap_or(Err(ReadRefusal::Late))
}

async fn organization(pool: &PgPool, env_id: &EnvId) -> Result<Option<OrgId>> {
    let mut conn = pool.acquire().await?;
    Ok(environments::governed(&mut conn, env_id).await?.map(|(_, org_id, _)| org_id))
}

/// From here to its end the transaction is the reader's, and the organization's.
async fn stand(tx: &mut PgConnection, org_id: &OrgId, timeout: Duration) -> Result<(), ReadRefusal> {
    sqlx::query!(
        "select set_config('svc_runtime.org_id', $1, true) as org, set_config('statement_timeout', $2, true) as timeout,
           (select set_config('role', rolname::text, true) from pg_roles
             where rolname = svc_runtime_sql.reader() and pg_has_role(current_user, oid, 'member')) as role",
        org_id.as_str(),
        timeout.as_millis().to_string(),
    )
    .fetch_one(tx)
    .await?;
    Ok(())
}

/// Sends one table's rows; what is left of the bytes.
async fn send(
    tx: &mut PgConnection,
    table: Table,
    left: usize,
    pages: &mpsc::Sender<TableRows>,
) -> Result<usize, ReadRefusal> {
    let mut rows = sqlx::query_scalar!(
        r#"select to_json(r)::text as "row!" from svc_runtime_sql.tasks r where $1 = 'tasks'
           union all select to_json(r)::text from svc_runtime_sql.task_attempts r where $1 = 'task_attempts'
           union all select to_json(r)::text from svc_runtime_sql.model_decisions r where $1 = 'model_decisions'
           union all select to_json(r)::text from svc_runtime_sql.llm_invocations r where $1 = 'llm_invocations'
           union all select to_json(r)::text from svc_runtime_sql.artifact_instances r where $1 = 'artifact_instances'
           union all select to_json(r)::text from svc_runtime_sql.artifact_validations r where $1 = 'artifact_validations'
           union all select to_json(r)::text from svc_runtime_sql.workflow_events r where $1 = 'workflow_events'
           union all select to_json(r)::text from svc_runtime_sql.recovery_actions r where $1 = 'recovery_actions'
           limit $2"#,
        table.as_str(),
        i64::from(ROWS_MAX) + 1,
    )
    .fetch(tx);
    let (mut left, mut count, mut page) = (left, 0_u32, String::new());
    while let Some(row) = rows.try_next().await? {
        count += 1;
        left = left.checked_sub(row.len()).filter(|_| count <= ROWS_MAX).ok_or(ReadRefusal::TooLarge { table })?;
        page.push(if page.is_empty() { '[' } else { ',' });
        page.push_str(&row);
        if page.len() >= PAGE_BYTES {
            tell(pages, table, std::mem::take(&mut page)).await?;
        }
    }
    if !page.is_empty() {
        tell(pages, table, page).await?;
    }
    Ok(left)
}

async fn tell(pages: &mpsc::Sender<TableRows>, table: Table, mut rows: String) -> Result<(), ReadRefusal> {
    rows.push(']');
    // Whoever asked is gone: the rest is read for nobody.
    pages.send(TableRows { table, rows }).await.map_err(|_| ReadRefusal::Late)
}

#[cfg(test)]
mod tests;
