//! What the product promises on Kubernetes, proven on a real API server and, where one is there, on a
//! real node.

#![cfg(test)]

mod crds;
mod place;
mod plugin;
