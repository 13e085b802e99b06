//! What agents do beside SQL: memory, reasoning, triggers, branches, and the tools that reach them.

pub mod branches;
mod last_shown;
mod listing_cursor;
pub mod memory;
mod ownership;
pub mod reasoning;
pub mod tool_caller;
pub mod tools;
pub mod triggers;
