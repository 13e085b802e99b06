//! Telemetry of a process: spans of requests, for a collector; the lines of its
//! log, whose level can be changed while it runs; what it measures, for a scraper.
//!
//! "OTLP with W3C context in and out; one span per pipeline stage; `db.query.text` redacted." Nothing
//! here can harm a request: what a collector does not take in time is dropped, and a context that
//! cannot be read is none. A span tells names and codes, never values.
#![forbid(unsafe_code)]

mod comment;
pub mod log;
mod place;
mod registry;
pub mod scrape;
mod settings;
mod span;
mod tracer;

pub use log::Log;
pub use place::{Place, here};
pub use registry::{Histograms, Measured};
pub use settings::{Collector, Destination};
pub use span::{Kind, Span};
pub use tracer::{Tracer, Unreachable};

/// The telemetry of a process; by default it is silent.
#[derive(Debug, Clone, Default)]
pub struct Telemetry {
    pub tracer: Tracer,
    /// None: the log is somebody else's.
    pub log: Option<Log>,
}
