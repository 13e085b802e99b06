//! The engine's functions, settings and types, and what is known of each.

pub mod catalogue;
mod columns;
pub mod host;
pub(crate) mod index;
pub mod settings;
pub mod types;
pub(crate) mod widths;
