//! Walks of ARCHITECTURE.md and docs/walks.md, end to end.

mod dashboard;
mod elevation;
mod kill;
pub mod query;
mod revoke;
mod shadow;
mod signed_in;
mod standing;
