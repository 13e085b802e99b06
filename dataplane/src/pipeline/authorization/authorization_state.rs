//! By what something was let through that outlasts its statement: the rows of an open cursor, the changes of a client's
//! transaction. It ends when this is not so any more.

use std::sync::Arc;

use contract::{Caller, Governance, Timestamp};

use crate::DeclaredAgent;
use crate::pipeline::TimeRules;

/// The rules and the caller, with the agent that they declare, at one moment.
#[derive(Debug, Clone)]
pub struct AuthorizationState {
    rules: Arc<Governance>,
    caller: Caller,
    agent: DeclaredAgent,
    moment: Option<TimeRules>,
}

impl AuthorizationState {
    pub fn of(rules: Arc<Governance>, caller: Caller, agent: DeclaredAgent, now: Timestamp) -> Self {
        let moment = TimeRules::of(&rules, &caller, &agent, now);
        Self { rules, caller, agent, moment }
    }

    pub fn agent(&self) -> &DeclaredAgent {
        &self.agent
    }

    /// Does the same apply to the same caller? A role that was lent, a grant, and an hour of the day end by the clock,
    /// without new rules.
    pub fn is_as(&self, then: &Self) -> bool {
        let same_rules = Arc::ptr_eq(&self.rules, &then.rules) || same_rules(&self.rules, &then.rules);
        same_rules && self.caller == then.caller && self.agent == then.agent && self.moment == then.moment
    }
}

/// Is all the same that decides what a caller may do?
fn same_rules(a: &Governance, b: &Governance) -> bool {
    a.policies == b.policies
        && a.abac_policies == b.abac_policies
        && a.agent_capabilities == b.agent_capabilities
        && a.organization == b.organization
        && a.environment.status == b.environment.status
}
