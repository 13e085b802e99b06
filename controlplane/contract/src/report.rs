//! Reports of a data plane: two entries a query, in order, never lost and never doubled.
//!
//! `started` is in the data plane's log before the first byte leaves; `finished` follows when the
//! stream ends. A `started` without `finished` after a restart ends as `interrupted`.

mod bounds;

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::abac::{Operation, Origin};
use crate::{GrantId, KeyId, OrgId, PolicyId, QueryId, RequestId, Role, Timestamp, UserId};

pub use bounds::{ENTRY_BYTES_MAX, NAME_BYTES_MAX, TEXT_BYTES_MAX};

/// A millionth of a credit: credits are never floats in storage.
pub type MicroCredits = u64;

/// Micro-credits in a credit.
pub const CREDIT: MicroCredits = 1_000_000;

/// One line of the data plane's log. `sequence` counts from 1 within one `log`, without gaps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub sequence: u64,
    pub body: Body,
}

impl Entry {
    /// A line that a data plane has sent. It is read here: the control plane is hardly optimised, and there are many.
    pub fn of_json(line: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(line)
    }
}

impl Started {
    /// The text that the control plane stores. It is written here, for the same reason.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

impl Finished {
    /// The text that the control plane stores. It is written here, for the same reason.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

// Tagged from outside: inner tags and `flatten` buffer numbers, and lose floats when serde_json
// keeps arbitrary precision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    Started(Box<Started>),
    Finished(Box<Finished>),
    BranchMerged(Box<BranchMerged>),
    TriggerFired(Box<TriggerFired>),
    TriggerError(Box<TriggerError>),
}

/// A trigger has noticed something that an agent left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriggerFired {
    pub trigger_id: String,
    pub trigger_name: String,
    pub fired_at: Timestamp,
    pub similarity_score: f64,
    pub threshold: f64,
    /// Its beginning.
    pub content: String,
    /// The memory or the step of reasoning.
    pub content_id: Option<String>,
    pub agent_id: String,
    pub metadata: serde_json::Value,
}

/// A trigger could not be asked, or not fire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerError {
    pub trigger_id: String,
    pub trigger_name: String,
    /// A stable code.
    pub error: String,
    pub occurred_at: Timestamp,
}

/// A branch was merged into the mainline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchMerged {
    pub branch_id: String,
    pub branch_name: String,
    pub agent_id: String,
    pub strategy: String,
    /// Tables that the branch had changed.
    pub tables_merged: Vec<String>,
    pub rows_affected: u64,
    /// Who merged it.
    pub actor_id: String,
    pub merged_at: Timestamp,
}

/// A query passed or failed the gates; nothing has been sent yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Started {
    pub query_id: QueryId,
    pub request_id: RequestId,
    pub org_id: OrgId,
    pub user_id: Option<UserId>,
    pub key_id: Option<KeyId>,
    pub role: Role,
    pub source_ip: Option<IpAddr>,
    pub origin: Origin,
    /// The dashboard asked it for one of its own pages, and nobody else: it costs nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_dashboard: bool,
    pub agent: Option<Agent>,
    /// The grant that it ran under, if the agent is confined to its grants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_id: Option<GrantId>,
    /// Every literal replaced by `?`.
    pub sql: String,
    /// The caller's own text.
    pub sql_original: String,
    /// The text that ran in its place, if it was healed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql_healed: Option<String>,
    pub sql_transpiled: Option<String>,
    pub sql_with_rls: Option<String>,
    pub operation: Option<Operation>,
    pub tables_accessed: Vec<String>,
    pub columns_masked: Vec<String>,
    pub policy_verdicts: Vec<Verdict>,
    pub abac_evaluation: Option<AbacEvaluation>,
    pub governance_version: u64,
    pub snapshot: Option<String>,
    pub estimated_micro_credits: MicroCredits,
    pub at: Timestamp,
}

/// `agent_metadata`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AgentMetadata")]
pub struct Agent {
    pub agent_id: Option<String>,
    pub framework: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyVerdict")]
pub struct Verdict {
    pub policy_id: PolicyId,
    pub policy_name: String,
    /// `mask`, `filter`, `allow`, `deny`, `deny_outside` or `read_only`.
    pub action: String,
    /// `table.column`.
    pub columns: Vec<String>,
    /// The mask's function; detail view only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AbacEvaluation {
    pub decision: String,
    pub policies_evaluated: usize,
    pub evaluation_time_ms: f64,
}

/// How a query ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    pub query_id: QueryId,
    pub outcome: Outcome,
    /// Stable code of the error, if it ended in one.
    pub error_code: Option<String>,
    /// Rows really delivered, or changed.
    pub rows_returned: u64,
    pub micro_credits: MicroCredits,
    pub cache_hit: bool,
    pub execution_time_ms: f64,
    pub transpilation_time_ms: f64,
    /// Milliseconds of each stage, by its name, in the order walked.
    pub stages: Vec<(String, f64)>,
    pub at: Timestamp,
}

crate::caller::words!(
    /// How a query ended.
    Outcome, "outcome", {
        Completed = "completed",
        Failed = "failed",
        Refused = "refused",
        Cancelled = "cancelled",
        /// The data plane died between `started` and `finished`.
        Interrupted = "interrupted",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_survives_json() {
        let entry = Entry {
            sequence: 7,
            body: Body::Finished(Box::new(Finished {
                query_id: "q".into(),
                outcome: Outcome::Completed,
                error_code: None,
                rows_returned: 12,
                micro_credits: 1_100_000,
                cache_hit: false,
                execution_time_ms: 1.25,
                transpilation_time_ms: 0.1,
                stages: vec![("execute".into(), 1e-7)],
                at: chrono::DateTime::UNIX_EPOCH,
            })),
        };
        let json = serde_json::to_vec(&entry).unwrap();
        assert_eq!(serde_json::from_slice::<Entry>(&json).unwrap(), entry);
    }
}
