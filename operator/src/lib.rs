//! The operator: `kubectl apply` of an Environment becomes a running, governed data plane.
//!
//! Watches fill [`stores`]; what changes there wakes an object in the [`queue`]; a worker reconciles
//! it: gather from the stores, plan (pure), apply, publish. Nothing in a settled cluster costs a
//! request. One operator of a release acts, the others stand by with the same stores ([`lease`]);
//! every request passes [`limits`], which also hold the fence.
#![forbid(unsafe_code)]

pub mod api_key;
pub mod authority;
mod backoff;
pub mod check;
mod conditions;
pub mod config;
mod context;
mod control_plane;
pub mod environment;
mod error;
mod events;
mod json;
pub mod lease;
pub mod limits;
pub mod metrics;
pub mod model;
mod organization;
mod probes;
pub mod queue;
pub mod rbac;
mod release;
pub mod runtime;
pub mod stores;
mod time;
mod write;

pub use error::{Class, Error};
