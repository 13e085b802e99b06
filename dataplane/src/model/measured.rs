//! Metrics of requests to models.

use std::time::Duration;

use contract::metrics::dataplane as row;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use telemetry::{Histograms, Measured};

/// From a request that is refused at once to the longest that is waited for.
const SECONDS: [f64; 9] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

telemetry::labels! {
    ModelRequestLabels { purpose: &'static str, outcome: &'static str }
    PurposeLabel { purpose: &'static str }
}

/// The rows `MODEL_REQUESTS` and `MODEL_SECONDS`.
#[derive(Debug, Clone)]
pub struct ModelMetrics {
    requests: Family<ModelRequestLabels, Counter>,
    seconds: Histograms<PurposeLabel>,
}

impl Default for ModelMetrics {
    fn default() -> Self {
        Self::of(&mut Measured::default())
    }
}

impl ModelMetrics {
    /// Those of a program.
    pub fn of(measured: &mut Measured) -> Self {
        Self {
            requests: measured.add(row::MODEL_REQUESTS),
            seconds: measured.histograms(row::MODEL_SECONDS, || Histogram::new(SECONDS)),
        }
    }

    /// Counts a request; one that was not sent took no time.
    pub fn ended(&self, purpose: &'static str, outcome: &'static str, took: Option<Duration>) {
        self.requests.get_or_create(&ModelRequestLabels { purpose, outcome }).inc();
        if let Some(took) = took {
            self.seconds.get_or_create(&PurposeLabel { purpose }).observe(took.as_secs_f64());
        }
    }
}
