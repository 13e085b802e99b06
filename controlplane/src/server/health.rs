//! "GET /health: `{status, version, uptime_seconds}`; GET /ready: `{ready, engine, control_plane}`;
//! 200 when ready, 503 during startup or shutdown."
//!
//! Health says that the process lives; it asks nobody. Readiness asks the database.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use contract::Access;
use platform::App;
use platform::http::call::Visit;
use platform::http::json::Json;
use platform::http::routes::Routes;
use platform::http::signature::{Answers, Signature};
use schemars::JsonSchema;
use serde::Serialize;

/// A database slower than this is not ready.
const DATABASE_PATIENCE: Duration = Duration::from_secs(2);

pub fn routes() -> Routes {
    Routes::new()
        .get("/health", Access::Public, None, health)
        .says("Tells that the process lives.")
        .get("/ready", Access::Public, None, ready)
        .says("Tells whether requests can be served.")
}

#[derive(Debug, Serialize, JsonSchema)]
struct Health {
    status: &'static str,
    version: &'static str,
    uptime_seconds: i64,
}

async fn health(visit: Visit) -> Json<Health> {
    let uptime = visit.now() - visit.app.started_at();
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION"), uptime_seconds: uptime.num_seconds().max(0) })
}

#[derive(Debug, Serialize, JsonSchema)]
struct Readiness {
    ready: bool,
    /// The engine runs in the data planes, each of which has its own `/ready`.
    engine: &'static str,
    control_plane: &'static str,
    checks: Vec<Check>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReadinessCheck")]
struct Check {
    name: &'static str,
    ok: bool,
}

/// 200 or 503, and why.
struct ReadinessAnswer(Readiness);

impl IntoResponse for ReadinessAnswer {
    fn into_response(self) -> Response {
        let status = if self.0.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        (status, Json(self.0)).into_response()
    }
}

impl Answers for ReadinessAnswer {
    fn answers(said: &mut Signature<'_>) {
        said.answers::<Readiness>(StatusCode::OK);
        said.answers::<Readiness>(StatusCode::SERVICE_UNAVAILABLE);
    }
}

async fn ready(visit: Visit) -> ReadinessAnswer {
    let checks = vec![
        Check { name: "database", ok: database_answers(&visit.app).await },
        Check { name: "running", ok: !visit.app.shutdown().is_cancelled() },
    ];
    let ready = checks.iter().all(|check| check.ok);
    let control_plane = if ready { "ok" } else { "unavailable" };
    ReadinessAnswer(Readiness { ready, engine: "remote", control_plane, checks })
}

async fn database_answers(app: &App) -> bool {
    let asked = sqlx::query_scalar!("select true").fetch_one(app.pool());
    matches!(tokio::time::timeout(DATABASE_PATIENCE, asked).await, Ok(Ok(_)))
}
