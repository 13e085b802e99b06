//! Answers about agents.

use contract::agent::fingerprint;
use contract::{OrgId, Timestamp};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::http::page::{PageRequest, Paged};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::store::{self, AgentRow};
use crate::domain::agent_capabilities;
use crate::domain::audit::{self, Activity, PolicySummary};

/// An agent as it is answered. Beyond the specification: how it came to be known, and what it says of itself.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "KnownAgent")]
pub struct Agent {
    id: String,
    agent_id: String,
    fingerprint: String,
    framework: Option<String>,
    status: String,
    trust_level: String,
    registration_source: String,
    registered_at: Timestamp,
    /// What it says of itself, from here to the metadata.
    display_name: Option<String>,
    version: Option<String>,
    capabilities: Vec<String>,
    parent_agent_id: Option<String>,
    metadata: Map<String, Value>,
    total_queries: i64,
    last_active: Timestamp,
    /// Its grants that stand in this environment.
    capability_grants: i64,
}

impl Agent {
    fn of(org_id: &OrgId, row: AgentRow, capability_grants: i64) -> Self {
        Self {
            id: row.agent_id.clone(),
            fingerprint: fingerprint(org_id, &row.agent_id),
            agent_id: row.agent_id,
            framework: row.framework,
            status: row.status,
            trust_level: row.trust_level,
            registration_source: row.registration_source,
            registered_at: row.registered_at,
            display_name: row.display_name,
            version: row.version,
            capabilities: row.capabilities,
            parent_agent_id: row.parent_agent_id,
            metadata: row.metadata.0,
            total_queries: row.queries,
            last_active: row.last_at,
            capability_grants,
        }
    }
}

/// Those that were active last come first.
pub async fn list(cx: Call, page: PageRequest) -> Result<Paged<Agent>> {
    let env_id = cx.env_id()?;
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, (cx.org_id(), &env_id), &page).await?;
    let ids: Vec<String> = rows.iter().map(|row| row.agent_id.clone()).collect();
    let grants = agent_capabilities::active_by_agent(&mut conn, &env_id, &ids, cx.now()).await?;
    let held = |row: &AgentRow| grants.get(&row.agent_id).copied().unwrap_or_default();
    let mark = |row: &AgentRow| (row.last_at, row.agent_id.clone());
    Ok(page.of(rows, total, mark, |row| {
        let held = held(&row);
        Agent::of(cx.org_id(), row, held)
    }))
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentReport {
    #[serde(flatten)]
    agent: Agent,
    activity: Activity,
    policy_summary: PolicySummary,
}

pub async fn activity(cx: Call) -> Result<Json<AgentReport>> {
    let env_id = cx.env_id()?;
    let mut tx = cx.app.pool().begin_with("begin isolation level repeatable read read only").await?;
    let row = store::find(&mut tx, (cx.org_id(), &env_id), &cx.id::<String>("agent_id")?).await?;
    let row = row.ok_or(Error::NotFound { kind: "agent" })?;
    let ids = [row.agent_id.clone()];
    let grants = agent_capabilities::active_by_agent(&mut tx, &env_id, &ids, cx.now()).await?;
    let (activity, policy_summary) = audit::of_agent(&mut tx, &env_id, &row.agent_id, cx.now()).await?;
    tx.commit().await?;
    let held = grants.values().sum();
    Ok(Json(AgentReport { agent: Agent::of(cx.org_id(), row, held), activity, policy_summary }))
}
