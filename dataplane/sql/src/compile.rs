//! The walk from a bound statement to the engine's text.

pub(crate) mod analyzer;
pub(crate) mod external_members;
pub(crate) mod external_rows;
pub mod heal;
pub mod meaning;
pub mod pivot;
pub mod postgres;
pub(crate) mod steps;
pub(crate) mod transpile;
mod visible;
