//! The queue of background jobs, and its workers.

pub(crate) mod kind;
pub(crate) mod lane;
pub(crate) mod queue;
pub(crate) mod worker;
