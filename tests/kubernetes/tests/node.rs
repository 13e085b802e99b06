//! What needs a node.

mod deletion;
mod door;
mod installation;
mod keys;
mod leader;
mod owners;
mod platform;
mod plugin;
mod pods;
mod rollout;
mod switch;
