//! Rules that follow the clock: which grants of an agent stand, and whether the policies let
//! anything pass at this time of this day.
//!
//! Rows of an open cursor were admitted at one moment and are read at another. The rules may be the same, and still be
//! over for whoever reads.

use contract::policy::abac::{self, AbacPolicy, Condition, Effect, Operation, Origin};
use contract::{Caller, Governance, GrantId, Timestamp, capability};

use super::policy_request::{PolicyRequest, RequestOrigin, asking};
use crate::DeclaredAgent;
use crate::pipeline::authorization::agent::{Agent, agent};

/// Of one caller and the agent that they declare, at one moment. What was admitted at another is admitted still if
/// both are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeRules {
    /// Those that stand; none where the agent was never granted anything.
    grants: Option<Vec<GrantId>>,
    is_open: bool,
}

impl TimeRules {
    /// None where the caller may not even declare such an agent.
    pub fn of(rules: &Governance, caller: &Caller, declared: &DeclaredAgent, now: Timestamp) -> Option<Self> {
        let agent = agent(rules, caller, declared).ok()?;
        let grants = agent.id.as_ref().and_then(|id| rules.agent_capabilities.get(id));
        let unexpired = |grants: &Vec<capability::Grant>| {
            capability::unexpired(grants, now).map(|grant| grant.grant_id.clone()).collect()
        };
        let is_open = effect(rules, caller, &agent, now) < Effect::Deny;
        Some(Self { grants: grants.map(unexpired), is_open })
    }

    /// Whether these rules, by which it was made, leave nothing to the clock.
    pub fn is_of_no_time(&self, rules: &Governance) -> bool {
        let is_timely =
            |policy: &AbacPolicy| policy.enabled && policy.rules.iter().any(|rule| is_of_time(&rule.condition));
        self.grants.is_none() && !rules.abac_policies.iter().any(is_timely)
    }
}

fn is_of_time(condition: &Condition) -> bool {
    matches!(condition, Condition::TimeOfDay | Condition::DayOfWeek)
}

/// Whether the clock lets them change anything.
pub(super) fn lets_write(rules: &Governance, caller: &Caller, declared: &DeclaredAgent, now: Timestamp) -> bool {
    agent(rules, caller, declared).is_ok_and(|agent| effect(rules, caller, &agent, now) == Effect::Allow)
}

fn effect(rules: &Governance, caller: &Caller, agent: &Agent, now: Timestamp) -> Effect {
    let timed = asking(&rules.abac_policies, is_of_time);
    if timed.is_empty() {
        return Effect::Allow; // asked with each statement, and again before its rows are told
    }
    // a condition of time asks for nothing else: neither the protocol, nor the tables
    let request_origin = RequestOrigin { origin: Origin::Pgwire, peer: None };
    let asked = PolicyRequest { rules, caller, agent, request_origin, writes: false, when: now.into(), stages: None };
    abac::evaluate(&timed, &asked.context(&[], &[Operation::Select])).effect
}
