//! What is measured of requests to models.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

/// From a request that is refused at once to the longest that is waited for.
const SECONDS: [f64; 9] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ModelRequestLabels {
    purpose: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct PurposeLabel {
    purpose: &'static str,
}

/// The rows `MODEL_REQUESTS` and `MODEL_SECONDS`.
#[derive(Debug, Clone)]
pub struct Measured {
    pub requests: Family<ModelRequestLabels, Counter>,
    pub seconds: Family<PurposeLabel, Histogram, fn() -> Histogram>,
}

impl Default for Measured {
    fn default() -> Self {
        Self { requests: Family::default(), seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)) }
    }
}

impl Measured {
    /// Counts a request; one that was not sent took no time.
    pub fn ended(&self, purpose: &'static str, outcome: &'static str, took: Option<Duration>) {
        self.requests.get_or_create(&ModelRequestLabels { purpose, outcome }).inc();
        if let Some(took) = took {
            self.seconds.get_or_create(&PurposeLabel { purpose }).observe(took.as_secs_f64());
        }
    }
}
