//! The fifteen stages, a file each.

pub(super) mod audit;
pub(super) mod cost;
pub(super) mod dirty;
pub(super) mod embed;
pub(super) mod execute;
pub(super) mod heal;
pub(super) mod mask;
mod meter;
pub(super) mod policy;
pub(super) mod quota;
pub(super) mod row_filter;
pub(super) mod semaphore;
pub(super) mod snapshot;
pub(super) mod tables;
pub(super) mod transpile;
