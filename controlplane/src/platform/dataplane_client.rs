//! Connections to data planes, and the circuit breaker before each.

pub(crate) mod breaker;
pub(crate) mod connect;
pub(crate) mod connections;
