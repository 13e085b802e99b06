//! The queue of background jobs, and its workers.

pub mod kind;
pub mod lane;
pub mod queue;
pub mod worker;
