//! Connections to data planes, the circuit breaker before each, and the data planes that follow snapshots.

pub(crate) mod attached;
pub(crate) mod breaker;
pub(crate) mod connect;
pub(crate) mod connections;
