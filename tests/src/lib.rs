//! The harness of the product's promises: a whole platform in this process on real parts, clients
//! for every door, and worlds to put them in.
#![forbid(unsafe_code)]

pub mod golden;
pub mod postgres;
pub mod world;

pub use world::{Analyst, Reply, World};
