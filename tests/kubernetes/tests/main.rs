//! The promises of the product on Kubernetes. Tests that need pods are below `node`, so that an API
//! server alone runs all the rest.
#![cfg(test)]

mod charts;
mod crds;
mod node;
mod objects;
mod operator;
mod plugin;
mod server;
mod two_writers;
