//! What agents do beside SQL: memory, reasoning, triggers, branches, and the tools that reach them.

mod last_shown;
pub mod branches;
pub mod memory;
mod ownership;
pub mod reasoning;
pub mod tool_caller;
pub mod tools;
pub mod triggers;
