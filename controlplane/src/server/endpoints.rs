//! The resource modules, in the order of the specification's Endpoints part.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use axum::http::Method;
use platform::http::route::Route;
use platform::http::routes::Routes;
use platform::http::signature::{Shapes, Signature};

use crate::domain::agents::{agent_memory, branches, reasoning, triggers};
use crate::domain::authentication::federation;
use crate::domain::tenancy::{organizations, tenants, users};
use crate::domain::{
    abac_policies, agent_capabilities, agents, api_keys, audit, authentication, billing, environments, jit_access,
    operations, policies, query, runtime, shadow_mode, storage_integrations, webhooks,
};
use crate::server::{dashboard, health, reference};

pub fn routes() -> Routes {
    Routes::new()
        .and(health::routes())
        .and(query::routes())
        .and(operations::routes())
        .and(agent_memory::routes())
        .and(reasoning::routes())
        .and(branches::routes())
        .and(triggers::routes())
        .and(organizations::routes())
        .and(users::routes())
        .and(api_keys::routes())
        .and(policies::routes())
        .and(abac_policies::routes())
        .and(audit::routes())
        .and(audit::stream::routes())
        .and(billing::routes())
        .and(environments::routes())
        .and(storage_integrations::routes())
        .and(webhooks::routes())
        .and(jit_access::routes())
        .and(agent_capabilities::routes())
        .and(shadow_mode::routes())
        .and(agents::routes())
        .and(tenants::routes())
        .and(federation::routes())
        .and(authentication::routes())
        .and(runtime::routes())
        .and(reference::routes())
        .and(dashboard::routes())
}

/// The rows of every resource module, without their handlers.
pub fn rows() -> &'static [Route] {
    static ROWS: OnceLock<Vec<Route>> = OnceLock::new();
    ROWS.get_or_init(|| routes().rows().to_vec())
}

/// The names of parameters of the query that the signature of the row's handler says, read once.
pub fn parameters(row: &Route) -> Arc<[String]> {
    type KnownParameters = HashMap<(Method, &'static str), Arc<[String]>>;
    static KNOWN: OnceLock<KnownParameters> = OnceLock::new();
    let read = |row: &Route| Signature::read(&mut Shapes::default(), row.tell).parameters().into();
    let all = || rows().iter().map(|row| ((row.method.clone(), row.path), read(row))).collect();
    let known = KNOWN.get_or_init(all).get(&(row.method.clone(), row.path));
    known.map_or_else(|| read(row), Arc::clone)
}
