//! Row-level security: "`filter` string (a SQL predicate that may contain brace placeholders
//! resolved from the caller, such as a department or agent identifier)".
//!
//! This file says which filters hold and what their placeholders mean. Parsing a filter and
//! putting it in a query is the dialect's work (`sql`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Policy, Rules, TableRef, is_exempt};
use crate::{Caller, EnvId, KeyId, PolicyId, Role, UserId};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowFilterRule {
    pub table: String,
    pub filter: String,
    #[serde(default)]
    pub exempt_roles: Vec<Role>,
    /// Every statement over the table runs over a copy of the rows that its caller may see. So not even the order of
    /// an answer that nobody ordered, or the last digit of a sum of DOUBLEs, follows from rows that are hidden.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

/// A filter that holds for one caller on one table, and the policy it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowFilter {
    pub filter: String,
    pub strict: bool,
    pub policy_id: PolicyId,
    pub policy_name: String,
}

/// The filters on a table for a role. A row is seen only if all of them are true.
pub fn filters_on(policies: &[Policy], table: TableRef<'_>, role: Role) -> Vec<RowFilter> {
    let mut filters = Vec::new();
    for policy in policies.iter().filter(|policy| policy.enabled) {
        let Rules::RowLevelSecurity(rules) = &policy.rules else {
            continue;
        };
        for rule in rules.iter().filter(|rule| table.is_named_by(&rule.table) && !is_exempt(&rule.exempt_roles, role)) {
            filters.push(RowFilter {
                filter: rule.filter.clone(),
                strict: rule.strict,
                policy_id: policy.policy_id.clone(),
                policy_name: policy.name.clone(),
            });
        }
    }
    filters
}

/// The filters that hold for a role, on whatever tables.
pub fn filters_for(policies: &[Policy], role: Role) -> impl Iterator<Item = &str> {
    let rules = policies.iter().filter(|policy| policy.enabled).flat_map(|policy| match &policy.rules {
        Rules::RowLevelSecurity(rules) => rules.as_slice(),
        Rules::ColumnMasking(_) => &[],
    });
    rules.filter(move |rule| !is_exempt(&rule.exempt_roles, role)).map(|rule| rule.filter.as_str())
}

/// Longest row filter, in bytes.
pub const FILTER_BYTES_MAX: usize = 16 * 1024;

/// The placeholders that are always known; attributes may not take their names.
pub const BUILT_IN: &[&str] =
    &["user_id", "email", "role", "org_id", "env_id", "key_id", "agent_id", "agent_framework"];

/// What `{name}` means for this caller. A name that is absent makes its filter false, and so do
/// `agent_id` and `agent_framework` unless they are verified.
pub fn placeholder_values(
    caller: &Caller,
    env_id: &EnvId,
    verified_agent: Option<(&str, Option<&str>)>,
) -> BTreeMap<String, String> {
    let mut values = caller.attributes.clone();
    let mut set = |name: &str, value: Option<&str>| {
        values.remove(name);
        if let Some(value) = value {
            values.insert(name.to_owned(), value.to_owned());
        }
    };
    set("user_id", caller.user_id.as_ref().map(UserId::as_str));
    set("email", caller.email.as_deref());
    set("role", Some(caller.role.as_str()));
    set("org_id", Some(caller.org_id.as_str()));
    set("env_id", Some(env_id.as_str()));
    set("key_id", caller.key_id().map(KeyId::as_str));
    set("agent_id", verified_agent.map(|(id, _)| id));
    set("agent_framework", verified_agent.and_then(|(_, framework)| framework));
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Credential;

    fn analyst() -> Caller {
        Caller {
            org_id: "o".into(),
            user_id: Some("u".into()),
            email: Some("a@x.example".into()),
            role: Role::Analyst,
            attributes: BTreeMap::from([("region".into(), "EU".into()), ("role".into(), "owner".into())]),
            credential: Credential::Session { session_id: "s".into() },
        }
    }

    #[test]
    fn an_attribute_never_replaces_a_built_in() {
        let values = placeholder_values(&analyst(), &"e".into(), None);
        assert_eq!(values["role"], "analyst");
        assert_eq!(values["region"], "EU");
    }

    #[test]
    fn an_unverified_agent_has_no_placeholder() {
        assert!(!placeholder_values(&analyst(), &"e".into(), None).contains_key("agent_id"));
        let values = placeholder_values(&analyst(), &"e".into(), Some(("a1", Some("langchain"))));
        assert_eq!((values["agent_id"].as_str(), values["agent_framework"].as_str()), ("a1", "langchain"));
        let undeclared = placeholder_values(&analyst(), &"e".into(), Some(("a1", None)));
        assert!(!undeclared.contains_key("agent_framework"), "it is not known, and not empty");
    }
}
