//! What needs a node.

mod platform;
mod pods;
