//! The input of an agent's key, and the reach of its agent.

use chrono::Duration;
use contract::caller::Scopes;
use contract::capability::{Capabilities, Confined, unexpired, whole_schema};
use contract::policy::abac::Operation;
use contract::{Tier, Timestamp, own_tables};
use platform::http::text::{NAME_MAX, checked};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::agent_capabilities;
use crate::domain::api_keys::input::{self, Admitted};
use crate::domain::api_keys::store::KeyRow;

/// What an agent does: it reads and writes, and keeps memories, steps, triggers and branches.
const SCOPES: [&str; 3] = ["query:read", "query:write", "agent:*"];
const DESCRIPTION_MAX: usize = 1_000;
/// How long a grant holds of a key without an end.
const GRANTED_DAYS: i64 = 36_500;

/// A key to be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentKeyCreation {
    /// The agent that the key is bound to, which is the name of the key too.
    agent_name: String,
    #[serde(default = "custom")]
    framework: String,
    /// The tier of the organization, whose limits hold; it may be left out.
    plan: Option<Tier>,
    description: Option<String>,
    /// Schemas all of whose tables the agent may reach.
    allowed_schemas: Option<Vec<String>>,
    /// `table` or `schema.table`. With neither, the agent is confined only if it was before.
    allowed_tables: Option<Vec<String>>,
    /// 1 to 3650; without it the key has no end.
    expires_in_days: Option<i64>,
}

fn custom() -> String {
    "custom".to_owned()
}

impl AgentKeyCreation {
    /// The key, the agent's name, the description, and what the agent may reach if that is said.
    pub fn admitted(self, tier: Tier, now: Timestamp) -> Result<(Admitted, String, Option<String>, Option<Reach>)> {
        if let Some(plan) = self.plan.filter(|plan| *plan != tier) {
            let message = format!("the organization's plan is `{tier}`, not `{plan}`: leave `plan` out");
            return Err(Error::invalid("plan", tier.as_str(), message));
        }
        let agent_name = checked("agent_name", &self.agent_name, NAME_MAX)?;
        let description = description(self.description.as_deref())?;
        let reach = Reach::asked(self.allowed_tables, self.allowed_schemas, Reach::default());
        let wanted = input::ApiKeyCreation {
            name: agent_name.clone(),
            scopes: Scopes::try_from(SCOPES.map(str::to_owned).to_vec()).map_err(Error::internal)?,
            ip_allowlist: Vec::new(),
            expires_in_days: self.expires_in_days,
            user_id: None,
            attributes: std::collections::BTreeMap::new(),
            agent_id: Some(agent_name.clone()),
            agent_framework: Some(self.framework),
        };
        Ok((wanted.admit(now)?, agent_name, description, reach))
    }
}

/// What is to be another; what is not sent stays.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentKeyChange {
    /// What people call the agent. Its id, which the key is bound to, stays.
    agent_name: Option<String>,
    /// An empty one takes it away.
    description: Option<String>,
    allowed_schemas: Option<Vec<String>>,
    allowed_tables: Option<Vec<String>>,
}

impl AgentKeyChange {
    /// The name, the description, and what the agent may reach from now on if that is said.
    pub fn admitted(self, row: &KeyRow, before: Reach) -> Result<(Option<String>, Option<String>, Option<Reach>)> {
        let agent_name = match &self.agent_name {
            Some(name) => Some(checked("agent_name", name, NAME_MAX)?),
            None => row.agent_name.clone(),
        };
        let description = match &self.description {
            Some(_) => description(self.description.as_deref())?,
            None => row.description.clone(),
        };
        Ok((agent_name, description, Reach::asked(self.allowed_tables, self.allowed_schemas, before)))
    }
}

fn description(given: Option<&str>) -> Result<Option<String>> {
    let given = given.filter(|text| !text.trim().is_empty());
    given.map(|text| checked("description", text, DESCRIPTION_MAX)).transpose()
}

/// The tables and schemas of others that an agent may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    pub tables: Vec<String>,
    pub schemas: Vec<String>,
}

impl Reach {
    /// As its grants that stand say it; none where it was never granted anything.
    pub fn of(agent_id: &str, confined: &Confined, now: Timestamp) -> Option<Self> {
        let mut reach = Self::default();
        for grant in unexpired(confined.get(agent_id)?, now) {
            for allowed in &grant.capabilities.allowed_tables {
                match whole_schema(allowed) {
                    Some(schema) => reach.schemas.push(schema.to_owned()),
                    None if own_tables::named_by(allowed).is_none() => reach.tables.push(allowed.clone()),
                    None => {}
                }
            }
        }
        for list in [&mut reach.tables, &mut reach.schemas] {
            list.sort();
            list.dedup();
        }
        Some(reach)
    }

    /// None where neither is said.
    fn asked(tables: Option<Vec<String>>, schemas: Option<Vec<String>>, before: Self) -> Option<Self> {
        if tables.is_none() && schemas.is_none() {
            return None;
        }
        Some(Self { tables: tables.unwrap_or(before.tables), schemas: schemas.unwrap_or(before.schemas) })
    }

    /// The grant that says so: every operation there, and what agents leave of their own.
    pub fn granted(
        self,
        agent_id: String,
        ends: Option<Timestamp>,
        now: Timestamp,
    ) -> agent_capabilities::CapabilityGrantCreation {
        let own = [own_tables::MEMORIES, own_tables::STEPS].map(str::to_owned);
        let schemas = self.schemas.into_iter().map(|schema| format!("{schema}.*"));
        let capabilities = Capabilities {
            allowed_tables: self.tables.into_iter().chain(schemas).chain(own).collect(),
            allowed_operations: Operation::ALL.iter().map(|operation| operation.as_str().to_owned()).collect(),
            max_queries_per_hour: None,
            max_rows_per_query: None,
            column_restrictions: std::collections::BTreeMap::new(),
        };
        let expires_at = ends.unwrap_or_else(|| now + Duration::days(GRANTED_DAYS));
        agent_capabilities::CapabilityGrantCreation { agent_id, capabilities, expires_at }
    }
}
