//! Functions for agents beside SQL: memory, reasoning, triggers, branches, and the tools that reach them.

pub mod branches;
mod last_shown;
mod listing_cursor;
pub mod memory;
mod ownership;
pub mod reasoning;
pub mod tool_caller;
pub mod tools;
pub mod triggers;

use contract::Timestamp;

/// A moment as tools show it.
fn moment(at: Timestamp) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Micros, true)
}
