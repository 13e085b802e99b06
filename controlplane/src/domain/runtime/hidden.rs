//! Rows and columns of the runtime's tables that rules of environments hide, and `/v2` refuses.
//!
//! A mask, a row filter, a rule by `TableIs` and an agent's grants hold where SQL reads `svc_runtime`. `/v2` tells whole
//! records of the same tables, and belongs to the organization: so a read is refused to whom an environment hides any
//! of what it tells. So is a request that would change nothing, and a change of what others have made: it is answered
//! with that. A key is held to its own environment, a session to all there are. What a worker is given to do, it is
//! given. How many rows or queries a grant allows is SQL's alone.

use axum::http::Method;
use contract::Timestamp;
use contract::caller::{Caller, Credential};
use contract::capability::{self, Grant};
use contract::policy::abac::Operation;
use contract::policy::{Policies, TableRef};
use contract::runtime_tables::{SCHEMA, Table};
use platform::http::call::Call;
use platform::{Error, Result};
use sqlx::PgConnection;

use crate::domain::{abac_policies, agent_capabilities, policies};

const HIDDEN: Error = Error::Barred {
    reason: "hidden_by_policy",
    message: "a policy of an environment, or a grant, hides some of what is told here: SQL over `svc_runtime` shows what \
              it leaves, if it leaves anything",
};

/// Who wants to be told something, and when.
#[derive(Debug, Clone, Copy)]
pub struct RuntimeReader<'a> {
    pub caller: &'a Caller,
    /// The one agent that the caller's key is bound to.
    pub agent_id: Option<&'a str>,
    pub now: Timestamp,
}

impl<'a> From<&'a Call> for RuntimeReader<'a> {
    fn from(cx: &'a Call) -> Self {
        Self { caller: &cx.caller, agent_id: cx.agent_id.as_deref(), now: cx.now() }
    }
}

const OF_A_TASK: &[Table] = &[Table::Tasks, Table::TaskAttempts];
const OF_A_REVIEW: &[Table] = &[Table::Tasks, Table::TaskAttempts, Table::ArtifactInstances, Table::RecoveryActions];

/// The tables that a request to a path of `/v2` tells of. Of a read for which that is not said, all; of a change, none:
/// what it is answered was given to who makes it, or by them.
pub fn told(method: &Method, path: &str) -> &'static [Table] {
    use Table::{ArtifactInstances, TaskAttempts, WorkflowEvents};
    match path {
        "/v2/runtime/tasks/{task_id}/cancel" => OF_A_TASK,
        "/v2/runtime/artifacts/{artifact_id}/promote" => &[ArtifactInstances],
        "/v2/recovery/{attempt_id}"
        | "/v2/reviews/{review_id}/resolve"
        | "/v2/reviews/{review_id}/approve"
        | "/v2/reviews/{review_id}/reject"
        | "/v2/reviews/{review_id}/defer" => OF_A_REVIEW,
        _ if *method != Method::GET => &[],
        "/v2/runtime/tasks" | "/v2/runtime/tasks/{task_id}" => OF_A_TASK,
        "/v2/runtime/attempts/{attempt_id}" => &[TaskAttempts],
        "/v2/runtime/artifacts" => &[ArtifactInstances],
        "/v2/runtime/events" | "/v2/runtime/events/stream" => &[WorkflowEvents],
        "/v2/reviews" | "/v2/reviews/pending" | "/v2/reviews/{review_id}" => OF_A_REVIEW,
        "/v2/gates" | "/v2/gates/{gate_id}" => &[],
        _ => Table::ALL,
    }
}

/// 403 if something of these tables is hidden from who asks.
pub async fn permit(conn: &mut PgConnection, runtime_reader: RuntimeReader<'_>, tables: &[Table]) -> Result<()> {
    let RuntimeReader { caller, agent_id, now } = runtime_reader;
    if tables.is_empty() {
        return Ok(());
    }
    let own = match &caller.credential {
        Credential::Key { env_id, .. } => Some(env_id),
        Credential::Session { .. } => None,
    };
    let standard = policies::naming(conn, (&caller.org_id, own), SCHEMA).await?;
    let abac = abac_policies::by_table(conn, (&caller.org_id, own)).await?;
    let rules = Policies { standard: &standard, abac: &abac };
    if tables.iter().any(|table| rules.bind(table_ref(*table), caller.role)) {
        return Err(HIDDEN);
    }
    if let (Some(agent_id), Some(env_id)) = (agent_id, own)
        && let Some(grants) = agent_capabilities::of(conn, env_id, agent_id).await?
        && is_beyond(&grants, tables, now)
    {
        return Err(HIDDEN);
    }
    Ok(())
}

const fn table_ref(table: Table) -> TableRef<'static> {
    TableRef { schema: SCHEMA, name: table.as_str() }
}

/// Do the agent's grants reach less than this?
fn is_beyond(grants: &[Grant], tables: &[Table], now: Timestamp) -> bool {
    let tables: Vec<_> = tables.iter().copied().map(table_ref).collect();
    capability::covering(grants, &tables, &[Operation::Select], now).is_err()
        || tables.iter().any(|table| !capability::denied_columns(grants, *table, now).is_empty())
}

#[cfg(test)]
mod tests;
