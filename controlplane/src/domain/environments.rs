//! Environments: "Each environment has independent policies, API keys and connection credentials."
//!
//! "`settings.query_timeout_ms` integer, default 30000; `settings.max_concurrent_queries` integer,
//! default 100; `settings.cache_enabled` boolean, default true"; "`slug` required; unique within
//! the organization". Ours: `settings.test_mode`, default false, set for good at creation; such an
//! environment gives `svc_test_` keys.
//!
//! A new environment is `provisioning` until a data plane is placed (`placement`); from then on it
//! is `active` and has a `connection`. Where environments are resources, a row is what its resource
//! says (`mirror`), and an operator does the placing. It is suspended, resumed and removed by owners
//! and admins (`standing`).

pub(crate) mod changes;
pub(super) mod http;
pub mod placement;
pub(crate) mod removal;
mod seed;
mod standing;
pub(crate) mod store;

use contract::{Access, Code, Scope};

pub use placement::{place, provision, provision_all};
pub use seed::{Seed, record, seed};
pub use standing::wake;
pub use store::{belongs, governed, lock, place as resource_place, test_mode, versions, versions_in};

use crate::platform::http::routes::Routes;

pub fn routes() -> Routes {
    use Access::{Admin, Member};
    use Scope::{EnvironmentRead, EnvironmentWrite};
    const ALL: &str = "/v1/organizations/{org_id}/environments";
    const ONE: &str = "/v1/organizations/{org_id}/environments/{env_id}";
    const SUSPEND: &str = "/v1/organizations/{org_id}/environments/{env_id}/suspend";
    const RESUME: &str = "/v1/organizations/{org_id}/environments/{env_id}/resume";
    const CONNECTION: &str = "/v1/organizations/{org_id}/environments/{env_id}/connection-info";
    const PROMOTE: &str = "/v1/organizations/{org_id}/environments/{env_id}/promote";
    Routes::new()
        .get(ALL, Member, EnvironmentRead, http::list)
        .says("Lists the environments.")
        .deprecated()
        .post(ALL, Admin, EnvironmentWrite, http::create)
        .says("Makes an environment; it is active when its data plane serves.")
        .deprecated()
        .get(ONE, Member, EnvironmentRead, http::get)
        .says("Reads an environment.")
        .deprecated()
        .put(ONE, Admin, EnvironmentWrite, http::put)
        .says("Changes what is given of an environment.")
        .own_role()
        .versioned()
        .deprecated()
        .post(PROMOTE, Admin, EnvironmentWrite, super::promotion::promote)
        .says("Makes another environment's policies like this one's, or tells how.")
        .deprecated()
        .own_role()
        .get(CONNECTION, Member, EnvironmentRead, http::connection_info)
        .says("Tells how to connect.")
        .refuses(&[Code::Conflict])
        .deprecated()
        .delete(ONE, Admin, EnvironmentWrite, standing::remove)
        .says("Removes an environment: its keys are revoked, its data stays where it lies.")
        .ours()
        .own_role()
        .step_up()
        .post(SUSPEND, Admin, EnvironmentWrite, standing::suspend)
        .says("Suspends an environment: nothing runs there, and everything is kept.")
        .ours()
        .own_role()
        .post(RESUME, Admin, EnvironmentWrite, standing::resume)
        .says("Resumes a suspended environment; it is active when its data plane serves.")
        .ours()
        .own_role()
}

#[cfg(test)]
mod tests;
