//! A real Kubernetes on one machine.
#![forbid(unsafe_code)]
