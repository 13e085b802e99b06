//! The text that a model wrote for a statement that was described, until that is run: a client that was told of
//! columns gets those, and the model is asked once.

use std::time::Duration;

use contract::Governance;
use contract::wire::Who;
use moka::sync::Cache;

use crate::DeclaredAgent;
use crate::pipeline::Query;
use crate::request::answer::Healed;

const KEPT_MAX: u64 = 64;
const KEPT_FOR: Duration = Duration::from_mins(1);

/// By who asked, under which rules, where, and what.
type CorrectionKey = (Who, DeclaredAgent, u64, Option<String>, Vec<String>, String);

#[derive(Debug)]
pub(in crate::pipeline) struct CorrectionCache(Cache<CorrectionKey, Healed>);

impl Default for CorrectionCache {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(KEPT_MAX).time_to_live(KEPT_FOR).build())
    }
}

impl CorrectionCache {
    pub(super) fn of(&self, query: &Query, rules: &Governance) -> Option<Healed> {
        self.0.get(&asked(query, rules))
    }

    /// For the run that a description is asked for.
    pub fn described(&self, query: &Query, rules: &Governance, healed: Healed) {
        self.0.insert(asked(query, rules), healed);
    }
}

fn asked(query: &Query, rules: &Governance) -> CorrectionKey {
    let ask = &query.ask;
    let path = ask.names.search_path();
    (ask.who.clone(), ask.agent.clone(), rules.version, query.branch.clone(), path, ask.sql.clone())
}
