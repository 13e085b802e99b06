//! The base of the tests on a cluster: a namespace for each, the commands that people type, waiting
//! for what shall become true, and the audit log.
//!
//! The cluster is the one that `SLUICE_TEST_KUBECONFIG` names: `./dev test kubernetes` starts one,
//! and any other does as well.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "only tests use this crate: what goes wrong in it fails the test"
)]

pub mod audit;
pub mod bench;
pub mod commands;
pub mod definitions;
pub mod figures;
pub mod killing;
pub mod process;
pub mod wait;
pub mod world;

pub use figures::figure;
pub use wait::{absent, ready, until};
pub use world::World;
