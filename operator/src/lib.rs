//! The operator: `kubectl apply` of an Environment becomes a running, governed data plane.
#![forbid(unsafe_code)]

pub mod check;
pub mod environment;
pub mod rbac;
