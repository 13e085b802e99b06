//! ABAC: one typed, pure evaluator, used to enforce, to simulate and to summarise.
//!
//! Every enabled policy is evaluated, highest `priority` first, then by id. Deny beats read-only
//! beats allow; the first denying rule gives the message. No policy: allowed.

mod admission;
mod condition;
mod context;
mod decision;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use admission::admit;
pub use condition::{Condition, UnknownCondition, hour_and_minute, names_table, stage_as_table};
pub use context::{Context, Operation, Origin, StorageUse, When};
pub use decision::{Decision, Effect};

use condition::{Match, holds};

use super::is_exempt;
use crate::caller::words;
use crate::{PolicyId, Role, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AbacPolicy {
    pub policy_id: PolicyId,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub rules: Vec<AbacRule>,
    pub priority: i32,
    pub enabled: bool,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbacRule {
    pub condition: Condition,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// `HH:MM`, with `end`, for a time window; over midnight when `start` is after `end`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// IANA name; UTC when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    pub action: Action,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exempt_roles: Vec<Role>,
}

words!(
    /// What a rule does.
    Action, "action", {
        /// Listed passes; another value is denied; a caller without the attribute is not concerned.
        Allow = "allow",
        /// Matched is denied.
        Deny = "deny",
        /// Not matched is denied.
        DenyOutside = "deny_outside",
        /// Matched may only read.
        ReadOnly = "read_only",
    }
);

pub fn evaluate(policies: &[AbacPolicy], context: &Context<'_>) -> Decision {
    let mut ordered: Vec<&AbacPolicy> = policies.iter().filter(|policy| policy.enabled).collect();
    ordered.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.policy_id.cmp(&b.policy_id)));
    let mut decision =
        Decision { effect: Effect::Allow, message: None, matched: Vec::new(), policies_evaluated: ordered.len() };
    for policy in ordered {
        for rule in policy.rules.iter().filter(|rule| !is_exempt(&rule.exempt_roles, context.role)) {
            let Some(effect) = effect(rule, context) else {
                continue;
            };
            decision.matched.push((policy.policy_id.clone(), policy.name.clone(), rule.action));
            if effect > Effect::ReadOnly && decision.effect <= Effect::ReadOnly {
                decision.message.clone_from(&rule.message);
                decision.effect = effect;
            } else if decision.effect == Effect::Allow {
                decision.effect = effect;
            }
        }
    }
    decision
}

/// What the rule does here; `None` when it has nothing to say.
fn effect(rule: &AbacRule, context: &Context<'_>) -> Option<Effect> {
    let is_by_name = matches!(rule.condition, Condition::TableIs | Condition::StageIs);
    let denied = if is_by_name { Effect::DenyTable } else { Effect::Deny };
    match (rule.action, holds(rule, context)) {
        (Action::Allow, Match::Yes) => Some(Effect::Allow),
        (Action::Allow | Action::DenyOutside, Match::No)
        | (Action::Deny, Match::Yes)
        | (Action::DenyOutside, Match::NotConcerned) => Some(denied),
        (Action::ReadOnly, Match::Yes) => Some(Effect::ReadOnly),
        (_, Match::Unused)
        | (Action::Allow, Match::NotConcerned)
        | (Action::Deny | Action::ReadOnly, Match::No | Match::NotConcerned)
        | (Action::DenyOutside, Match::Yes) => None,
    }
}
