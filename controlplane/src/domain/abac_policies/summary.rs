//! The summary of policies for agents, by framework: "`frameworks` is an object keyed by framework
//! name; each value has `allowed` boolean, `policies_applied` integer, `restrictions` string[]."
//!
//! The frameworks are those that an enabled policy or a key of the environment names. An agent is
//! judged as what a key of its own is, a `service_account`: `allowed` by the rules that ask for its
//! framework alone, since the others ask for what only a query has. Those are its restrictions.

use std::collections::{BTreeMap, BTreeSet};

use contract::policy::AbacPolicy;
use contract::policy::abac::{self, AbacRule, Action, Condition, Context, Effect, Origin, StorageUse};
use contract::{Role, Timestamp};
use platform::Result;
use platform::http::call::Call;
use platform::http::json::Json;
use schemars::JsonSchema;
use serde::Serialize;

use super::store;
use crate::domain::api_keys;

const ROLE: Role = Role::ServiceAccount;

#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentSummary {
    frameworks: BTreeMap<String, FrameworkStanding>,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct FrameworkStanding {
    allowed: bool,
    policies_applied: usize,
    restrictions: Vec<String>,
}

pub async fn of_agents(cx: Call) -> Result<Json<AgentSummary>> {
    let env_id = cx.env_id()?;
    let mut conn = cx.app.pool().acquire().await?;
    let policies = store::governed(&mut conn, &env_id).await?;
    let keys = api_keys::governed(&mut conn, &env_id).await?;
    let of_keys = keys.into_iter().filter_map(|key| key.agent_framework);
    Ok(Json(AgentSummary { frameworks: summarise(&policies, of_keys.collect(), cx.now()) }))
}

fn summarise(
    policies: &[AbacPolicy],
    mut names: BTreeSet<String>,
    now: Timestamp,
) -> BTreeMap<String, FrameworkStanding> {
    let concerning: Vec<AbacPolicy> = policies.iter().filter(|policy| policy.enabled).map(concerning).collect();
    let asked = concerning.iter().flat_map(|policy| &policy.rules).filter(|rule| asks_framework(rule));
    names.extend(asked.flat_map(|rule| rule.values.clone()));
    names.into_iter().map(|name| (name.clone(), standing(&concerning, &name, now))).collect()
}

/// The policy with the rules that an agent is not exempt from.
fn concerning(policy: &AbacPolicy) -> AbacPolicy {
    let mut policy = policy.clone();
    policy.rules.retain(|rule| !rule.exempt_roles.contains(&ROLE));
    policy
}

fn standing(policies: &[AbacPolicy], framework: &str, now: Timestamp) -> FrameworkStanding {
    let mut applied = BTreeSet::new();
    let mut standing = FrameworkStanding { allowed: true, policies_applied: 0, restrictions: Vec::new() };
    for policy in policies {
        for rule in &policy.rules {
            if asks_framework(rule) {
                let effect = judged(policy, rule, framework, now);
                standing.allowed &= effect.is_none_or(|effect| effect <= Effect::ReadOnly);
                let Some(effect) = effect else { continue };
                if effect != Effect::Allow {
                    standing.restrictions.push(told(rule));
                }
            } else {
                standing.restrictions.push(told(rule));
            }
            applied.insert(&policy.policy_id);
        }
    }
    standing.policies_applied = applied.len();
    standing
}

fn asks_framework(rule: &AbacRule) -> bool {
    rule.condition == Condition::AgentFrameworkIs
}

/// What the one evaluator says of this rule alone; `None` when it has nothing to say.
fn judged(policy: &AbacPolicy, rule: &AbacRule, framework: &str, now: Timestamp) -> Option<Effect> {
    let alone = AbacPolicy { rules: vec![rule.clone()], ..policy.clone() };
    let context = Context {
        role: ROLE,
        user_id: None,
        attributes: &BTreeMap::new(),
        agent_id: None,
        agent_framework: Some(framework),
        origin: Origin::Mcp,
        source_ip: None,
        tables: Vec::new(),
        storage: StorageUse::default(),
        operations: Vec::new(),
        when: now.into(),
    };
    let decision = abac::evaluate(&[alone], &context);
    (!decision.matched.is_empty()).then_some(decision.effect)
}

/// A rule in a line: its own message, or what it does.
fn told(rule: &AbacRule) -> String {
    if let Some(message) = &rule.message {
        return message.clone();
    }
    let what = match (&rule.start, &rule.end) {
        (Some(start), Some(end)) => format!("{start}-{end} {}", rule.timezone.as_deref().unwrap_or("UTC")),
        _ => rule.values.join(", "),
    };
    let verb = match rule.action {
        Action::Allow => "only",
        Action::Deny => "denied",
        Action::DenyOutside => "denied outside",
        Action::ReadOnly => "read only",
    };
    format!("{verb} {}: {what}", String::from(rule.condition.clone()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(rules: &Value) -> Value {
        let policy: AbacPolicy = serde_json::from_value(json!({
            "policy_id": "p", "name": "p", "rules": rules, "priority": 1, "enabled": true,
            "created_at": "2026-01-01T00:00:00Z",
        }))
        .unwrap();
        let names = BTreeSet::from(["crewai".to_owned()]);
        json!(summarise(&[policy], names, chrono::DateTime::UNIX_EPOCH))
    }

    #[test]
    fn each_framework_is_judged_by_the_rules_that_ask_for_it() {
        let found = of(&json!([{"condition": "AgentFrameworkIs", "values": ["langchain"], "action": "allow"}]));
        assert_eq!(found["langchain"], json!({"allowed": true, "policies_applied": 1, "restrictions": []}));
        let only = json!(["only AgentFrameworkIs: langchain"]);
        assert_eq!(found["crewai"], json!({"allowed": false, "policies_applied": 1, "restrictions": only}));
    }

    #[test]
    fn what_only_a_query_can_decide_is_a_restriction() {
        let found = of(&json!([
            {"condition": "TimeOfDay", "start": "09:00", "end": "17:00", "action": "deny_outside"},
            {"condition": "TableIs", "values": ["payroll"], "action": "deny", "message": "no payroll"},
            {"condition": "RoleIs", "values": ["analyst"], "action": "deny", "exempt_roles": ["service_account"]},
        ]));
        let restrictions = json!(["denied outside TimeOfDay: 09:00-17:00 UTC", "no payroll"]);
        assert_eq!(found["crewai"], json!({"allowed": true, "policies_applied": 1, "restrictions": restrictions}));
    }
}
