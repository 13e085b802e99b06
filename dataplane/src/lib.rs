//! The query proxy of one environment: its protocols, the fifteen stages, its engine.
//!
//! A protocol turns a credential and a request into an [`Ask`]; [`pipeline::Pipeline`] turns it into an
//! [`Answer`]; the protocol encodes it. Nothing else runs SQL. What the caller may do is decided by the
//! governance snapshot that the control plane streams here, and holds while it is away.
//!
//! Not here: who may log in, what policies say, where usage is stored (control plane); what a
//! statement means (`sql`); how it runs (`engine`).
#![forbid(unsafe_code)]

pub mod agents;
pub mod encode;
pub mod error;
pub mod governance;
mod limits;
pub mod metrics;
pub mod model;
pub mod pipeline;
pub mod protocols;
pub mod request;
pub mod server;
pub mod shutdown;
pub mod storage;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use encode::column::Column;
pub use error::Error;
pub use governance::sessions::{AuthenticatedCaller, Sessions};
pub use pipeline::{Ask, Pipeline};
pub use request::answer::{Answer, Command, Description, Rows, Totals};
pub use request::as_of::AsOf;
pub use request::ask::{AgentName, Bounds, DeclaredAgent, Names};
pub use server::plane::{DataPlane, Running, StartError};
pub use shutdown::Ending;
