//! The base of every resource: context, HTTP, jobs, events, mail, identity, clients of other servers.
#![forbid(unsafe_code)]

pub mod archive;
pub mod clouds;
pub(crate) mod config;
pub mod context;
pub mod crypto;
pub mod dashboard;
pub mod database;
pub mod dataplane_client;
pub mod egress;
pub(crate) mod error;
pub mod events;
pub mod http;
pub mod identity;
pub mod jobs;
pub mod mails;
pub mod metrics;
pub mod oidc;
pub mod provisioner;
pub mod redaction;
pub mod resources;
mod slug;
pub mod snapshot_size;

pub use config::{Config, StorageSettings};
pub use context::{App, Parts};
pub use error::{Error, OnConstraint, Result, chain};
