//! Plain `/health` and `/ready`, for whoever watches the process.
//!
//! "`{status, version, uptime_seconds}`" and "`{ready: boolean, engine: string, control_plane:
//! string}`; 200 when ready, 503 during startup or shutdown".
//!
//! `engine` is `starting`, `parked` (another process owns the data: statements are taken and wait),
//! `ready` or `restarting`; `control_plane` is `connected`, `cached` or `unknown`.

use std::time::Instant;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::governance::Source;
use crate::pipeline::{EngineSlot, House};

/// What the probes look at.
#[derive(Debug, Clone)]
pub struct Vitals {
    pub began: Instant,
    pub engine: EngineSlot,
    pub house: watch::Receiver<House>,
    pub source: watch::Receiver<Source>,
    pub leaving: CancellationToken,
}

impl Vitals {
    /// May a query be sent here now?
    pub fn ready(&self) -> bool {
        let takes = matches!(self.engine_state(), "ready" | "parked");
        takes && *self.source.borrow() != Source::Unknown && !self.leaving.is_cancelled()
    }

    fn engine_state(&self) -> &'static str {
        if matches!(*self.house.borrow(), House::Parked) {
            return "parked";
        }
        match &*self.engine.borrow() {
            None => "starting",
            Some(engine) if engine.is_alive() => "ready",
            Some(_) => "restarting",
        }
    }
}

pub async fn serve(listener: TcpListener, vitals: Vitals, closing: CancellationToken) {
    let served = axum::serve(listener, routes(vitals)).with_graceful_shutdown(closing.cancelled_owned()).await;
    if let Err(error) = served {
        tracing::error!(%error, "the probes' listener failed");
    }
}

/// `/health` and `/ready`.
pub fn routes(vitals: Vitals) -> Router {
    Router::new().route("/health", get(health)).route("/ready", get(ready)).with_state(vitals)
}

async fn health(State(vitals): State<Vitals>) -> Json<Value> {
    Json(json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_seconds": vitals.began.elapsed().as_secs(),
    }))
}

async fn ready(State(vitals): State<Vitals>) -> (StatusCode, Json<Value>) {
    let ready = vitals.ready();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({
        "ready": ready,
        "engine": vitals.engine_state(),
        "control_plane": vitals.source.borrow().as_str(),
    });
    (status, Json(body))
}
