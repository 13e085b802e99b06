//! Who did it, as workflow events and records name them.

use contract::Caller;
use platform::http::call::Call;
use platform::{Error, Result};

/// What happens on its own.
pub const SYSTEM: &str = "system";

pub fn of(caller: &Caller) -> String {
    match (&caller.user_id, caller.key_id()) {
        (Some(user_id), _) => format!("user:{user_id}"),
        (None, Some(key_id)) => format!("key:{key_id}"),
        (None, None) => caller.actor_id().to_owned(),
    }
}

/// The agent of an attempt, or whoever holds its lease for it.
pub fn agent(agent_id: Option<&str>, caller: &Caller) -> String {
    agent_id.map_or_else(|| of(caller), |agent_id| format!("agent:{agent_id}"))
}

/// The agent that the caller works as: whichever it names, but for a key that is bound to one, which
/// is that one and no other.
pub fn declared(cx: &Call, named: Option<String>) -> Result<Option<String>> {
    match (&cx.agent_id, named) {
        (Some(own), Some(named)) if *own != named => Err(Error::AnotherAgent),
        (Some(own), _) => Ok(Some(own.clone())),
        (None, named) => Ok(named),
    }
}

/// May the caller speak for this agent? A key that is bound to one speaks for no other.
pub fn speaks_for(cx: &Call, agent_id: Option<&str>) -> bool {
    cx.agent_id.is_none() || agent_id.is_none() || cx.agent_id.as_deref() == agent_id
}
