//! Federation: identities of a cloud that an organization believes.
//!
//! "Federation provider: `provider_id`, `type` (`aws_sts`, `gcp_workload_identity`), `config`, `status`
//! (`active`), `created_at`. Config for `aws_sts`: `role_arn`, `external_id`. Config for
//! `gcp_workload_identity`: `project_id`, `workload_identity_pool`, `provider`." The third is `azure_ad`:
//! `tenant_id`, `audience`. "How a federated identity maps to a role: not shown": each config has
//! `subjects`, `[{match, role}]`, and whom none of them matches stays outside: without any, everybody
//! does. Never owner or admin.
//!
//! Here is what an organization believes; `authentication::federated` is where a token is looked at.

mod config;
mod http;
mod store;
#[cfg(test)]
mod tests;

use contract::Access;
use platform::http::routes::Routes;

pub use config::{Aws, Azure, FederationConfig, Gcp, role_of_arn};
pub use http::audience;
pub use store::{Provider, by_audience, find, link, linked};

pub fn routes() -> Routes {
    const PROVIDERS: &str = "/v1/organizations/{org_id}/federation/providers";
    const PROVIDER: &str = "/v1/organizations/{org_id}/federation/providers/{provider_id}";
    Routes::new()
        .get(PROVIDERS, Access::Admin, None, http::list)
        .says("Lists the federation providers.")
        .post(PROVIDERS, Access::Admin, None, http::create)
        .says("Makes a federation provider; its `audience` is what tokens have to be made for.")
        .step_up()
        .put(PROVIDER, Access::Admin, None, http::put)
        .says("Changes the config of a federation provider; the sessions that it opened end.")
        .ours()
        .step_up()
        .delete(PROVIDER, Access::Admin, None, http::remove)
        .says("Removes a federation provider; the sessions that it opened end.")
        .ours()
        .step_up()
}
