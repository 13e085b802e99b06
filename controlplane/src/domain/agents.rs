//! Agents: who works for an organization without being one of its users.
//!
//! "Agent (analytics): `agent_id`, `framework`, `status`, `total_queries`, `last_active`,
//! `capability_grants`"; "list of agents that queried the environment"; "activity and policy
//! summary". An agent exists once it has queried, a key was made for it, it has tried a task or has
//! registered itself (`registration`): "`trust_level` `provisional`, `registration_source`
//! `v2_create_attempt`, `status` `active`".
//! What an agent says of itself is a claim; existing here is no right.

pub mod agent_memory;
pub mod agent_tools;
pub mod branches;
mod http;
pub(crate) mod reasoning;
mod registration;
mod registry;
mod store;
pub mod triggers;

use contract::{Access, Scope};
use platform::http::routes::Routes;

pub use registration::register_itself;
pub use registry::{RegistrationSource, Use, framework, is_known, register, used};

pub fn routes() -> Routes {
    use Access::Auditor;
    use Scope::AuditRead;
    Routes::new()
        .get("/v1/environments/{env_id}/agents", Auditor, AuditRead, http::list)
        .says("Lists the agents that queried the environment.")
        .get("/v1/environments/{env_id}/agents/{agent_id}/activity", Auditor, AuditRead, http::activity)
        .says("Tells what an agent has asked, and what the policies made of it.")
}

#[cfg(test)]
mod tests;
