//! The metrics of a program: each metric registered as its row of [`contract::metrics`] describes it.

use std::fmt;

use contract::metrics::Metric as Row;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

/// Histograms by their labels, with the buckets of one function.
pub type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// The metrics of a program, in the order in which they are told.
#[derive(Debug, Default)]
pub struct Measured(Registry);

impl Measured {
    /// A metric that shows nothing yet.
    pub fn add<M: Metric + Clone + Default>(&mut self, row: Row) -> M {
        self.keep(row, M::default())
    }

    /// Histograms with these buckets.
    pub fn histograms<L>(&mut self, row: Row, buckets: fn() -> Histogram) -> Histograms<L>
    where
        L: EncodeLabelSet + Clone + Eq + std::hash::Hash + fmt::Debug + Send + Sync + 'static,
    {
        self.keep(row, Family::new_with_constructor(buckets))
    }

    /// A metric that is there.
    pub fn keep<M: Metric + Clone>(&mut self, row: Row, metric: M) -> M {
        self.0.register(row.name, row.help, metric.clone());
        metric
    }

    /// Everything in the format of OpenMetrics.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.0)?;
        Ok(out)
    }
}

/// Sets of labels, each with its members.
#[macro_export]
macro_rules! labels {
    ($($name:ident { $($(#[$about:meta])* $label:ident: $type:ty),+ $(,)? })+) => {$(
        #[derive(Debug, Clone, PartialEq, Eq, Hash, ::prometheus_client::encoding::EncodeLabelSet)]
        struct $name {
            $($(#[$about])* $label: $type),+
        }
    )+};
}
