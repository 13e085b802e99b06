//! The process: its configuration, its listeners, what it starts, and how it stops.

pub mod certificates;
pub mod config;
pub mod folder_lock;
pub mod plane;
pub mod process;
