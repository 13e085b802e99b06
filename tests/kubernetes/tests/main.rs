//! What the product promises on Kubernetes. What needs pods to run is below `node`, so that an API
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
