//! The audit trails as they are read, and the queries' as it is stored.
//!
//! Queries: data planes report two entries for each (`intake`), kept as they came, and answered as
//! one. Administration: the organization's IAM chain (`events`), shown whole in each of its
//! environments, and verified on demand. Either is exported to the archive (`exports`).

mod activity;
pub mod exports;
mod http;
pub(crate) mod store;
pub(crate) mod stream;
mod view;

use contract::{Access, Code, Scope};
use platform::http::routes::Routes;

pub use activity::{Activity, KeyUsage, PolicySummary, of_agent, of_key};
pub use store::ended;

pub fn routes() -> Routes {
    const READ: Scope = Scope::AuditRead;
    const EXPORT: &str = "/v1/environments/{env_id}/audit/export/{export_id}";
    Routes::new()
        .get("/v1/environments/{env_id}/audit/queries", Access::Auditor, READ, http::queries)
        .says("Lists the queries that were asked, newest first.")
        .refuses(&[Code::InvalidDateRange])
        .get("/v1/environments/{env_id}/audit/queries/{query_id}", Access::Auditor, READ, http::query)
        .says("Reads one query with all that was decided about it.")
        .get("/v1/environments/{env_id}/audit/admin", Access::Auditor, READ, http::admin)
        .says("Lists the events of the organization's chain, newest first.")
        .get("/v1/environments/{env_id}/audit/admin/verify-chain", Access::Auditor, READ, http::verify_chain)
        .says("Walks the whole chain; names the first event that does not fit.")
        .post("/v1/environments/{env_id}/audit/export", Access::Admin, READ, exports::export)
        .says("Writes a range of a trail to the archive, as JSON Lines or CSV.")
        .refuses(&[Code::InvalidDateRange])
        .get(EXPORT, Access::Admin, READ, exports::find)
        .says("Reads an export with its files.")
        .ours()
}

#[cfg(test)]
mod tests;
