//! The protocols: each turns a credential and a request into an [`crate::Ask`] and its answer into what
//! its clients read. None of them decides anything.

pub mod agents;
mod credential;
mod held;
pub mod http;
mod keyed;
pub mod pgwire;
pub mod probes;
mod request_id;
pub mod rest;
pub mod tls;
