//! Connections to data planes, the circuit breaker before each, and the data planes that follow snapshots.

pub mod attached;
pub(crate) mod breaker;
pub mod connect;
pub mod connections;
