//! What needs a node.

mod pods;
