//! Agent capabilities: the tables, operations and columns an agent is confined to, and how much of them.
//!
//! "grant: owner or admin, agent exists: `active`; delete: revoked (`revoked: true`)";
//! "`agent_id` (string, must exist)", else 422 `AGENT_NOT_FOUND`. "422 `POLICY_VIOLATION`: a
//! capability grant for a table or operation that an enabled ABAC policy denies that agent."
//! "`usage` (`queries_this_hour`, `total_queries`, returned in list)" counts the queries that data
//! planes report to have run under the grant.
//!
//! What a grant means is `contract::capability`; the data plane's stages 3, 5 and 6 hold to it.

mod admission;
mod http;
mod policies;
mod status;
mod store;

use contract::{Access, Code, Scope};
use platform::http::routes::Routes;

pub use http::{CapabilityGrantCreation, grant_alone};
pub use store::{active_by_agent, governed, of, used};

pub fn routes() -> Routes {
    use Access::Admin;
    use Scope::{PolicyRead, PolicyWrite};
    const ALL: &str = "/v1/environments/{env_id}/agent-capabilities";
    Routes::new()
        .post(ALL, Admin, PolicyWrite, http::grant)
        .says("Confines an agent to what it is granted.")
        .own_role()
        .refuses(&[Code::AgentNotFound, Code::PolicyViolation, Code::InvalidRule])
        .get(ALL, Admin, PolicyRead, http::list)
        .says("Lists the grants with what ran under them.")
        .delete("/v1/environments/{env_id}/agent-capabilities/{grant_id}", Admin, PolicyWrite, http::revoke)
        .says("Revokes a grant; with none left its agent may do nothing.")
        .own_role()
}

#[cfg(test)]
mod tests;
