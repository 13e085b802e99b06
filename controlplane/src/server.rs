//! The process: its router, its routes, its jobs, and what it serves beside HTTP.

pub(crate) mod callbacks;
pub mod dashboard;
pub mod endpoints;
pub mod grpc;
pub(crate) mod guard;
mod health;
pub(crate) mod intake;
pub mod jobs;
pub mod kubernetes;
pub mod metrics;
pub mod process;
pub mod reference;
pub mod router;
pub mod snapshots;
