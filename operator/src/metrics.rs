//! The metrics of the operator, for Prometheus. No label is ever an object's name: the number of
//! series does not grow with the number of environments.

use std::sync::Arc;
use std::time::Duration;

use contract::metrics::operator as row;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use telemetry::{Histograms, Measured};

/// From a millisecond to a minute.
const SECONDS: [f64; 14] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

telemetry::labels! {
    Request {
        verb: String,
        group: String,
        resource: String,
        /// Status code; `none`: no answer.
        code: String,
    }
    Reconcile { kind: &'static str, outcome: &'static str }
    StepLabel { kind: &'static str, step: &'static str }
    KindLabel { kind: String }
    PhaseLabel { phase: &'static str }
}

/// All metrics; clones share them.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Measured>,
    requests: Family<Request, Counter>,
    reconciles: Family<Reconcile, Counter>,
    steps: Histograms<StepLabel>,
    waiting: Family<KindLabel, Gauge>,
    oldest: Family<KindLabel, Gauge<f64, std::sync::atomic::AtomicU64>>,
    watches: Family<KindLabel, Counter>,
    events_dropped: Counter,
    unreadable: Family<KindLabel, Gauge>,
    leads: Gauge,
    phases: Family<PhaseLabel, Gauge>,
    lag: Gauge<f64, std::sync::atomic::AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut measured = Measured::default();
        Self {
            requests: measured.add(row::API_REQUESTS),
            reconciles: measured.add(row::RECONCILES),
            steps: measured.histograms(row::STEP_SECONDS, || Histogram::new(SECONDS)),
            waiting: measured.add(row::QUEUE_DEPTH),
            oldest: measured.add(row::QUEUE_OLDEST_SECONDS),
            watches: measured.add(row::WATCH_RESTARTS),
            events_dropped: measured.add(row::EVENTS_DROPPED),
            unreadable: measured.add(row::UNREADABLE_OBJECTS),
            leads: measured.add(row::LEADER),
            phases: measured.add(row::ENVIRONMENT_PHASE),
            lag: measured.add(row::GENERATION_LAG_SECONDS),
            registry: Arc::new(measured),
        }
    }
}

impl Metrics {
    /// Everything as text.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        self.registry.text()
    }

    /// A request to the API server, and the status of its answer, if there was one.
    pub fn requested(&self, verb: &str, group: &str, resource: &str, code: Option<http::StatusCode>) {
        let label = Request {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            code: code.map_or_else(|| "none".to_owned(), |code| code.as_str().to_owned()),
        };
        self.requests.get_or_create(&label).inc();
    }

    pub fn reconciled(&self, kind: &'static str, outcome: &'static str) {
        self.reconciles.get_or_create(&Reconcile { kind, outcome }).inc();
    }

    pub fn took(&self, kind: &'static str, step: &'static str, time: Duration) {
        self.steps.get_or_create(&StepLabel { kind, step }).observe(time.as_secs_f64());
    }

    pub fn queue(&self, kind: &str, waiting: usize, oldest: Duration) {
        let label = KindLabel { kind: kind.to_owned() };
        self.waiting.get_or_create(&label).set(i64::try_from(waiting).unwrap_or(i64::MAX));
        self.oldest.get_or_create(&label).set(oldest.as_secs_f64());
    }

    pub fn watch_restarted(&self, kind: &str) {
        self.watches.get_or_create(&KindLabel { kind: kind.to_owned() }).inc();
    }

    pub fn event_dropped(&self) {
        self.events_dropped.inc();
    }

    pub fn unreadable(&self, kind: &str, count: usize) {
        let label = KindLabel { kind: kind.to_owned() };
        self.unreadable.get_or_create(&label).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub fn leads(&self, leads: bool) {
        self.leads.set(i64::from(leads));
    }

    pub fn environments(&self, phases: &[(&'static str, usize)], lag: Duration) {
        for (phase, count) in phases {
            self.phases.get_or_create(&PhaseLabel { phase }).set(i64::try_from(*count).unwrap_or(i64::MAX));
        }
        self.lag.set(lag.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_is_in_the_text() {
        let metrics = Metrics::default();
        metrics.requested("patch", "", "secrets", Some(http::StatusCode::CREATED));
        metrics.took("Environment", "apply", Duration::from_millis(20));
        metrics.environments(&[("active", 3)], Duration::from_secs(2));
        let text = metrics.text().unwrap();
        for line in [
            r#"sluice_operator_api_requests_total{verb="patch",group="",resource="secrets",code="201"} 1"#,
            r#"sluice_operator_step_seconds_bucket{le="0.025",kind="Environment",step="apply"} 1"#,
            r#"sluice_operator_environment_phase{phase="active"} 3"#,
            "sluice_operator_environment_generation_lag_seconds 2.0",
            "sluice_operator_leader 0",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn every_row_of_the_table_is_measured_and_nothing_else() {
        let metrics = Metrics::default();
        metrics.requested("list", "", "pods", None);
        metrics.reconciled("Environment", "settled");
        metrics.took("Environment", "plan", Duration::from_millis(1));
        metrics.queue("Environment", 1, Duration::from_secs(1));
        metrics.watch_restarted("Pod");
        metrics.unreadable("ApiKey", 1);
        metrics.environments(&[("active", 1)], Duration::ZERO);
        let text = metrics.text().unwrap();
        let types: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        let wanted: Vec<_> = row::ALL.iter().map(|row| format!("{} {}", row.name, row.kind.as_str())).collect();
        assert_eq!(types, wanted);
        for (row, label) in row::ALL.iter().flat_map(|row| row.labels.iter().map(move |label| (row, label))) {
            let labelled = |line: &str| line.starts_with(row.name) && line.contains(&format!("{label}=\""));
            assert!(text.lines().any(labelled), "{} has no {label}", row.name);
        }
    }
}
