//! Tests against a real engine process; no control plane: the rules are pushed in directly.

mod pipeline;
mod rest;
mod world;
