//! Branches in numbers: what one keeps, and how many there are of which state.

use std::collections::{BTreeMap, BTreeSet};

use contract::EnvId;
use platform::Result;
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Branch, listed, named};
use crate::domain::agents::agent_tools::{ToolPlace, tool};

/// How many a list of the data plane has at most.
const LISTED_MAX: usize = 200;

/// What a branch keeps.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct BranchCost {
    branch_id: String,
    /// Of all its tables and of their base.
    storage_rows: u64,
    /// By `schema.table`.
    tables: BTreeMap<String, BranchKept>,
}

/// Rows that a branch keeps of one table.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct BranchKept {
    /// As the branch has them now.
    rows: u64,
    /// As they were when it was made.
    base_rows: u64,
}

pub(super) async fn cost(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<BranchCost>> {
    #[derive(Deserialize)]
    struct Counted {
        branch_id: String,
        tables: BTreeMap<String, BranchKept>,
    }
    let Counted { branch_id, tables } = tool(&cx, place.env_id, "branch_cost", None, named(&cx)?).await?;
    let storage_rows = tables.values().map(|kept| kept.rows.saturating_add(kept.base_rows)).sum();
    Ok(Json(BranchCost { branch_id, storage_rows, tables }))
}

/// The branches of an environment, counted.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "BranchAnalytics")]
pub struct Analytics {
    total: usize,
    /// By state: `active`, `merged`, `discarded`, `expired`.
    by_status: BTreeMap<String, usize>,
    by_agent: BTreeMap<String, usize>,
    /// Tables that one of them has, as `schema.table`.
    tables: BTreeSet<String>,
    /// `false`: there are more, and only the newest two hundred are counted.
    complete: bool,
}

pub(super) async fn analytics(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<Analytics>> {
    Ok(Json(counted(listed(&cx, place.env_id, Some("all")).await?)))
}

/// Those of one agent alone.
pub async fn of_agent(cx: &Call, env_id: &EnvId, agent_id: &str) -> Result<Analytics> {
    let told = listed(cx, Some(env_id.clone()), Some("all")).await?;
    let is_complete = told.len() < LISTED_MAX;
    let own = told.into_iter().filter(|branch| branch.agent_id == agent_id).collect();
    Ok(Analytics { complete: is_complete, ..counted(own) })
}

fn counted(told: Vec<Branch>) -> Analytics {
    let complete = told.len() < LISTED_MAX;
    let mut counted = Analytics { total: told.len(), complete, ..Analytics::default() };
    for state in ["active", "merged", "discarded", "expired"] {
        counted.by_status.insert(state.to_owned(), 0);
    }
    for Branch { status, agent_id, tables, .. } in told {
        *counted.by_status.entry(status).or_default() += 1;
        *counted.by_agent.entry(agent_id).or_default() += 1;
        counted.tables.extend(tables);
    }
    counted
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn branches_are_counted_by_state_and_agent() {
        let branch = |agent: &str, status: &str| {
            json!({"branch_id": "b", "schema_name": "s", "name": "n", "description": null, "agent_id": agent,
                   "tables": ["main.orders"], "status": status, "created_at": "", "expires_at": ""})
        };
        let told = json!([branch("a", "active"), branch("a", "merged"), branch("b", "merged")]);
        let told: Vec<Branch> = serde_json::from_value(told).unwrap();
        let counted: Value = serde_json::to_value(counted(told)).unwrap();
        assert_eq!(
            counted,
            json!({"total": 3, "by_status": {"active": 1, "merged": 2, "discarded": 0, "expired": 0},
                   "by_agent": {"a": 2, "b": 1}, "tables": ["main.orders"], "complete": true})
        );
    }
}
