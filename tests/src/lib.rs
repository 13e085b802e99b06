//! The harness of the product's promises: a whole platform in this process on real parts, clients
//! for every protocol, and worlds to put them in.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "only tests use this crate: what goes wrong in it fails the test"
)]

pub mod collector;
pub mod golden;
pub mod pods;
pub mod postgres;
pub mod runtime;
pub mod tls;
pub mod worker;
pub mod world;

pub use collector::{Received, Told};
pub use world::{Analyst, Reply, World};
