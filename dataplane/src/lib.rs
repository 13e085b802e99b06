//! The query proxy of one environment: its doors, the fifteen stages, its engine.
//!
//! A door turns a credential and a request into an [`Ask`]; [`pipeline::Pipeline`] turns it into an
//! [`Answer`]; the door encodes it. Nothing else runs SQL. What the caller may do is decided by the
//! governance snapshot that the control plane streams here, and holds while it is away.
//!
//! Not here: who may log in, what policies say, where usage is stored (control plane); what a
//! statement means (`sql`); how it runs (`engine`).
#![forbid(unsafe_code)]

pub mod answer;
pub mod ask;
pub mod branches;
pub mod catalogue;
pub mod certificates;
pub mod config;
mod detached;
pub mod doors;
pub mod encode;
pub mod ending;
pub mod error;
pub mod governance;
pub mod guest;
mod last_shown;
mod limits;
mod making;
pub mod memory;
pub mod metrics;
pub mod model;
mod own_tables;
pub mod ownership;
pub mod pipeline;
pub mod plane;
pub mod process;
pub mod runtime_tables;
pub mod sessions;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod thoughts;
pub mod tools;
pub mod trail;
pub mod triggers;

pub use answer::{Answer, Column, Command, Description, Rows, Totals};
pub use ask::{AgentName, Ask, Bounds, Declared, Names};
pub use ending::Ending;
pub use error::Error;
pub use pipeline::{AsOf, Pipeline};
pub use plane::{DataPlane, Running, StartError};
pub use sessions::{Admitted, Sessions};
