//! A real Kubernetes on one machine, with no image registry and no docker: for tests, and to play.
//!
//! `cluster run -- <command…>` starts one in namespaces of its own and gives the command its
//! `KUBECONFIG`; when the command ends, or anything is killed, nothing of it survives. Its programs
//! are one binary (`main.go`) under several names, containerd and runc are the machine's. With
//! `--api-only` there is an API server with its controllers and no node: that needs no root.
#![forbid(unsafe_code)]

pub mod cli;
pub mod image;

mod authority;
mod closure;
mod cluster;
mod control;
mod database;
mod dns;
mod error;
mod layout;
mod namespaces;
mod network;
mod node;
mod pieces;
mod program;
mod reaper;
mod volumes;

pub use cluster::{Cluster, Options};
pub use error::Error;
pub use pieces::{Level, Missing, Pieces};
