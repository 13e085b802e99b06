//! Walks of ARCHITECTURE.md and docs/walks.md, end to end.

mod dashboard;
mod elevation;
mod kill;
mod org_command;
pub mod query;
mod revoke;
mod shadow;
mod signed_in;
