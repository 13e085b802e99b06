//! Tests against a real engine process; no control plane: the rules are pushed in directly.

#![cfg(test)]

mod agents;
mod branches;
mod capability;
mod catalogue;
mod constructs;
mod copy;
mod ending;
mod explain;
mod flight;
mod interference;
mod meaning;
mod memory;
mod parked;
mod pgwire;
mod pipeline;
mod rest;
mod thoughts;
mod triggers;
mod world;
