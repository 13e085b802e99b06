//! The port of metrics: plain text for Prometheus, where no caller of the API comes.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use contract::wire::probe;
use platform::metrics::Waiting;
use platform::{App, Result};

use crate::domain::policies;

/// A database that takes longer is told of as one that is away.
const PATIENCE: Duration = Duration::from_secs(2);

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
    let (rules_nothing, rules_unknown) = policies::count_unbound(&mut *app.pool().acquire().await?).await?;
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
    let waiting = match tokio::time::timeout(PATIENCE, waiting(&app)).await {
        Ok(Ok(waiting)) => Some(waiting),
        Ok(Err(_)) | Err(_) => None,
    };
    telemetry::scrape::answered(&headers, app.metrics().text(app.pool(), waiting))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use chrono::Duration;
    use contract::metrics::controlplane as row;
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
