//! Tests against a real engine process; no control plane: the rules are pushed in directly.

#![cfg(test)]

mod capability;
mod constructs;
mod ending;
mod interference;
mod parked;
mod pgwire;
mod pipeline;
mod rest;
mod world;
