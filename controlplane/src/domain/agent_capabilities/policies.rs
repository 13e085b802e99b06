//! A grant that an enabled ABAC policy denies is not made: it would promise what no query gets.
//!
//! Judged by the one evaluator, as the agent's own key is: a `service_account`. Only rules that ask
//! for what a grant knows count (the agent, its framework, the table, the operation); time, address
//! and the like are a query's, and rule it there.

use std::collections::BTreeMap;

use contract::policy::TableRef;
use contract::policy::abac::{self, AbacPolicy, Condition, Context, Effect, Operation, Origin, StorageUse};
use contract::{Role, Timestamp};
use platform::{Error, Result};

/// Who is granted what.
#[derive(Debug, Clone, Copy)]
pub struct GrantedAccess<'a> {
    pub agent_id: &'a str,
    pub framework: Option<&'a str>,
    pub tables: &'a [String],
    pub operations: &'a [Operation],
}

pub fn permit(policies: &[AbacPolicy], wish: GrantedAccess<'_>, now: Timestamp) -> Result<()> {
    let of_operations = asking(policies, |condition| {
        matches!(condition, Condition::AgentIdIs | Condition::AgentFrameworkIs | Condition::OperationIs)
    });
    let of_tables = asking(policies, |condition| matches!(condition, Condition::TableIs | Condition::StageIs));
    for operation in wish.operations {
        let denied = judged(&of_operations, wish, None, Some(*operation), now);
        if let Some(policy) = denied {
            return Err(violation("capabilities.allowed_operations", operation.as_str(), &policy));
        }
    }
    let writes = wish.operations.iter().copied().find(|operation| *operation != Operation::Select);
    for table in wish.tables {
        if let Some(policy) = judged(&of_tables, wish, Some(table.as_str()), writes, now) {
            return Err(violation("capabilities.allowed_tables", table, &policy));
        }
    }
    Ok(())
}

fn violation(field: &'static str, what: &str, policy: &str) -> Error {
    Error::PolicyViolation { field, message: format!("the ABAC policy `{policy}` denies `{what}` to the agent") }
}

/// The policies with those of their rules that ask for such a thing.
fn asking(policies: &[AbacPolicy], asks: impl Fn(&Condition) -> bool) -> Vec<AbacPolicy> {
    let mut asking = policies.to_vec();
    for policy in &mut asking {
        policy.rules.retain(|rule| asks(&rule.condition));
    }
    asking
}

/// The name of a policy that denies it.
fn judged(
    policies: &[AbacPolicy],
    wish: GrantedAccess<'_>,
    table: Option<&str>,
    operation: Option<Operation>,
    now: Timestamp,
) -> Option<String> {
    let table = table.map(|name| name.split_once('.').unwrap_or(("main", name)));
    let context = Context {
        role: Role::ServiceAccount,
        user_id: None,
        attributes: &BTreeMap::new(),
        agent_id: Some(wish.agent_id),
        agent_framework: wish.framework,
        origin: Origin::Mcp,
        source_ip: None,
        tables: table.map(|(schema, name)| TableRef { schema, name }).into_iter().collect(),
        storage: StorageUse::default(),
        operations: operation.into_iter().collect(),
        when: now.into(),
    };
    // One at a time, so that it can be named.
    policies.iter().find_map(|policy| {
        let denied = match abac::evaluate(std::slice::from_ref(policy), &context).effect {
            Effect::Allow => false,
            Effect::ReadOnly => operation.is_some_and(|operation| operation != Operation::Select),
            Effect::Deny | Effect::DenyTable => true,
        };
        denied.then(|| policy.name.clone())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(rule: &Value, operations: &[Operation]) -> String {
        let policy: AbacPolicy = serde_json::from_value(json!({
            "policy_id": "p", "name": "p", "rules": [rule], "priority": 1, "enabled": true,
            "created_at": "2026-01-01T00:00:00Z",
        }))
        .unwrap();
        let tables = ["sales.orders".to_owned(), "sales.@landing".to_owned()];
        let wish = GrantedAccess { agent_id: "a", framework: Some("crewai"), tables: &tables, operations };
        match permit(&[policy], wish, chrono::DateTime::UNIX_EPOCH) {
            Ok(()) => "ok".to_owned(),
            Err(error) => error.problem().details["field"].as_str().unwrap_or_default().to_owned(),
        }
    }

    #[test]
    fn what_a_policy_denies_the_agent_is_not_granted() {
        use Operation::{Delete, Select};
        const TABLES: &str = "capabilities.allowed_tables";
        const OPERATIONS: &str = "capabilities.allowed_operations";
        for (rule, expected) in [
            (json!({"condition": "TableIs", "values": ["sales.orders"], "action": "deny"}), TABLES),
            (json!({"condition": "TableIs", "values": ["sales.ord*"], "action": "read_only"}), TABLES),
            (json!({"condition": "TableIs", "values": ["orders"], "action": "deny"}), "ok"),
            (json!({"condition": "TableIs", "values": ["main.orders"], "action": "deny_outside"}), TABLES),
            (json!({"condition": "StageIs", "values": ["sales.landing"], "action": "deny"}), TABLES),
            (json!({"condition": "StageIs", "values": ["sales.land*"], "action": "deny_outside"}), "ok"),
            (json!({"condition": "StageIs", "values": ["sales.orders"], "action": "deny"}), "ok"),
            (json!({"condition": "OperationIs", "values": ["delete"], "action": "deny"}), OPERATIONS),
            (json!({"condition": "OperationIs", "values": ["drop"], "action": "deny"}), "ok"),
            (json!({"condition": "AgentIdIs", "values": ["a"], "action": "deny"}), OPERATIONS),
            (json!({"condition": "AgentIdIs", "values": ["b"], "action": "allow"}), OPERATIONS),
            (json!({"condition": "AgentIdIs", "values": ["a"], "action": "read_only"}), OPERATIONS),
            (json!({"condition": "AgentFrameworkIs", "values": ["langchain"], "action": "allow"}), OPERATIONS),
            // A query decides these.
            (json!({"condition": "TimeOfDay", "start": "09:00", "end": "17:00", "action": "deny_outside"}), "ok"),
            (json!({"condition": "RoleIs", "values": ["service_account"], "action": "deny"}), "ok"),
            (
                json!({"condition": "AgentIdIs", "values": ["a"], "action": "deny", "exempt_roles": ["service_account"]}),
                "ok",
            ),
        ] {
            assert_eq!(check(&rule, &[Select, Delete]), expected, "{rule}");
        }
        let read_only = json!({"condition": "AgentIdIs", "values": ["a"], "action": "read_only"});
        assert_eq!(check(&read_only, &[Select]), "ok");
    }
}
