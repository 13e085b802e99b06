//! The explanation of a statement without running it: for the caller (`transpile`), or for somebody
//! imagined (`policies/test`), which owners and admins may ask. No row leaves.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::MaskFunction;
use crate::policy::abac::Origin;
use crate::{PolicyId, Role, StandardStrings, Timestamp};

/// Attributes that somebody imagined may have, as many as a user.
pub const ATTRIBUTES_MAX: usize = 32;

/// Body of `POST /v1/environments/{env_id}/transpile`, on both planes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Transpilation")]
#[serde(deny_unknown_fields)]
pub struct TranspileBody {
    pub sql: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_framework: Option<String>,
    /// What a backslash in a string is: `on` (default), an ordinary character; `off`, an escape, as in the warehouse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_conforming_strings: Option<StandardStrings>,
}

/// Body of `POST /v1/environments/{env_id}/policies/test`, on both planes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyTest")]
#[serde(deny_unknown_fields)]
pub struct TestBody {
    pub sql: String,
    /// Who is imagined to ask.
    #[serde(default, rename = "as")]
    pub run_as: RunAs,
    /// What a backslash in a string is: `on` (default), an ordinary character; `off`, an escape, as in the warehouse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_conforming_strings: Option<StandardStrings>,
}

/// Somebody who has no account, key or address: only what is said of them here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunAs {
    /// Your own if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// At most 32.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// As if the key were made for this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework: Option<String>,
    /// `rest` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_origin: Option<Origin>,
    /// When they ask; now if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// A statement on its way to the engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Transpiled {
    pub original: String,
    /// In the engine's dialect, without policies. Absent where policies change the statement and the one who asks
    /// is neither owner nor admin.
    pub rewritten: Option<String>,
    /// In the engine's dialect, with the policies in it: what would run. For owners and admins.
    pub governed: Option<String>,
    /// Values of `$1`, `$2` … in `governed`; null is a value that comes with the query.
    pub parameters: Vec<Option<String>>,
    /// `schema.table`.
    pub tables: Vec<String>,
    /// Those of which the one who asks sees no row, because a rule needs an attribute that they do not have.
    #[serde(default)]
    pub tables_hidden: Vec<String>,
    pub warnings: Vec<String>,
}

/// What the policies do with a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tested {
    pub verdict: Verdict,
    /// Of the error that the query would end with.
    pub code: Option<String>,
    pub reason: Option<String>,
    pub matching_policies: Vec<Matching>,
    /// On the tables of the statement.
    pub filters: Vec<Filtering>,
    /// On the tables of the statement.
    pub masks: Vec<Masking>,
    /// Masked columns that the answer would be made of, or that a condition compares.
    pub columns_masked: Vec<String>,
    #[serde(flatten)]
    pub statement: Transpiled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TestVerdict")]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Deny,
}

/// A policy that had a say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TestMatch")]
pub struct Matching {
    pub policy_id: PolicyId,
    pub name: String,
    /// `allow`, `deny`, `deny_outside`, `read_only`, `filter` or `mask`.
    pub action: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TestFilter")]
pub struct Filtering {
    pub table: String,
    /// As it was written.
    pub filter: String,
    pub policy_id: PolicyId,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TestMask")]
pub struct Masking {
    pub table: String,
    pub column: String,
    pub function: MaskFunction,
    /// Characters that `partial` shows.
    pub visible_chars: u32,
    pub policy_id: PolicyId,
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_imagined_may_be_left_out() {
        let body: TestBody = serde_json::from_str(r#"{"sql": "select 1"}"#).unwrap();
        assert_eq!(body.run_as, RunAs::default());
        assert!(serde_json::from_str::<TestBody>(r#"{"sql": "", "as": {"nobody": 1}}"#).is_err());
    }
}
