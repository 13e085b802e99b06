//! How the operator speaks to the cluster: election, limits, writes, events, and the queue of what waits.

pub(crate) mod backoff;
pub(crate) mod events;
pub mod lease;
pub mod limits;
pub mod queue;
pub(crate) mod write;
