//! Plain `/health`, `/ready` and `/metrics`, for whoever watches the process; `/log`, for whoever may enter it.
//!
//! "`{status, version, uptime_seconds}`" and "`{ready: boolean, engine: string, control_plane:
//! string}`; 200 when ready, 503 during startup or shutdown".
//!
//! `engine` is `starting`, `parked` (another process owns the data: statements are taken and wait),
//! `ready` or `restarting`; `control_plane` is `connected`, `cached` or `unknown`.
//!
//! Who asks `/ready` of one that starts is answered when it is ready, or a second later: a kubelet that
//! was told no a moment too early would ask again no sooner.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::get;
use axum::{Json, Router};
use contract::wire::probe;
use serde_json::{Value, json};
use telemetry::{Log, log, scrape};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::Pipeline;
use crate::governance::RulesSource;
use crate::metrics::StateGauges;
use crate::pipeline::{EngineSlot, OwnershipState};

/// Less than a kubelet waits for an answer.
const STARTING_HELD: Duration = Duration::from_secs(1);

/// The state that probes report.
#[derive(Debug, Clone)]
pub struct ProbeState {
    pub began: Instant,
    pub engine: EngineSlot,
    pub ownership: watch::Receiver<OwnershipState>,
    pub source: watch::Receiver<RulesSource>,
    pub leaving: CancellationToken,
}

impl ProbeState {
    /// May a query be sent here now?
    pub fn ready(&self) -> bool {
        let takes = matches!(self.engine_state(), "ready" | "parked");
        takes && *self.source.borrow() != RulesSource::Unknown && !self.leaving.is_cancelled()
    }

    /// Waits until queries may be sent here, or until none may any more.
    pub async fn settled(&self) {
        let Self { mut engine, mut ownership, mut source, .. } = self.clone();
        while !self.ready() {
            let changed = tokio::select! {
                changed = engine.changed() => changed,
                changed = ownership.changed() => changed,
                changed = source.changed() => changed,
                () = self.leaving.cancelled() => return,
            };
            if changed.is_err() {
                return;
            }
        }
    }

    fn starting(&self) -> bool {
        let knows = *self.source.borrow() != RulesSource::Unknown;
        !self.leaving.is_cancelled() && (!knows || self.engine_state() == "starting")
    }

    fn engine_state(&self) -> &'static str {
        if matches!(*self.ownership.borrow(), OwnershipState::Parked) {
            return "parked";
        }
        match &*self.engine.borrow() {
            None => "starting",
            Some(engine) if engine.is_alive() => "ready",
            Some(_) => "restarting",
        }
    }
}

/// The sources of this port's answers.
#[derive(Debug)]
pub struct Probed {
    pub probe_state: ProbeState,
    pub pipeline: Arc<Pipeline>,
    pub log: Option<Log>,
}

pub async fn serve(listener: TcpListener, probed: Probed, closing: CancellationToken) {
    let Probed { probe_state, pipeline, log } = probed;
    let measured = Router::new().route(probe::METRICS, get(metrics)).with_state((probe_state.clone(), pipeline));
    let routes = routes(probe_state).merge(measured).merge(log::routes(log));
    let routes = routes.into_make_service_with_connect_info::<SocketAddr>();
    let served = axum::serve(listener, routes).with_graceful_shutdown(closing.cancelled_owned()).await;
    if let Err(error) = served {
        tracing::error!(%error, "the probes' listener failed");
    }
}

/// `/health` and `/ready`: without a credential, wherever they are served.
pub fn routes(probe_state: ProbeState) -> Router {
    Router::new().route(probe::HEALTH, get(health)).route(probe::READY, get(ready)).with_state(probe_state)
}

async fn health(State(probe_state): State<ProbeState>) -> Json<Value> {
    Json(json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_seconds": probe_state.began.elapsed().as_secs(),
    }))
}

async fn ready(State(probe_state): State<ProbeState>) -> (StatusCode, Json<Value>) {
    readiness(&probe_state, STARTING_HELD).await
}

async fn readiness(probe_state: &ProbeState, starting_held: Duration) -> (StatusCode, Json<Value>) {
    if probe_state.starting() {
        let _ = timeout(starting_held, probe_state.settled()).await;
    }
    let ready = probe_state.ready();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({
        "ready": ready,
        "engine": probe_state.engine_state(),
        "control_plane": probe_state.source.borrow().as_str(),
    });
    (status, Json(body))
}

async fn metrics(State((probe_state, pipeline)): State<(ProbeState, Arc<Pipeline>)>, headers: HeaderMap) -> Response {
    let (slots, waiting) = pipeline.gate.standing();
    let reports_waiting = match &*probe_state.ownership.borrow() {
        OwnershipState::Open(ledger) => ledger.log.written().saturating_sub(*ledger.log.acked().borrow()),
        OwnershipState::Opening | OwnershipState::Parked => 0,
    };
    let standing = StateGauges {
        slots,
        waiting,
        engine_up: probe_state.engine_state() == "ready",
        ready: probe_state.ready(),
        connected: *probe_state.source.borrow() == RulesSource::Connected,
        reports_waiting,
    };
    scrape::answered(&headers, pipeline.metrics.text(standing))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Starting {
        probe_state: ProbeState,
        ownership: watch::Sender<OwnershipState>,
        source: watch::Sender<RulesSource>,
        _engine: watch::Sender<Option<engine::Engine>>,
    }

    fn starting() -> Starting {
        let (ownership, source) =
            (watch::Sender::new(OwnershipState::Opening), watch::Sender::new(RulesSource::Unknown));
        let engine = watch::Sender::new(None);
        let probe_state = ProbeState {
            began: Instant::now(),
            engine: engine.subscribe(),
            ownership: ownership.subscribe(),
            source: source.subscribe(),
            leaving: CancellationToken::new(),
        };
        Starting { probe_state, ownership, source, _engine: engine }
    }

    #[tokio::test]
    async fn who_asks_while_it_starts_hears_of_it_as_soon_as_it_is_ready() {
        let Starting { probe_state, ownership, source, _engine } = starting();
        let becoming = async {
            tokio::task::yield_now().await;
            source.send_replace(RulesSource::Connected);
            tokio::task::yield_now().await;
            ownership.send_replace(OwnershipState::Parked);
        };
        let ((status, _), ()) = tokio::join!(readiness(&probe_state, Duration::from_mins(1)), becoming);
        assert_eq!(status, StatusCode::OK);
    }

    #[tokio::test]
    async fn one_that_does_not_become_ready_says_so_after_a_while_and_one_that_goes_at_once() {
        let Starting { probe_state, ownership: _ownership, source: _source, _engine } = starting();
        let (status, Json(body)) = readiness(&probe_state, Duration::from_millis(1)).await;
        assert_eq!((status, &body["engine"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("starting")));
        probe_state.leaving.cancel();
        let (status, _) = readiness(&probe_state, Duration::MAX).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    }
}
