//! Tests that need a node.

mod deletion;
mod installation;
mod keys;
mod leader;
mod owners;
mod platform;
mod plugin;
mod pods;
mod rollout;
mod switch;
mod wire_client;
