//! Answers about the keys of agents.

use contract::caller::Limits;
use contract::capability::Confined;
use contract::{KeyId, Tier, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::input::Reach;
use crate::domain::agents::branches::Analytics;
use crate::domain::api_keys::http;
use crate::domain::api_keys::store::KeyRow;
use crate::domain::audit::KeyUsage;

/// A key of an agent: never its text, never its hash.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentKey {
    id: KeyId,
    key_id: KeyId,
    agent_id: String,
    /// What people call it.
    agent_name: String,
    framework: Option<String>,
    /// The organization's tier.
    plan: Tier,
    description: Option<String>,
    /// Null where the agent was never confined; else it reaches these, and what is its own.
    allowed_tables: Option<Vec<String>>,
    allowed_schemas: Option<Vec<String>>,
    scopes: Vec<String>,
    key_prefix: String,
    /// `active`, `expired` or `revoked`.
    status: &'static str,
    last_used_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    created_at: Timestamp,
}

impl AgentKey {
    pub fn of(row: KeyRow, confined: &Confined, plan: Tier, now: Timestamp) -> Self {
        let status = row.status(now);
        let agent_id = row.agent_id.unwrap_or_default();
        let (allowed_tables, allowed_schemas) =
            Reach::of(&agent_id, confined, now).map(|reach| (reach.tables, reach.schemas)).unzip();
        Self {
            id: row.key_id.clone(),
            key_id: row.key_id,
            agent_name: row.agent_name.unwrap_or_else(|| agent_id.clone()),
            agent_id,
            framework: row.agent_framework,
            plan,
            description: row.description,
            allowed_tables,
            allowed_schemas,
            scopes: row.scopes,
            key_prefix: row.prefix,
            status,
            last_used_at: row.last_used_at,
            expires_at: row.expires_at,
            created_at: row.created_at,
        }
    }
}

/// A bare list of them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentKeys(pub Vec<AgentKey>);

/// The one answer that holds the text of a key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NewAgentKey {
    pub raw_key: String,
    #[serde(flatten)]
    pub record: AgentKey,
}

/// A key, and what bounds its use.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentKeyDetail {
    #[serde(flatten)]
    pub record: AgentKey,
    pub effective_limits: Limits,
}

/// The key stays, its text is another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentKeyRotation {
    pub old_key_id: KeyId,
    #[serde(flatten)]
    pub rotation: http::ApiKeyRotation,
}

/// What was asked with the key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentKeyUsage {
    pub key_id: KeyId,
    pub agent_id: String,
    #[serde(flatten)]
    pub used: KeyUsage,
    pub last_used_at: Option<Timestamp>,
}

/// The branches that are its agent's.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentKeyBranchUsage")]
pub struct BranchUsage {
    pub key_id: KeyId,
    pub agent_id: String,
    #[serde(flatten)]
    pub branches: Analytics,
}
