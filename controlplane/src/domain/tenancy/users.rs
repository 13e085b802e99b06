//! Users: who belongs to an organization, and as what.
//!
//! The rules, as the specification numbers them:
//! 1. Only an owner may invite a user with role `admin` or promote a user to `admin`.
//! 2. The `owner` role cannot be assigned by invitation or role change; ownership is transferred
//!    explicitly.
//! 3. An admin cannot elevate themselves to owner.
//! 4. Demoting oneself requires at least one other admin to remain.
//! 5. The organization owner cannot be removed.
//! 6. Role changes are recorded in the IAM audit trail.
//! 7. A duplicate email within the organization returns 409.
//!
//! Each change holds the organization's row, so that two of them cannot break a rule together.
//! An invitation is a token: mailed to the address where mail leaves, and answered to its inviter,
//! who may hand it on.

mod attributes;
mod governed;
mod http;
mod invitations;
mod membership;
pub(crate) mod ownership;
pub(crate) mod store;
#[cfg(test)]
mod tests;

pub use governed::{as_stored, attribute_names, governed, known, member};
pub use http::routes;
pub(crate) use invitations::{accept, addressee, invite_owner, within_tier};
