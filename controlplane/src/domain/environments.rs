//! Environments: "Each environment has independent policies, API keys and connection credentials."
//!
//! "`settings.query_timeout_ms` integer, default 30000; `settings.max_concurrent_queries` integer,
//! default 100; `settings.cache_enabled` boolean, default true"; "`slug` required; unique within
//! the organization". Ours: `settings.test_mode`, default false, set for good at creation; such an
//! environment gives `svc_test_` keys.
//!
//! A new environment is `provisioning` until a data plane is placed (`placement`); from then on it
//! is `active` and has a `connection`. Where environments are resources, a row is what its resource
//! says (`server::kubernetes`), and an operator does the placing. It is suspended, resumed and removed by owners
//! and admins (`lifecycle`).

pub(crate) mod changes;
pub(super) mod http;
mod lifecycle;
pub mod placement;
pub(crate) mod removal;
mod routes;
mod seed;
pub(crate) mod store;

pub use lifecycle::wake;
pub use placement::{place, provision, provision_all};
pub use routes::routes;
pub use seed::{EnvironmentSeed, record, seed};
pub use store::{begin, belongs, governed, lock, place as resource_place, test_mode, versions, versions_in};

#[cfg(test)]
mod tests;
