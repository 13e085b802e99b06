//! Metrics of a data plane, for Prometheus: the rows of [`contract::metrics::dataplane`].
//!
//! What happens is counted when it ends; what stands is looked at when it is asked for.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use contract::metrics::dataplane as row;
use contract::report::{CREDIT, MicroCredits};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use telemetry::{Histograms, Measured};

use crate::model::ModelMetrics;
use crate::request::trail::{PlanUse, Stage, Trail};

/// From a tenth of a millisecond to the longest statement.
const SECONDS: [f64; 16] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0, 120.0, 300.0];
/// Of an ended query without an error.
const NO_ERROR: &str = "ok";

telemetry::labels! {
    QueryLabels { door: &'static str, code: &'static str }
    ProtocolLabel { door: &'static str }
    StageLabel { stage: &'static str }
    OutcomeLabel { outcome: &'static str }
    StateLabel { state: &'static str }
}

/// A query that has ended.
#[derive(Debug, Clone, Copy)]
pub struct EndedQuery<'a> {
    /// Of its request: a protocol, `dashboard` or `shadow`.
    pub origin: &'static str,
    /// Stable code of its error.
    pub code: Option<&'static str>,
    pub rows: u64,
    pub charged: MicroCredits,
    /// Zero: the engine never had it.
    pub execution: Duration,
    pub trail: &'a Trail,
}

/// Gauges of the state at this moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct StateGauges {
    pub slots: (usize, usize),
    pub waiting: usize,
    pub engine_up: bool,
    pub ready: bool,
    pub connected: bool,
    pub reports_waiting: u64,
}

/// Everything that is measured.
#[derive(Debug)]
pub struct Metrics {
    /// Read under a lock, so that two scrapes do not mix what stands.
    registry: Mutex<Measured>,
    queries: Family<QueryLabels, Counter>,
    executions: Histograms<ProtocolLabel>,
    stages: Histograms<StageLabel>,
    /// Those of stages that were walked, by their place: each statement walks all.
    walked: [OnceLock<Histogram>; Stage::ALL.len()],
    rows: Counter,
    credits: Counter<f64, AtomicU64>,
    plans: Family<OutcomeLabel, Counter>,
    engine_plans: Family<OutcomeLabel, Counter>,
    slots: Family<StateLabel, Gauge>,
    waiting: Gauge,
    engine_up: Gauge,
    ready: Gauge,
    connected: Gauge,
    reports_waiting: Gauge,
    /// For whoever asks a model.
    pub model: ModelMetrics,
}

fn seconds() -> Histogram {
    Histogram::new(SECONDS)
}

#[expect(clippy::cast_precision_loss, reason = "exact up to nine thousand million credits")]
fn credits(charged: MicroCredits) -> f64 {
    charged as f64 / CREDIT as f64
}

impl Default for Metrics {
    fn default() -> Self {
        let mut measured = Measured::default();
        Self {
            queries: measured.add(row::QUERIES),
            stages: measured.histograms(row::STAGE_SECONDS, seconds),
            walked: [const { OnceLock::new() }; Stage::ALL.len()],
            executions: measured.histograms(row::EXECUTION_SECONDS, seconds),
            rows: measured.add(row::ROWS),
            credits: measured.add(row::CREDITS),
            plans: measured.add(row::PLANS),
            engine_plans: measured.add(row::ENGINE_PLANS),
            slots: measured.add(row::SLOTS),
            waiting: measured.add(row::WAITING),
            engine_up: measured.add(row::ENGINE_UP),
            ready: measured.add(row::READY),
            connected: measured.add(row::CONTROL_PLANE_CONNECTED),
            reports_waiting: measured.add(row::REPORTS_WAITING),
            model: ModelMetrics::of(&mut measured),
            registry: Mutex::new(measured),
        }
    }
}

impl Metrics {
    /// Counts a query, once, when it ends.
    pub fn ended(&self, query: EndedQuery<'_>) {
        let EndedQuery { origin, code, rows, charged, execution, trail } = query;
        self.queries.get_or_create(&QueryLabels { door: origin, code: code.unwrap_or(NO_ERROR) }).inc();
        self.rows.inc_by(rows);
        self.credits.inc_by(credits(charged));
        if execution > Duration::ZERO {
            self.executions.get_or_create(&ProtocolLabel { door: origin }).observe(execution.as_secs_f64());
        }
        let (plan, of_engine) = {
            let facts = trail.facts();
            (facts.plan, facts.engine_plan)
        };
        if let Some(plan) = plan {
            self.plans.get_or_create(&OutcomeLabel { outcome: PlanUse::as_str(plan) }).inc();
        }
        if let Some(plan) = of_engine {
            self.engine_plans.get_or_create(&OutcomeLabel { outcome: plan.as_str() }).inc();
        }
        for (stage, _, took) in trail.times() {
            self.observe(stage, took);
        }
    }

    /// Adds the time of a stage to its histogram, which is there once it was walked.
    fn observe(&self, stage: Stage, took: Duration) {
        let made = || self.stages.get_or_create_owned(&StageLabel { stage: stage.as_str() });
        match self.walked.get(stage as usize) {
            Some(known) => known.get_or_init(made).observe(took.as_secs_f64()),
            None => made().observe(took.as_secs_f64()),
        }
    }

    /// Everything as text, with what stands now.
    pub fn text(&self, now: StateGauges) -> Result<String, std::fmt::Error> {
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let (used, free) = now.slots;
        self.slots.get_or_create(&StateLabel { state: "used" }).set(count(used));
        self.slots.get_or_create(&StateLabel { state: "free" }).set(count(free));
        self.waiting.set(count(now.waiting));
        self.engine_up.set(now.engine_up.into());
        self.ready.set(now.ready.into());
        self.connected.set(now.connected.into());
        self.reports_waiting.set(i64::try_from(now.reports_waiting).unwrap_or(i64::MAX));
        registry.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> String {
        let metrics = Metrics::default();
        let trail = Trail::default();
        trail.now(Stage::PolicyCheck, || ());
        trail.facts().plan = Some(PlanUse::Kept);
        trail.facts().engine_plan = Some(engine::PlanSource::NotKept);
        let query = EndedQuery {
            origin: "pgwire",
            code: None,
            rows: 3,
            charged: CREDIT,
            execution: Duration::from_millis(2),
            trail: &trail,
        };
        metrics.ended(query);
        metrics.ended(EndedQuery { code: Some("SVC_ERR_403_POLICY_DENIED"), execution: Duration::ZERO, ..query });
        metrics.model.ended("healing", "ok", Some(Duration::from_millis(3)));
        metrics.model.ended("embedding", "paused", None);
        let standing = StateGauges { slots: (1, 99), ready: true, ..StateGauges::default() };
        metrics.text(standing).unwrap()
    }

    #[test]
    fn what_ended_and_what_stands_is_in_the_text() {
        let text = measured();
        for line in [
            r#"sluice_dataplane_queries_total{door="pgwire",code="ok"} 1"#,
            r#"sluice_dataplane_queries_total{door="pgwire",code="SVC_ERR_403_POLICY_DENIED"} 1"#,
            r#"sluice_dataplane_stage_seconds_count{stage="policy_check"} 2"#,
            r#"sluice_dataplane_execution_seconds_count{door="pgwire"} 1"#,
            "sluice_dataplane_rows_total 6",
            "sluice_dataplane_credits_total 2.0",
            r#"sluice_dataplane_plans_total{outcome="kept"} 2"#,
            r#"sluice_dataplane_engine_plans_total{outcome="not_kept"} 2"#,
            r#"sluice_dataplane_slots{state="free"} 99"#,
            "sluice_dataplane_ready 1",
            "sluice_dataplane_engine_up 0",
            r#"sluice_dataplane_model_requests_total{purpose="embedding",outcome="paused"} 1"#,
            r#"sluice_dataplane_model_seconds_count{purpose="healing"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn every_row_of_the_table_is_measured_and_nothing_else() {
        let text = measured();
        let types: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        let wanted: Vec<_> = row::ALL.iter().map(|row| format!("{} {}", row.name, row.kind.as_str())).collect();
        assert_eq!(types, wanted);
        for (row, label) in row::ALL.iter().flat_map(|row| row.labels.iter().map(move |label| (row, label))) {
            let labelled = |line: &str| line.starts_with(row.name) && line.contains(&format!("{label}=\""));
            assert!(text.lines().any(labelled), "{} has no {label}", row.name);
        }
    }
}
