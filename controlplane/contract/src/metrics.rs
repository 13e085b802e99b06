//! Every metric of the platform. What a program measures, what the dashboards and alerts ask for and
//! what the page of metrics lists are these rows.
//!
//! No label is ever a tenant, an address or a statement: the number of series does not grow with
//! what is served.

crate::named! {
    /// How a metric behaves, by Prometheus' names.
    pub enum Kind {
        /// Only grows; its series end in `_total`.
        Counter = "counter",
        Gauge = "gauge",
        /// Its series end in `_bucket`, `_count` and `_sum`.
        Histogram = "histogram",
    }
}

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Without the endings that its kind adds.
    pub name: &'static str,
    pub kind: Kind,
    pub labels: &'static [&'static str],
    /// A sentence without its full stop.
    pub help: &'static str,
}

impl Metric {
    /// The names of its series, as they are asked for.
    pub fn series(&self) -> Vec<String> {
        let endings: &[&str] = match self.kind {
            Kind::Counter => &["_total"],
            Kind::Gauge => &[""],
            Kind::Histogram => &["_bucket", "_count", "_sum"],
        };
        endings.iter().map(|ending| format!("{}{ending}", self.name)).collect()
    }
}

macro_rules! metrics {
    ($($id:ident $kind:ident $name:literal [$($label:literal),*] $help:literal;)+) => {
        $(pub const $id: Metric = Metric { name: $name, kind: Kind::$kind, labels: &[$($label),*], help: $help };)+
        /// All of this program.
        pub const ALL: &[Metric] = &[$($id),+];
    };
}

/// What an operator measures.
pub mod operator {
    use super::{Kind, Metric};

    metrics! {
        API_REQUESTS Counter "sluice_operator_api_requests" ["verb", "group", "resource", "code"]
            "Requests to the API server; code none: not answered";
        RECONCILES Counter "sluice_operator_reconciles" ["kind", "outcome"] "Objects looked at, by what came of it";
        STEP_SECONDS Histogram "sluice_operator_step_seconds" ["kind", "step"]
            "How long each step of a reconcile took";
        QUEUE_DEPTH Gauge "sluice_operator_queue_depth" ["kind"] "Objects that wait to be looked at";
        QUEUE_OLDEST_SECONDS Gauge "sluice_operator_queue_oldest_seconds" ["kind"]
            "How long the oldest of them has waited";
        WATCH_RESTARTS Counter "sluice_operator_watch_restarts" ["kind"] "Watches that had to list again";
        EVENTS_DROPPED Counter "sluice_operator_events_dropped" []
            "Events not written because too many waited";
        UNREADABLE_OBJECTS Gauge "sluice_operator_unreadable_objects" ["kind"]
            "Objects that do not fit their type";
        LEADER Gauge "sluice_operator_leader" [] "1: this operator acts; 0: it stands by";
        ENVIRONMENT_PHASE Gauge "sluice_operator_environment_phase" ["phase"] "Environments by phase";
        GENERATION_LAG_SECONDS Gauge "sluice_operator_environment_generation_lag_seconds" []
            "How long the oldest change of an Environment has not been acted upon";
    }
}

/// What a control plane measures.
pub mod controlplane {
    use super::{Kind, Metric};

    metrics! {
        REQUESTS Counter "sluice_controlplane_requests" ["method", "route", "status"]
            "Requests answered, by the template of their path";
        REQUEST_SECONDS Histogram "sluice_controlplane_request_seconds" ["method", "route"]
            "From a request's head to the head of its answer";
        DATABASE_CONNECTIONS Gauge "sluice_controlplane_database_connections" ["state"]
            "Connections to PostgreSQL, used and idle";
        DATABASE_UP Gauge "sluice_controlplane_database_up" [] "1: PostgreSQL answered this scrape";
        JOBS Gauge "sluice_controlplane_jobs" ["state"] "Jobs that are due, and jobs that have failed for good";
        JOBS_OLDEST_SECONDS Gauge "sluice_controlplane_jobs_oldest_seconds" []
            "How long the oldest job has been due";
        DELIVERIES_DUE Gauge "sluice_controlplane_webhook_deliveries_due" [] "Webhook deliveries that are due";
        DELIVERIES_OLDEST_SECONDS Gauge "sluice_controlplane_webhook_deliveries_oldest_seconds" []
            "How long the oldest webhook delivery has been due";
        LEASES_OVERDUE Gauge "sluice_controlplane_leases_overdue" []
            "Attempts whose lease has run out and that no sweep has ended";
        RULES_UNBOUND Gauge "sluice_controlplane_policy_rules_unbound" ["state"]
            "Rules of enabled policies that rule nothing, and those of which no data plane could be asked yet";
        REPORTS_SET_ASIDE Counter "sluice_controlplane_reports_set_aside" []
            "Entries of audit logs that the database refused for what was in them: only the least of each is stored";
    }
}

/// What a data plane measures.
pub mod dataplane {
    use super::{Kind, Metric};

    metrics! {
        QUERIES Counter "sluice_dataplane_queries" ["door", "code"]
            "Queries that ended, by the stable code of their error; code ok: none";
        STAGE_SECONDS Histogram "sluice_dataplane_stage_seconds" ["stage"]
            "Time spent in each stage of the pipeline";
        EXECUTION_SECONDS Histogram "sluice_dataplane_execution_seconds" ["door"]
            "From the engine's start on a query to its last row";
        ROWS Counter "sluice_dataplane_rows" [] "Rows delivered or changed";
        CREDITS Counter "sluice_dataplane_credits" [] "Credits charged";
        PLANS Counter "sluice_dataplane_plans" ["outcome"]
            "Queries by what became of the plan of their text: kept from before, made and kept, or not kept";
        ENGINE_PLANS Counter "sluice_dataplane_engine_plans" ["outcome"]
            "Statements by where the engine's plan was from: kept from before, made and may be kept, or not kept";
        SLOTS Gauge "sluice_dataplane_slots" ["state"] "Places of the semaphore, used and free";
        WAITING Gauge "sluice_dataplane_waiting" [] "Queries that wait for a place";
        ENGINE_UP Gauge "sluice_dataplane_engine_up" [] "1: the engine runs; 0: it starts, or starts again";
        READY Gauge "sluice_dataplane_ready" [] "1: queries may be sent here";
        CONTROL_PLANE_CONNECTED Gauge "sluice_dataplane_control_plane_connected" []
            "1: rules arrive; 0: the last ones rule";
        REPORTS_WAITING Gauge "sluice_dataplane_reports_waiting" []
            "Entries of the audit log that the control plane does not have yet";
        MODEL_REQUESTS Counter "sluice_dataplane_model_requests" ["purpose", "outcome"]
            "Requests to the model endpoint, by what they were for and what came of them";
        MODEL_SECONDS Histogram "sluice_dataplane_model_seconds" ["purpose"]
            "How long those took that were sent";
    }
}

/// Every metric of every program.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    operator::ALL.iter().chain(controlplane::ALL).chain(dataplane::ALL)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_follow_the_rules_of_prometheus_and_are_taken_once() {
        let mut seen = BTreeSet::new();
        for metric in all() {
            assert!(seen.insert(metric.name), "{} is there twice", metric.name);
            assert!(metric.name.starts_with("sluice_"), "{}", metric.name);
            assert!(!metric.name.ends_with("_total"), "{}: the ending is its kind's", metric.name);
            assert_eq!(metric.kind == Kind::Histogram, metric.name.ends_with("_seconds") && metric.series().len() > 1);
            assert!(!metric.help.ends_with('.'), "{}: the full stop is added", metric.name);
        }
    }

    #[test]
    fn no_label_names_a_tenant_or_a_statement() {
        let bounded = [
            "verb", "group", "resource", "code", "kind", "outcome", "step", "phase", "method", "route", "status",
            "state", "door", "stage", "purpose",
        ];
        for metric in all() {
            for label in metric.labels {
                assert!(bounded.contains(label), "{} has the label {label}", metric.name);
            }
        }
    }
}
