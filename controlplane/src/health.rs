//! "GET /health: `{status, version, uptime_seconds}`; GET /ready: `{ready, engine, control_plane}`;
//! 200 when ready, 503 during startup or shutdown."
//!
//! Health says that the process lives; it asks nobody. Readiness asks the database.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use contract::Access;
use serde::Serialize;

use crate::App;
use crate::http::call::Visit;
use crate::http::json::Json;
use crate::http::routes::Routes;

/// A database slower than this is not ready.
const DATABASE_PATIENCE: Duration = Duration::from_secs(2);

pub fn routes() -> Routes {
    Routes::new().get("/health", Access::Public, None, health).get("/ready", Access::Public, None, ready)
}

#[derive(Debug, Serialize)]
struct Health {
    status: &'static str,
    version: &'static str,
    uptime_seconds: i64,
}

async fn health(visit: Visit) -> Json<Health> {
    let uptime = visit.now() - visit.app.started_at();
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION"), uptime_seconds: uptime.num_seconds().max(0) })
}

#[derive(Debug, Serialize)]
struct Readiness {
    ready: bool,
    /// The engine runs in the data planes, each of which has its own `/ready`.
    engine: &'static str,
    control_plane: &'static str,
    checks: Vec<Check>,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
}

async fn ready(visit: Visit) -> Response {
    let checks = vec![
        Check { name: "database", ok: database_answers(&visit.app).await },
        Check { name: "running", ok: !visit.app.shutdown().is_cancelled() },
    ];
    let ready = checks.iter().all(|check| check.ok);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let control_plane = if ready { "ok" } else { "unavailable" };
    (status, Json(Readiness { ready, engine: "remote", control_plane, checks })).into_response()
}

async fn database_answers(app: &App) -> bool {
    let asked = sqlx::query_scalar!("select true").fetch_one(app.pool());
    matches!(tokio::time::timeout(DATABASE_PATIENCE, asked).await, Ok(Ok(_)))
}
