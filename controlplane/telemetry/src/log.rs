//! The log: JSON, a line an event, and its level, which can be changed while the process runs.
//!
//! `RUST_LOG` says what is logged from the start. `PUT /log` on the port of the probes says more, or less, of
//! our own crates until it is said anew, or until `DELETE /log`: `debug`, or
//! `dataplane=debug,controlplane::domain::webhooks=trace`. A level of `controlplane` holds for its crate `platform` as
//! well, unless that has one of its own. What others write stays as it was, for they may write what
//! they carry, credentials included. Whoever may enter the machine or the pod may say it, nobody
//! else: it is taken from loopback alone, where `kubectl port-forward` comes from too.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request, State};
use axum::http::header::HOST;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layered, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

/// The path on the port of the probes.
pub const PATH: &str = "/log";
/// What is logged unless `RUST_LOG` says otherwise: the protocol of tools tells of every request.
pub const LOGGED: &str = "info,rmcp=warn";

/// The crates whose lines hold nothing that is secret.
const OURS: [&str; 9] =
    ["contract", "controlplane", "dataplane", "engine", "operator", "platform", "sluice", "sql", "telemetry"];
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
const SAID_BYTES_MAX: usize = 1_024;
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

type Reload = dyn Fn(EnvFilter) -> bool + Send + Sync;

/// The level of a log that runs.
#[derive(Clone)]
pub struct Log {
    started: Arc<str>,
    now: Arc<Mutex<String>>,
    reload: Arc<Reload>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("now", &self.now()).finish_non_exhaustive()
    }
}

impl Log {
    /// From here on this process logs: JSON, a line an event. A process has one log.
    pub fn start<W>(writer: W) -> Self
    where
        W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
    {
        let (log, subscriber) = Self::made(filter_of_environment(), writer);
        subscriber.init();
        log
    }

    fn made<W>(started: String, writer: W) -> (Self, impl SubscriberInitExt + tracing::Subscriber + Send + Sync)
    where
        W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
    {
        let (filter, handle) = reload::Layer::<EnvFilter, Registry>::new(filter_of(&started));
        let lines = tracing_subscriber::fmt::layer::<Layered<_, Registry>>().json().with_writer(writer);
        let reload = move |filter| handle.reload(filter).is_ok();
        let now = Arc::new(Mutex::new(started.clone()));
        let log = Self { started: started.into(), now, reload: Arc::new(reload) };
        (log, tracing_subscriber::registry().with(filter).with(lines.boxed()))
    }

    /// What is logged now, as `RUST_LOG` would say it.
    pub fn now(&self) -> String {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// As from the start.
    fn reset(&self) -> bool {
        self.set(self.started.to_string())
    }

    fn say(&self, said: &str) -> Result<bool, InvalidLogLevel> {
        let ours = meant(said)?;
        Ok(self.set(format!("{},{ours}", self.started)))
    }

    fn set(&self, filter: String) -> bool {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let is_set = (self.reload)(filter_of(&filter));
        if is_set {
            tracing::info!(filter, "the level of the log was changed");
            *now = filter;
        }
        is_set
    }
}

#[expect(clippy::disallowed_methods, reason = "the one variable of the log, which no configuration has")]
fn filter_of_environment() -> String {
    let said = std::env::var(EnvFilter::DEFAULT_ENV).ok();
    said.filter(|said| EnvFilter::try_new(said).is_ok()).unwrap_or_else(|| LOGGED.to_owned())
}

/// The filter of these directives. Of two for one target the later holds, so `platform` keeps a level of its own.
fn filter_of(directives: &str) -> EnvFilter {
    let levels = directives.split(',').filter_map(|one| one.trim().strip_prefix("controlplane="));
    let implied: String = levels.flat_map(|level| ["platform=", level, ","]).collect();
    EnvFilter::new(implied + directives)
}

/// Why a level cannot be said so.
#[derive(Debug, PartialEq, Eq)]
struct InvalidLogLevel(String);

/// What is said, for our own crates.
fn meant(said: &str) -> Result<String, InvalidLogLevel> {
    let refused = |one: &str, why: String| Err(InvalidLogLevel(format!("{one:?}: {why}\n")));
    let mut directives = Vec::new();
    for one in said.split(',').map(str::trim) {
        let (target, level) = match one.split_once('=') {
            Some((target, level)) => (Some(target), level),
            None => (None, one),
        };
        if !LEVELS.contains(&level) {
            return refused(one, format!("a level is wanted, one of {}", LEVELS.join(", ")));
        }
        let Some(target) = target else {
            directives.extend(OURS.map(|ours| format!("{ours}={level}")));
            continue;
        };
        let named = target.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b':'));
        if !named || !OURS.contains(&target.split("::").next().unwrap_or_default()) {
            return refused(one, format!("a module is wanted, of one of {}", OURS.join(", ")));
        }
        directives.push(one.to_owned());
    }
    Ok(directives.join(","))
}

/// `GET`, `PUT` and `DELETE` of the level; nothing where the log is somebody else's.
pub fn routes(log: Option<Log>) -> Router {
    let Some(log) = log else { return Router::new() };
    Router::new()
        .route(PATH, get(told).put(said).delete(unsaid))
        .layer(DefaultBodyLimit::max(SAID_BYTES_MAX))
        .layer(from_fn(here_alone))
        .with_state(log)
}

async fn told(State(log): State<Log>) -> String {
    format!("{}\n", log.now())
}

async fn said(State(log): State<Log>, said: String) -> Response {
    match log.say(said.trim()) {
        Ok(is_set) => answered(&log, is_set),
        Err(InvalidLogLevel(why)) => (StatusCode::BAD_REQUEST, why).into_response(),
    }
}

async fn unsaid(State(log): State<Log>) -> Response {
    answered(&log, log.reset())
}

fn answered(log: &Log, is_set: bool) -> Response {
    let status = if is_set { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    (status, format!("{}\n", log.now())).into_response()
}

/// Nobody from outside, and no page in a browser that gave this machine another name.
async fn here_alone(request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    if peer.is_some_and(|ConnectInfo(peer)| peer.ip().to_canonical().is_loopback()) && is_local(request.headers()) {
        return next.run(request).await;
    }
    let why = "the level of the log is said from this machine alone, such as through `kubectl port-forward`\n";
    (StatusCode::FORBIDDEN, why).into_response()
}

fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    LOOPBACK.iter().any(|name| host.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':')))
}

#[cfg(test)]
mod tests;
