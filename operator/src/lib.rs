//! The operator: `kubectl apply` of an Environment becomes a running, governed data plane.
//!
//! Watches fill [`stores`]; what changes there wakes an object in the [`queue`](cluster::queue); a worker reconciles
//! it: gather from the stores, plan (pure), apply, publish. Nothing in a settled cluster costs a
//! request. One operator of a release acts, the others stand by with the same stores ([`lease`](cluster::lease));
//! every request passes [`limits`](cluster::limits), which also hold the fence.
#![forbid(unsafe_code)]

pub mod authority;
pub mod check;
pub mod cluster;
mod conditions;
pub mod config;
mod context;
mod control_plane;
pub mod controllers;
mod error;
pub mod metrics;
pub mod model;
pub mod objects;
mod probes;
pub mod rbac;
pub mod runtime;
pub mod stores;
mod time;

pub use error::{AuthorityError, Class, Error, Refused};
