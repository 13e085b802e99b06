//! Tenants: organizations that stand under another one, which counts what they do and no more.
//!
//! "Tenant: `tenant_id`, `name`, `parent_org_id`, `status`, `user_count`, `query_count_today`,
//! `created_at`"; "list of tenants (multi-tenant organizations)". Ours: POST and PUT. A tenant is an
//! organization like any other, with users, environments and a chain of its own: nothing of it is
//! reached from above. Whoever makes one owns it. A tenant has no tenants.

mod http;
mod store;

use contract::Access;
use platform::http::routes::Routes;

pub fn routes() -> Routes {
    use Access::Admin;
    const ALL: &str = "/v1/organizations/{org_id}/tenants";
    Routes::new()
        .get(ALL, Admin, None, http::list)
        .says("Lists the organizations that stand under this one.")
        .post(ALL, Admin, None, http::create)
        .says("Founds an organization under this one; the caller becomes its owner.")
        .ours()
        .put("/v1/organizations/{org_id}/tenants/{tenant_id}", Admin, None, http::update)
        .says("Renames a tenant.")
        .ours()
}

#[cfg(test)]
mod tests;
