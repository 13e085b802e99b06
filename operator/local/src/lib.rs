//! The platform on one machine: the operator's job without Kubernetes.
#![forbid(unsafe_code)]

pub mod postgres;
