//! Environments: "Each environment has independent policies, API keys and connection credentials."
//!
//! "`settings.query_timeout_ms` integer, default 30000; `settings.max_concurrent_queries` integer,
//! default 100; `settings.cache_enabled` boolean, default true"; "`slug` required; unique within
//! the organization". Ours: `settings.test_mode`, default false, set for good at creation; such an
//! environment gives `svc_test_` keys.
//!
//! A new environment is `provisioning` until a data plane is placed (`placement`); from then on it
//! is `active` and has a `connection`.

mod http;
pub mod placement;
mod seed;
mod store;

use contract::{Access, Scope};

pub use placement::{place, provision, provision_all};
pub use seed::{Seed, record, seed};
pub use store::{belongs, governed, lock, test_mode, versions, versions_in};

use crate::http::routes::Routes;

pub fn routes() -> Routes {
    use Access::{Admin, Member};
    use Scope::{EnvironmentRead, EnvironmentWrite};
    const ALL: &str = "/v1/organizations/{org_id}/environments";
    const ONE: &str = "/v1/organizations/{org_id}/environments/{env_id}";
    const CONNECTION: &str = "/v1/organizations/{org_id}/environments/{env_id}/connection-info";
    Routes::new()
        .get(ALL, Member, EnvironmentRead, http::list)
        .deprecated()
        .post(ALL, Admin, EnvironmentWrite, http::create)
        .deprecated()
        .get(ONE, Member, EnvironmentRead, http::get)
        .deprecated()
        .put(ONE, Admin, EnvironmentWrite, http::put)
        .deprecated()
        .get(CONNECTION, Member, EnvironmentRead, http::connection_info)
        .deprecated()
}

/// A slug is the environment's host label and the name of its database.
pub(crate) fn is_slug(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests;
