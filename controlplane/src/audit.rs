//! The audit trails as they are read, and the queries' as it is stored.
//!
//! Queries: data planes report two entries for each (`intake`), kept as they came, and answered as
//! one. Administration: the organization's IAM chain (`events`), shown whole in each of its
//! environments, and verified on demand. Either is exported to the archive (`exports`).

pub mod exports;
mod http;
mod intake;
mod store;
mod view;

use contract::{Access, Scope};

pub use intake::{REDACTED, store_entries};
pub use store::ended;

use crate::http::routes::Routes;

pub fn routes() -> Routes {
    const READ: Scope = Scope::AuditRead;
    const EXPORT: &str = "/v1/environments/{env_id}/audit/export/{export_id}";
    Routes::new()
        .get("/v1/environments/{env_id}/audit/queries", Access::Auditor, READ, http::queries)
        .get("/v1/environments/{env_id}/audit/queries/{query_id}", Access::Auditor, READ, http::query)
        .get("/v1/environments/{env_id}/audit/admin", Access::Auditor, READ, http::admin)
        .get("/v1/environments/{env_id}/audit/admin/verify-chain", Access::Auditor, READ, http::verify_chain)
        .post("/v1/environments/{env_id}/audit/export", Access::Admin, READ, exports::export)
        .get(EXPORT, Access::Admin, READ, exports::find)
        .ours()
}

#[cfg(test)]
mod tests;
