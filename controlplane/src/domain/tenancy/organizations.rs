//! Organizations: the tenants.
//!
//! "POST /v1/organizations: any authenticated; 201 organization. GET: M, including `quotas`. PUT:
//! O, A; `slug` and `cloud_region` cannot change." "A new organization is `free`"; "caller becomes
//! owner".
//!
//! Where organizations are resources, a row is what its resource says (`server::kubernetes`).
//!
//! Tier and suspension are not the organization's own to change (`administration`).
//!
//! A key is bound to one environment, so it cannot found an organization: a session is needed.
//! `enforce_sso` closes password login. `mfa_required` asks every session that a password or a mailed
//! link opened for a second factor (`authentication::second_factor`).

mod administration;
pub(crate) mod changes;
mod governed;
pub(crate) mod http;
mod seed;
pub(crate) mod store;
#[cfg(test)]
mod tests;

pub use administration::{AdministrativeChange, ChangedOrganization, OrganizationStatus, change};
pub use governed::{as_stored, governed};
pub use http::{OrganizationDraft, found, own, record_founding, rename, routes};
pub use seed::{OrganizationSeed, Seeded, seed};
