//! Sluice on a real cluster. What needs pods to run is below `node`, so that an API server alone
//! runs all the rest.
#![cfg(test)]

mod node;
mod server;
mod two_writers;
