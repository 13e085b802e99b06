//! Which triggers a caller may know of, now.
//!
//! How often a trigger has fired tells what it has heard. So it is shown to those alone who may read every table that
//! it hears, and if it hears statements, the log of them; and a key made for an agent sees what that agent has made, as
//! long as it hears that agent alone.

use contract::{Access, Scope};

use super::{Source, Trigger};
use crate::agents::memory::Reach;
use crate::pipeline::Standing;

#[derive(Debug)]
pub struct Sight {
    /// The agent that the key was made for.
    bound: Option<String>,
    /// Sources of what is closed to the caller.
    closed: Vec<Source>,
}

impl Sight {
    pub fn of(standing: &Standing) -> Self {
        let reach = Reach::of(standing);
        let reads_log = || standing.caller.may(Access::Auditor, Some(Scope::AuditRead)).is_ok();
        let is_closed = |source: &Source| match source {
            Source::Memory | Source::ReasoningStep => source.table().is_some_and(|table| !standing.may_read(table)),
            Source::Query => !reach.bound && !reads_log(), // an agent's key hears what is asked in its name
            Source::Explicit => false,
        };
        Self {
            closed: Source::ALL.into_iter().filter(is_closed).collect(),
            bound: reach.bound.then_some(reach.agent_id),
        }
    }

    pub fn hears(&self, source: Source) -> bool {
        !self.closed.contains(&source)
    }

    pub fn shows(&self, trigger: &Trigger) -> bool {
        let is_own =
            |agent: &String| trigger.made_by.as_ref() == Some(agent) && trigger.agent_filter.as_ref() == Some(agent);
        self.bound.as_ref().is_none_or(is_own) && trigger.sources.iter().all(|source| self.hears(*source))
    }
}
