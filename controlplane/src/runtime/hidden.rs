//! What the rules of environments hide of the runtime's tables, `/v2` does not tell.
//!
//! A mask, a row filter, a rule by `TableIs` and an agent's grants hold where SQL reads `svc_runtime`. `/v2` tells whole
//! records of the same tables, and belongs to the organization: so a read is refused to whom an environment hides any
//! of what it tells. A key is held to its own environment, a session to all there are. What a worker is given to do, it
//! is given.

use contract::caller::Credential;
use contract::capability::{self, Grant};
use contract::policy::abac::{self, Context, Effect, Operation, Origin};
use contract::policy::{AbacPolicy, Policies, Policy, TableRef};
use contract::runtime_tables::{SCHEMA, Table};
use contract::{Timestamp, UserId};

use crate::http::call::Call;
use crate::{Error, Result, abac_policies, agent_capabilities, policies};

const HIDDEN: Error = Error::Barred {
    reason: "hidden_by_policy",
    message: "a policy of an environment, or a grant, hides some of what is told here: ask by SQL over `svc_runtime`, \
              which shows the rest",
};

/// 403 if something of what this path of `/v2` tells is hidden from the caller.
pub async fn permit(cx: &Call, path: &str) -> Result<()> {
    let tables = told(path);
    let own = match &cx.caller.credential {
        Credential::Key { env_id, .. } => Some(env_id),
        Credential::Session { .. } => None,
    };
    let mut conn = cx.app.pool().acquire().await?;
    let standard = policies::naming(&mut conn, (cx.org_id(), own), SCHEMA).await?;
    let abac = abac_policies::by_table(&mut conn, (cx.org_id(), own)).await?;
    let mut hidden = tables.iter().any(|table| hides(cx, (&standard, &abac), table_ref(*table)));
    if let (Some(agent_id), Some(env_id)) = (&cx.agent_id, own) {
        let confined = agent_capabilities::governed(&mut conn, env_id).await?;
        hidden |= confined.get(agent_id).is_some_and(|grants| is_beyond(grants, tables, cx.now()));
    }
    if hidden { Err(HIDDEN) } else { Ok(()) }
}

/// Which tables a path tells of: where that is not said, all.
fn told(path: &str) -> &'static [Table] {
    use Table::{ArtifactInstances, TaskAttempts, Tasks, WorkflowEvents};
    match path {
        "/v2/runtime/tasks" | "/v2/runtime/tasks/{task_id}" => &[Tasks, TaskAttempts],
        "/v2/runtime/attempts/{attempt_id}" => &[TaskAttempts],
        "/v2/runtime/artifacts" => &[ArtifactInstances],
        "/v2/runtime/events" | "/v2/runtime/events/stream" => &[WorkflowEvents],
        _ => Table::ALL,
    }
}

const fn table_ref(table: Table) -> TableRef<'static> {
    TableRef { schema: SCHEMA, name: table.as_str() }
}

/// Does a rule hide something of the table from the caller, now?
fn hides(cx: &Call, (standard, abac): (&[Policy], &[AbacPolicy]), table: TableRef<'_>) -> bool {
    let caller = &cx.caller;
    let context = Context {
        role: caller.role,
        user_id: caller.user_id.as_ref().map(UserId::as_str),
        attributes: &caller.attributes,
        agent_id: cx.agent_id.as_deref(),
        agent_framework: None,
        origin: if cx.in_browser { Origin::Dashboard } else { Origin::Rest },
        source_ip: Some(cx.peer),
        tables: vec![table],
        operations: vec![Operation::Select],
        when: cx.now().into(),
    };
    let is_denied = matches!(abac::evaluate(abac, &context).effect, Effect::Deny | Effect::DenyTable);
    is_denied || Policies { standard, abac: &[] }.bind(table, caller.role)
}

/// Do the agent's grants reach less than this?
fn is_beyond(grants: &[Grant], tables: &[Table], now: Timestamp) -> bool {
    let tables: Vec<_> = tables.iter().copied().map(table_ref).collect();
    capability::covering(grants, &tables, &[Operation::Select], now).is_err()
        || tables.iter().any(|table| !capability::denied_columns(grants, *table, now).is_empty())
}

#[cfg(test)]
mod tests;
