//! How long a peer of an HTTP listener may be silent: between two requests, and in the head of one.
//!
//! A balancer keeps connections for a minute and sends the next request on one of them; if we close it
//! at that moment, its client is answered 502. So a connection between two requests lives longer than
//! a balancer's. But whoever has begun the head of a request ends it soon, or holds a place for nothing.
//! hyper has one timer for both, which begins when the answer before has been sent. Here the stream is
//! wrapped: the head's clock begins with its first byte ([`Timed`]), and stands still while a request is
//! served ([`Clock`]).
//!
//! An HTTP/2 connection is told by its first bytes and is not timed: its pings say who is there.
#![forbid(unsafe_code)]

mod clock;
mod timed;

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use tower::ServiceExt;

pub use clock::{Busy, Clock};
pub use timed::Timed;

/// How long the head of a request may take, from its first byte.
const HEAD: Duration = Duration::from_secs(10);

// The setting. No documentation, which would be taken for that of the program.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct ConnectionTimeouts {
    /// Seconds that a connection lives between two requests: more than a balancer in front keeps it.
    #[arg(long, env = "SLUICE_HTTP_IDLE_SECS", default_value_t = Self::DEFAULT.http_idle_secs, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub http_idle_secs: u64,
}

impl ConnectionTimeouts {
    pub const DEFAULT: Self = Self { http_idle_secs: 75 };

    pub const fn limits(self) -> Limits {
        Limits { idle: Duration::from_secs(self.http_idle_secs), head: HEAD }
    }
}

/// How long is waited for a peer.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For the first byte of a request.
    pub idle: Duration,
    /// From there until the head's last; on the PostgreSQL wire, from the connection to the end of its login.
    pub head: Duration,
}

/// The routes as a connection serves them: its clock stands still from a request's head until its answer has been sent.
/// `arrive` is shown each request.
pub fn serving(
    clock: Clock,
    routes: Router,
    arrive: impl Fn(&mut Request<Incoming>) + Send + 'static,
) -> impl Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send + 'static> + Send + 'static {
    service_fn(move |mut request: Request<Incoming>| {
        let busy = clock.busy();
        arrive(&mut request);
        let answer = routes.clone().oneshot(request.map(Body::new));
        async move { answer.await.map(|answer| busy.until_sent(answer)) }
    })
}
