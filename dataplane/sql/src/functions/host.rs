//! Functions that the engine's process has of its host.

/// The function that stands for a LIKE which would take the engine long.
pub const LIKE: &str = "sluice_like";
