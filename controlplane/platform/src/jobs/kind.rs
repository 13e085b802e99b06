//! Kinds of background jobs: the name in the queue, and the function that runs a job.

use chrono::Duration;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::lane::Lane;
use crate::{App, Error, Result};

/// A job that is queued on request: its fields are its payload.
pub trait BackgroundJob: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The kind in the stored JSON: another name leaves the jobs that wait unknown.
    const KIND: &'static str;

    fn run(&self, app: &App) -> impl Future<Output = Result<()>> + Send;
}

/// Runs a job with the payload that is stored of it.
type Run = for<'a> fn(&'a App, &'a Value) -> BoxFuture<'a, Result<()>>;

/// One kind of job, as the workers know it.
#[derive(Debug)]
pub struct JobKind {
    pub name: &'static str,
    pub lane: Lane,
    /// How often a job runs that is always in the queue; `None`: it is queued on request and runs once.
    pub period: Option<Duration>,
    pub run: Run,
}

impl JobKind {
    /// A kind of job that is queued on request.
    pub const fn of<J: BackgroundJob>() -> Self {
        Self { name: J::KIND, lane: Lane::Common, period: None, run: run::<J> }
    }

    /// A kind of job that is always in the queue and has no payload.
    pub const fn periodic(name: &'static str, period: Duration, run: Run) -> Self {
        Self { name, lane: Lane::Common, period: Some(period), run }
    }

    /// The kind, beside the jobs of other lanes.
    pub const fn in_lane(self, lane: Lane) -> Self {
        Self { lane, ..self }
    }
}

fn run<'a, J: BackgroundJob>(app: &'a App, payload: &'a Value) -> BoxFuture<'a, Result<()>> {
    async move { J::deserialize(payload).map_err(Error::internal)?.run(app).await }.boxed()
}
