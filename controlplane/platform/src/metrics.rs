//! Metrics of a control plane, for Prometheus: the rows of [`contract::metrics::controlplane`].
//!
//! What happens is counted when it ends; what waits in the database is counted when it is asked for.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use contract::metrics::controlplane as row;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use sqlx::PgPool;
use telemetry::{Histograms, Measured};

/// From a millisecond to the longest query that passes through.
const SECONDS: [f64; 13] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 300.0];

telemetry::labels! {
    RequestLabels { method: &'static str, route: &'static str, status: u16 }
    RouteLabel { method: &'static str, route: &'static str }
    StateLabel { state: &'static str }
}

type Seconds = Gauge<f64, AtomicU64>;

/// Everything that is measured.
pub struct Metrics {
    /// Read under a lock, so that two scrapes do not mix what stands.
    registry: Mutex<Measured>,
    requests: Family<RequestLabels, Counter>,
    seconds: Histograms<RouteLabel>,
    connections: Family<StateLabel, Gauge>,
    database_up: Gauge,
    jobs: Family<StateLabel, Gauge>,
    oldest_job: Seconds,
    deliveries: Gauge,
    oldest_delivery: Seconds,
    leases: Gauge,
    rules: Family<StateLabel, Gauge>,
    set_aside: Counter,
}

/// Counts of rows that wait in the database.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waiting {
    pub jobs_due: i64,
    pub jobs_failed: i64,
    pub oldest_job_secs: f64,
    pub deliveries: i64,
    pub oldest_delivery_secs: f64,
    pub leases: i64,
    pub rules_nothing: i64,
    pub rules_unknown: i64,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut measured = Measured::default();
        Self {
            requests: measured.add(row::REQUESTS),
            seconds: measured.histograms(row::REQUEST_SECONDS, || Histogram::new(SECONDS)),
            connections: measured.add(row::DATABASE_CONNECTIONS),
            database_up: measured.add(row::DATABASE_UP),
            jobs: measured.add(row::JOBS),
            oldest_job: measured.add(row::JOBS_OLDEST_SECONDS),
            deliveries: measured.add(row::DELIVERIES_DUE),
            oldest_delivery: measured.add(row::DELIVERIES_OLDEST_SECONDS),
            leases: measured.add(row::LEASES_OVERDUE),
            rules: measured.add(row::RULES_UNBOUND),
            set_aside: measured.add(row::REPORTS_SET_ASIDE),
            registry: Mutex::new(measured),
        }
    }
}

impl Metrics {
    /// Counts a request when the head of its answer is made.
    pub fn answered(&self, method: &Method, route: &'static str, status: StatusCode, took: Duration) {
        let method = name(method);
        self.requests.get_or_create(&RequestLabels { method, route, status: status.as_u16() }).inc();
        self.seconds.get_or_create(&RouteLabel { method, route }).observe(took.as_secs_f64());
    }

    /// An entry of an audit log is stored without what was in it.
    pub fn set_aside(&self) {
        self.set_aside.inc();
    }

    fn stand(&self, pool: &PgPool, waiting: Option<Waiting>) {
        let idle = i64::try_from(pool.num_idle()).unwrap_or(i64::MAX);
        self.connections.get_or_create(&StateLabel { state: "idle" }).set(idle);
        self.connections.get_or_create(&StateLabel { state: "used" }).set((i64::from(pool.size()) - idle).max(0));
        self.database_up.set(waiting.is_some().into());
        // What cannot be told now stays as it was; the line above says so.
        let Some(waiting) = waiting else { return };
        self.jobs.get_or_create(&StateLabel { state: "due" }).set(waiting.jobs_due);
        self.jobs.get_or_create(&StateLabel { state: "failed" }).set(waiting.jobs_failed);
        self.oldest_job.set(waiting.oldest_job_secs);
        self.deliveries.set(waiting.deliveries);
        self.oldest_delivery.set(waiting.oldest_delivery_secs);
        self.leases.set(waiting.leases);
        self.rules.get_or_create(&StateLabel { state: "rules_nothing" }).set(waiting.rules_nothing);
        self.rules.get_or_create(&StateLabel { state: "not_yet_bound" }).set(waiting.rules_unknown);
    }

    /// Everything as text, with what stands now; nothing of what waits where the database did not tell in time.
    pub fn text(&self, pool: &PgPool, waiting: Option<Waiting>) -> Result<String, std::fmt::Error> {
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        self.stand(pool, waiting);
        registry.text()
    }
}

/// Of the methods that routes have; a label is one of a closed list.
pub fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
