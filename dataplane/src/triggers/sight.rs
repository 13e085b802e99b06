//! Which triggers a caller may know of, now.
//!
//! How often a trigger has fired tells what it has heard. So it is shown to those alone who may read every table that
//! it hears; and a key made for an agent sees what that agent has made, as long as it hears that agent alone.

use super::{Source, Trigger};
use crate::memory::Reach;
use crate::pipeline::Standing;

#[derive(Debug)]
pub struct Sight {
    /// The agent that the key was made for.
    bound: Option<String>,
    /// Tables that are closed to the caller.
    closed: Vec<&'static str>,
}

impl Sight {
    pub fn of(standing: &Standing) -> Self {
        let reach = Reach::of(standing);
        let tables = [Source::Memory, Source::ReasoningStep].into_iter().filter_map(Source::table);
        Self {
            bound: reach.bound.then_some(reach.agent_id),
            closed: tables.filter(|table| !standing.may_read(table)).collect(),
        }
    }

    pub fn shows(&self, trigger: &Trigger) -> bool {
        let is_closed = |source: &Source| source.table().is_some_and(|table| self.closed.contains(&table));
        let is_own =
            |agent: &String| trigger.made_by.as_ref() == Some(agent) && trigger.agent_filter.as_ref() == Some(agent);
        self.bound.as_ref().is_none_or(is_own) && !trigger.sources.iter().any(is_closed)
    }
}
