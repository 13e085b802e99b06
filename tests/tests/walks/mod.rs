//! The walks of ARCHITECTURE.md, end to end.

mod kill;
mod query;
mod revoke;
mod shadow;
mod standing;
