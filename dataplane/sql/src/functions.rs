//! The engine's functions, settings and types, and what is known of each.

pub mod catalogue;
pub mod host;
pub(crate) mod semantic;
pub mod settings;
pub mod types;
pub(crate) mod warehouse;
pub(crate) mod widths;
