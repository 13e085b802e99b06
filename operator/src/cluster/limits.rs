//! The rate limits, timeouts and fence that every request to the API server passes.
//!
//! kube's client has no limit of its own. Here it gets all of them: so many requests at once, so
//! many in a second, few while the server fails, none that hangs; the fence, which refuses every
//! change once leadership has run out; and a count of what was asked, which the metrics show and
//! the role table is checked against.

mod bucket;
mod resource_attributes;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

pub use bucket::{Bucket, Rate};
use http::{Request, Response};
pub use resource_attributes::ResourceAttributes;
use tokio::sync::{Mutex, Semaphore, watch};
use tokio::time::Instant;
use tower::{BoxError, Layer, Service, ServiceExt};

use crate::error::{Refused, struggles};
use crate::metrics::Metrics;

/// Enough for the rate at 80 ms an answer. More only wait in the server: it gives Services their
/// addresses one after the other, and 64 of them do not get an answer in time.
pub const AT_ONCE: u16 = 16;

/// The limits of requests to the API server.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    pub at_once: usize,
    pub rate: Rate,
    /// Until the answer begins; a watch answers at once and then goes on.
    pub read: Duration,
    /// Less than what lies between the end of leadership and another's beginning, so that a late
    /// change cannot meet those of the next leader.
    pub change: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            at_once: AT_ONCE.into(),
            rate: Rate { per_second: 200.0, burst: 200.0, per_second_failing: 6.0 },
            read: Duration::from_secs(30),
            change: Duration::from_secs(5),
        }
    }
}

/// The time until which this process may change anything, as the election publishes it.
pub type Fence = watch::Receiver<Option<Instant>>;

#[derive(Clone)]
pub struct Limits {
    shared: Arc<Shared>,
}

struct Shared {
    budget: Budget,
    places: Arc<Semaphore>,
    bucket: std::sync::Mutex<Bucket>,
    fence: Option<Fence>,
    metrics: Metrics,
}

impl Limits {
    /// Without a fence everything may be changed: for the election itself.
    pub fn new(budget: Budget, fence: Option<Fence>, metrics: Metrics) -> Self {
        let places = Arc::new(Semaphore::new(budget.at_once));
        let bucket = std::sync::Mutex::new(Bucket::new(budget.rate, Instant::now()));
        Self { shared: Arc::new(Shared { budget, places, bucket, fence, metrics }) }
    }
}

impl Shared {
    fn wait(&self) -> Duration {
        self.bucket.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take(Instant::now())
    }

    fn answered(&self, failed: bool) {
        self.bucket.lock().unwrap_or_else(std::sync::PoisonError::into_inner).failing(failed, Instant::now());
    }

    /// When the answer must be there. A change is given up when leadership ends.
    fn deadline(&self, attributes: &ResourceAttributes) -> Result<Instant, Refused> {
        let now = Instant::now();
        if !attributes.changes() {
            return Ok(now + self.budget.read);
        }
        let limit = now + self.budget.change;
        match &self.fence {
            None => Ok(limit),
            Some(fence) => match *fence.borrow() {
                Some(until) if now < until => Ok(limit),
                _ => Err(Refused::NotLeading),
            },
        }
    }
}

impl<S> Layer<S> for Limits {
    type Service = Limited<S>;

    fn layer(&self, inner: S) -> Limited<S> {
        Limited { shared: Arc::clone(&self.shared), inner: Arc::new(Mutex::new(inner)) }
    }
}

/// A client under limits.
pub struct Limited<S> {
    shared: Arc<Shared>,
    inner: Arc<Mutex<S>>,
}

impl<S, A, B> Service<Request<A>> for Limited<S>
where
    S: Service<Request<A>, Response = Response<B>> + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    A: Send + 'static,
    B: 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let (shared, inner) = (Arc::clone(&self.shared), Arc::clone(&self.inner));
        Box::pin(async move {
            let attributes = ResourceAttributes::of(request.method(), request.uri());
            let answer = send(&shared, inner, &attributes, request).await;
            let code = answer.as_ref().ok().map(Response::status);
            shared.metrics.requested(attributes.verb, &attributes.group, &attributes.resource, code);
            answer
        })
    }
}

async fn send<S, A, B>(
    shared: &Shared,
    inner: Arc<Mutex<S>>,
    attributes: &ResourceAttributes,
    request: Request<A>,
) -> Result<Response<B>, BoxError>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Error: Into<BoxError>,
{
    shared.deadline(attributes)?;
    let _place = Arc::clone(&shared.places).acquire_owned().await.map_err(|_| Refused::Closed)?;
    tokio::time::sleep(shared.wait()).await;
    // asked again: it may have waited for long
    let deadline = shared.deadline(attributes)?;
    let call = async {
        let answer = inner.lock().await.ready().await.map_err(Into::into)?.call(request);
        answer.await.map_err(Into::into)
    };
    let answer = before(deadline, call).await.unwrap_or_else(|| Err(Refused::Timeout.into()));
    shared.answered(answer.as_ref().map_or(true, |answer| struggles(answer.status().as_u16())));
    answer
}

/// Polls nothing once the time is over. A process that was held still goes on where it stopped, and a timer alone
/// would tell only after what was ready has run: after the request has left.
pub(crate) async fn before<T>(deadline: Instant, call: impl Future<Output = T>) -> Option<T> {
    let mut call = pin!(call);
    let in_time =
        poll_fn(
            |context| {
                if Instant::now() < deadline { call.as_mut().poll(context).map(Some) } else { Poll::Ready(None) }
            },
        );
    tokio::time::timeout_at(deadline, in_time).await.ok().flatten()
}
