//! What the product promises on Kubernetes. What needs pods to run is below `node`, so that an API
//! server alone runs all the rest.
#![cfg(test)]

mod crds;
mod node;
mod place;
mod plugin;
mod server;
mod two_writers;
