//! What every resource is built on: context, HTTP, jobs, events, mail, identity, clients of other servers.

pub mod archive;
pub(crate) mod clouds;
pub(crate) mod config;
pub(crate) mod context;
pub mod crypto;
pub mod dashboard;
pub(crate) mod database;
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
pub(crate) mod redaction;
pub mod resources;
mod slug;
pub(crate) mod snapshot_size;
