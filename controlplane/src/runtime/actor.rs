//! Who did it, as workflow events and records name them.

use contract::Caller;

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
