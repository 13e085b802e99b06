//! For whom something is asked of the policies.

use contract::policy::abac::When;
use contract::{Caller, Governance, Timestamp};

use super::agent::{Agent, agent};
use super::policy_request::{PolicyRequest, RequestOrigin};
use crate::Ask;
use crate::governance::sessions::standing_in;
use crate::pipeline::Result;

/// For whom a statement is checked, and at which moment.
#[derive(Debug, Clone)]
pub(in crate::pipeline) struct Asker {
    pub caller: Caller,
    pub agent: Agent,
    pub when: When,
}

impl Asker {
    /// Who asks, as these rules know them.
    pub fn of(rules: &Governance, ask: &Ask, now: Timestamp) -> Result<Self> {
        let caller = standing_in(rules, &ask.who, ask.peer, now)?;
        let agent = agent(rules, &caller, &ask.agent)?;
        Ok(Self { caller, agent, when: now.into() })
    }

    /// What they ask of the policies.
    pub fn asks<'a>(&'a self, rules: &'a Governance, request_origin: RequestOrigin, writes: bool) -> PolicyRequest<'a> {
        let (caller, agent, when) = (&self.caller, &self.agent, self.when);
        PolicyRequest { rules, caller, agent, request_origin, writes, when, stages: None }
    }
}
