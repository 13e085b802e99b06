//! The platform on one machine: the operator's job without Kubernetes.
//!
//! PostgreSQL, the control plane and one data plane per environment, composed of the same `run`s
//! that the cluster's binaries call. The engine of each environment is a child process of its own.
//!
//! For those who use a platform, [`client`] asks its API from a terminal. For those who have a cluster,
//! [`kubectl`] is the plugin `kubectl sluice`.
#![forbid(unsafe_code)]

mod cause;
pub mod cli;
pub mod client;
pub mod demo;
pub mod env_file;
pub mod environments;
pub mod kubectl;
pub mod migrate;
pub mod org;
pub mod platform;
pub mod postgres;
mod progress;
mod reference;
pub mod state;
mod table;

pub use platform::Platform;
