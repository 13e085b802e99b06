//! Governance snapshots: loading them, and publishing them to data planes.

pub mod load;
pub mod publisher;
