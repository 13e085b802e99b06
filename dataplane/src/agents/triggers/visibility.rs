//! Which triggers a caller may know of, now.
//!
//! How often a trigger has fired tells what it has heard. So it is shown to those alone who may read every table that
//! it hears, and if it hears statements, the log of them; and a key made for an agent sees what that agent has made, as
//! long as it hears that agent alone.

use contract::{Access, Scope};

use super::{Trigger, TriggerSource};
use crate::agents::memory::MemoryReach;
use crate::pipeline::CallerContext;

#[derive(Debug)]
pub struct TriggerVisibility {
    /// The agent that the key was made for.
    bound: Option<String>,
    /// Sources of what is closed to the caller.
    closed: Vec<TriggerSource>,
}

impl TriggerVisibility {
    pub fn of(standing: &CallerContext) -> Self {
        let reach = MemoryReach::of(standing);
        let reads_log = || standing.caller.may(Access::Auditor, Some(Scope::AuditRead)).is_ok();
        let is_closed = |source: &TriggerSource| match source {
            TriggerSource::Memory | TriggerSource::ReasoningStep => {
                source.table().is_some_and(|table| !standing.may_read(table))
            }
            TriggerSource::Query => !reach.bound && !reads_log(), // an agent's key hears what is asked in its name
            TriggerSource::Explicit => false,
        };
        Self {
            closed: TriggerSource::ALL.into_iter().filter(is_closed).collect(),
            bound: reach.bound.then_some(reach.agent_id),
        }
    }

    pub fn hears(&self, source: TriggerSource) -> bool {
        !self.closed.contains(&source)
    }

    pub fn shows(&self, trigger: &Trigger) -> bool {
        let is_own =
            |agent: &String| trigger.made_by.as_ref() == Some(agent) && trigger.agent_filter.as_ref() == Some(agent);
        self.bound.as_ref().is_none_or(is_own) && trigger.sources.iter().all(|source| self.hears(*source))
    }
}
