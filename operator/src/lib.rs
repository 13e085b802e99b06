//! The operator: `kubectl apply` of an Environment becomes a running, governed data plane.
#![forbid(unsafe_code)]

pub mod environment;
