//! JIT access: a role for a while, in one environment.
//!
//! "any authenticated user requests: `pending`; owner or admin approves: `approved`, elevated role
//! effective until expiry; denies: `denied`; revokes an `approved` (active grant): `revoked`, ends
//! before expiry"; "max 480 minutes". Whoever is not the owner approves no elevation to `admin`, as
//! with any other promotion, and nobody decides on their own request. A role is raised, never
//! lowered. The endpoints are deprecated: "They keep working".
//!
//! What it raises is in the governance snapshot with its end, so data planes raise and drop it by
//! themselves; here the guard does (`raised`). What would outlive an elevation is not its holder's
//! to do: keys, environments, policies, agents' capabilities, other elevations. Such rows ask for the
//! caller's own role.

mod elevations;
mod expiry;
mod http;
mod organization;
mod status;
mod store;

use contract::Access;
use platform::http::routes::Routes;

pub use elevations::{governed, raised};
pub use expiry::EndElevation;

pub fn routes() -> Routes {
    use Access::{Admin, Auditor, Authenticated};
    const ALL: &str = "/v1/environments/{env_id}/jit-access";
    const REQUESTS: &str = "/v1/organizations/{org_id}/jit";
    Routes::new()
        .get(ALL, Auditor, None, http::list)
        .says("Lists the requests for a role for a while.")
        .deprecated()
        .post(ALL, Authenticated, None, http::request)
        .says("Asks for a role for a while.")
        .deprecated()
        .post("/v1/environments/{env_id}/jit-access/{request_id}/approve", Admin, None, http::approve)
        .says("Grants what was asked for; it rules when it is answered.")
        .deprecated()
        .own_role()
        .post("/v1/environments/{env_id}/jit-access/{request_id}/deny", Admin, None, http::deny)
        .says("Refuses what was asked for.")
        .deprecated()
        .own_role()
        .post("/v1/environments/{env_id}/jit-access/{request_id}/revoke", Admin, None, http::revoke)
        .says("Ends an elevation before its time.")
        .deprecated()
        .own_role()
        .post("/v1/organizations/{org_id}/jit/request", Authenticated, None, organization::request)
        .says("Asks for a role for some hours, in the organization's only environment or the one of `env_id`.")
        .deprecated()
        .ours()
        .get(REQUESTS, Auditor, None, organization::list)
        .says("Lists the requests for a role for a while as a bare list, the newest first.")
        .deprecated()
        .ours()
}

#[cfg(test)]
mod tests;
