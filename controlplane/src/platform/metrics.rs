//! What a control plane measures, for Prometheus: the rows of [`contract::metrics::controlplane`],
//! served as plain text on a port of their own, where no caller of the API comes.
//!
//! What happens is counted when it ends; what waits in the database is counted when it is asked for.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use axum::routing::get;
use contract::metrics::controlplane as row;
use contract::wire::probe;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sqlx::PgPool;

use crate::domain::policies;
use crate::{App, Result};

/// From a millisecond to the longest query that passes through.
const SECONDS: [f64; 13] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 300.0];
/// A database that takes longer is told of as one that is away.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabel {
    method: &'static str,
    route: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

type Seconds = Gauge<f64, AtomicU64>;

/// Everything that is measured.
pub struct Metrics {
    /// Read under a lock, so that two scrapes do not mix what stands.
    registry: Mutex<Registry>,
    requests: Family<Answered, Counter>,
    seconds: Family<RouteLabel, Histogram, fn() -> Histogram>,
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

/// What waits in the database.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Waiting {
    jobs_due: i64,
    jobs_failed: i64,
    oldest_job_secs: f64,
    deliveries: i64,
    oldest_delivery_secs: f64,
    leases: i64,
    rules_nothing: i64,
    rules_unknown: i64,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut all = Self {
            registry: Mutex::default(),
            requests: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            connections: Family::default(),
            database_up: Gauge::default(),
            jobs: Family::default(),
            oldest_job: Seconds::default(),
            deliveries: Gauge::default(),
            oldest_delivery: Seconds::default(),
            leases: Gauge::default(),
            rules: Family::default(),
            set_aside: Counter::default(),
        };
        all.registry = Mutex::new(all.described());
        all
    }
}

impl Metrics {
    fn described(&self) -> Registry {
        let mut registry = Registry::default();
        registry.register(row::REQUESTS.name, row::REQUESTS.help, self.requests.clone());
        registry.register(row::REQUEST_SECONDS.name, row::REQUEST_SECONDS.help, self.seconds.clone());
        registry.register(row::DATABASE_CONNECTIONS.name, row::DATABASE_CONNECTIONS.help, self.connections.clone());
        registry.register(row::DATABASE_UP.name, row::DATABASE_UP.help, self.database_up.clone());
        registry.register(row::JOBS.name, row::JOBS.help, self.jobs.clone());
        registry.register(row::JOBS_OLDEST_SECONDS.name, row::JOBS_OLDEST_SECONDS.help, self.oldest_job.clone());
        registry.register(row::DELIVERIES_DUE.name, row::DELIVERIES_DUE.help, self.deliveries.clone());
        registry.register(
            row::DELIVERIES_OLDEST_SECONDS.name,
            row::DELIVERIES_OLDEST_SECONDS.help,
            self.oldest_delivery.clone(),
        );
        registry.register(row::LEASES_OVERDUE.name, row::LEASES_OVERDUE.help, self.leases.clone());
        registry.register(row::RULES_UNBOUND.name, row::RULES_UNBOUND.help, self.rules.clone());
        registry.register(row::REPORTS_SET_ASIDE.name, row::REPORTS_SET_ASIDE.help, self.set_aside.clone());
        registry
    }

    /// Counts a request when the head of its answer is made.
    pub fn answered(&self, method: &Method, route: &'static str, status: StatusCode, took: Duration) {
        let method = name(method);
        self.requests.get_or_create(&Answered { method, route, status: status.as_u16() }).inc();
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

    /// Everything as text, with what stands now.
    async fn text(&self, app: &App) -> Result<String, std::fmt::Error> {
        let waiting = match tokio::time::timeout(PATIENCE, waiting(app)).await {
            Ok(Ok(waiting)) => Some(waiting),
            Ok(Err(_)) | Err(_) => None,
        };
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        self.stand(app.pool(), waiting);
        let mut out = String::new();
        text::encode(&mut out, &registry)?;
        Ok(out)
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

async fn waiting(app: &App) -> Result<Waiting> {
    let row = sqlx::query!(
        r#"select
             (select count(*) from jobs where failed_at is null and run_at <= $1::timestamptz) as "jobs_due!",
             (select count(*) from jobs where failed_at is not null) as "jobs_failed!",
             (select coalesce(extract(epoch from $1::timestamptz - min(run_at)), 0)::float8
                from jobs where failed_at is null and run_at <= $1::timestamptz) as "oldest_job_secs!",
             (select count(*) from webhook_deliveries
               where status = 'pending' and next_attempt_at <= $1::timestamptz) as "deliveries!",
             (select coalesce(extract(epoch from $1::timestamptz - min(next_attempt_at)), 0)::float8
                from webhook_deliveries where status = 'pending' and next_attempt_at <= $1::timestamptz) as "oldest_delivery_secs!",
             (select count(*) from svc_runtime.task_attempts
               where status in ('pending', 'running') and lease_expires_at <= svc_runtime.clock()) as "leases!""#,
        app.now(),
    )
    .fetch_one(app.pool())
    .await?;
    let (rules_nothing, rules_unknown) = policies::standing(&mut *app.pool().acquire().await?).await?;
    Ok(Waiting {
        jobs_due: row.jobs_due,
        jobs_failed: row.jobs_failed,
        oldest_job_secs: row.oldest_job_secs,
        deliveries: row.deliveries,
        oldest_delivery_secs: row.oldest_delivery_secs,
        leases: row.leases,
        rules_nothing,
        rules_unknown,
    })
}

/// The one path of the port of metrics.
pub fn router(app: &App) -> Router {
    Router::new().route(probe::METRICS, get(scraped)).with_state(app.clone())
}

async fn scraped(State(app): State<App>, headers: HeaderMap) -> Response {
    telemetry::scrape::answered(&headers, app.metrics().text(&app).await)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use chrono::Duration;
    use http_body_util::BodyExt;
    use serde_json::json;
    use tower::ServiceExt;

    use super::*;
    use crate::domain::runtime::tests::Runtime;
    use crate::server::jobs;
    use crate::worlds::World;

    async fn scrape(world: &World) -> String {
        let request = Request::get("/metrics").header("accept", probe::METRICS_TYPE).body(Body::empty()).unwrap();
        let answer = router(&world.app.app).oneshot(request).await.unwrap();
        assert_eq!(answer.headers()["content-type"], probe::METRICS_TYPE);
        String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().into()).unwrap()
    }

    #[tokio::test]
    async fn requests_are_counted_by_their_route_and_never_by_what_they_name() {
        let world = World::start().await;
        world.app.get(&world.env("api-keys"), &world.owner).await.expect(200);
        world.app.get(&world.env("api-keys"), "").await.expect(401);
        let text = scrape(&world).await;
        for status in [200, 401] {
            let labels = format!(r#"method="GET",route="/v1/environments/{{env_id}}/api-keys",status="{status}""#);
            assert!(text.contains(&format!("sluice_controlplane_requests_total{{{labels}}} 1")), "{text}");
        }
        assert!(!text.contains(world.env_id.as_str()), "{text}");
    }

    #[tokio::test]
    async fn what_waits_in_the_database_is_told_with_its_age() {
        let world = World::start().await;
        jobs::schedule(&world.app.app).await.unwrap();
        world.app.advance(Duration::days(1));
        let text = scrape(&world).await;
        let due = jobs::KINDS.iter().filter(|kind| kind.period.is_some()).count();
        assert!(text.contains(&format!("sluice_controlplane_jobs{{state=\"due\"}} {due}")), "{text}");
        assert!(text.contains("sluice_controlplane_jobs_oldest_seconds 86400.0"), "{text}");
        assert!(text.contains("sluice_controlplane_database_up 1"), "{text}");
    }

    #[tokio::test]
    async fn leases_that_ran_out_are_counted_until_the_sweeper_writes_it_down() {
        let runtime = Runtime::start().await;
        runtime.attempt(&runtime.task(json!({})).await).await;
        runtime.running(&runtime.task(json!({})).await).await;
        let done = runtime.running(&runtime.task(json!({})).await).await;
        runtime.say(&done, "complete", json!({"outcome": "succeeded"})).await.expect(200);
        let overdue = async || {
            let text = scrape(&runtime).await;
            let mut lines = text.lines().filter_map(|line| line.strip_prefix(row::LEASES_OVERDUE.name));
            lines.find_map(|rest| rest.strip_prefix(' ').map(str::to_owned)).unwrap()
        };
        assert_eq!(overdue().await, "0");
        runtime.pass(180).await;
        assert_eq!(overdue().await, "2");
        runtime.sweep().await;
        assert_eq!(overdue().await, "0");
    }

    #[tokio::test]
    async fn rules_that_rule_nothing_are_told_apart_from_those_of_which_nobody_knows() {
        let world = World::start().await;
        let told = async |state: &str| {
            let text = scrape(&world).await;
            let head = format!("{}{{state=\"{state}\"}} ", row::RULES_UNBOUND.name);
            text.lines().find_map(|line| line.strip_prefix(&head).map(str::to_owned)).unwrap()
        };
        world.mask("ssn").await;
        assert_eq!((told("rules_nothing").await, told("not_yet_bound").await), ("0".to_owned(), "1".to_owned()));
        let nothing = json!([{"rule": 0, "field": "rules[0].column", "message": "m"}]);
        world.sql(&format!("update policy_bindings set unbound = '{nothing}'")).await;
        assert_eq!((told("rules_nothing").await, told("not_yet_bound").await), ("1".to_owned(), "0".to_owned()));
        world.sql("update policies set enabled = false").await;
        assert_eq!((told("rules_nothing").await, told("not_yet_bound").await), ("0".to_owned(), "0".to_owned()));
    }

    #[tokio::test]
    async fn every_row_of_the_table_is_measured_and_nothing_else() {
        let world = World::start().await;
        world.app.get("/health", "").await.expect(200);
        let text = scrape(&world).await;
        let types: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        let wanted: Vec<_> = row::ALL.iter().map(|row| format!("{} {}", row.name, row.kind.as_str())).collect();
        assert_eq!(types, wanted);
        for (row, label) in row::ALL.iter().flat_map(|row| row.labels.iter().map(move |label| (row, label))) {
            let labelled = |line: &str| line.starts_with(row.name) && line.contains(&format!("{label}=\""));
            assert!(text.lines().any(labelled), "{} has no {label}", row.name);
        }
    }
}
