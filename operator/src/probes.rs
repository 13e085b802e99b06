//! `/healthz`, `/readyz` and `/metrics`, on one plain port; `/log`, the level of the log, from loopback.
//!
//! Ready means: every store is complete, so this operator could act at once. It does not mean that
//! it leads; a standby is ready too. A cluster without the definitions keeps it from being ready,
//! and the answer names what is missing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use telemetry::{Log, log, scrape};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::stores::Synced;

/// The workers' loop says so often that it lives.
const BEAT: Duration = Duration::from_secs(1);
/// Silent for so long: it hangs.
const SILENT: Duration = Duration::from_secs(30);

/// The proof that the event loop turns.
#[derive(Debug)]
pub struct Heartbeat {
    start: Instant,
    last: AtomicU64,
}

impl Heartbeat {
    pub fn new() -> Self {
        Self { start: Instant::now(), last: AtomicU64::new(0) }
    }

    fn beat(&self, now: Instant) {
        let millis = u64::try_from(now.saturating_duration_since(self.start).as_millis()).unwrap_or(u64::MAX);
        self.last.store(millis, Ordering::Relaxed);
    }

    fn is_alive(&self, now: Instant) -> bool {
        let last = self.start + Duration::from_millis(self.last.load(Ordering::Relaxed));
        now.saturating_duration_since(last) < SILENT
    }

    /// Beats until it is told to stop.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(BEAT);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                now = ticks.tick() => self.beat(now),
            }
        }
    }
}

/// The state that the probes report.
#[derive(Clone)]
pub struct Probed {
    pub context: Arc<Context>,
    pub synced: Arc<Synced>,
    pub heartbeat: Arc<Heartbeat>,
}

/// Serves until it is told to stop.
pub async fn serve(
    listener: TcpListener,
    probed: Probed,
    log: Option<Log>,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let router = Router::new()
        .route("/healthz", get(health))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(probed)
        .merge(log::routes(log))
        .into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await
}

async fn health(State(shared): State<Probed>) -> Response {
    if shared.heartbeat.is_alive(Instant::now()) {
        return "ok\n".into_response();
    }
    (StatusCode::INTERNAL_SERVER_ERROR, "the event loop does not turn\n").into_response()
}

async fn ready(State(shared): State<Probed>) -> Response {
    let missing = shared.synced.missing();
    if missing.is_empty() {
        return "ok\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, format!("not listed yet: {}\n", missing.join(", "))).into_response()
}

async fn metrics(State(shared): State<Probed>, headers: HeaderMap) -> Response {
    shared.context.measure();
    scrape::answered(&headers, shared.context.metrics.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_has_stopped_turning_is_not_healthy() {
        let heartbeat = Heartbeat::new();
        let last = heartbeat.start + Duration::from_mins(2);
        heartbeat.beat(last);
        assert!(heartbeat.is_alive(last + BEAT));
        assert!(!heartbeat.is_alive(last + SILENT + BEAT));
    }
}
