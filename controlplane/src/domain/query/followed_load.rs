//! A load that is an operation: while its file comes, others see how far it is, and cancel it.
//!
//! It is cancelled by breaking its body off, before which nothing is loaded, and after its last byte by the data plane,
//! whose answer says whether that came before the commit. Whoever sends it and leaves cancels it too, unless they were
//! answered with 202.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Method;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use contract::load::{LoadProgress, Loaded};
use contract::{Code, OperationId};
use platform::http::call::Call;
use platform::http::json::Accepted;
use platform::{Error, Result};
use tokio::time::Interval;

use super::forward;
use super::load::{self, SentFile};
use crate::domain::operations::{self, BodyWatch, OperationEnd, OperationError, RunningOperation};

/// How often others are told how far it is.
const LOOK: Duration = Duration::from_secs(1);
/// How long a data plane may take to say it.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

/// The answer to the whole file, or with 202 to its last byte.
pub async fn load(cx: Call, (operation_id, is_async): (OperationId, bool), file: SentFile) -> Result<Response> {
    let total = file.length.as_ref().and_then(|length| length.to_str().ok()?.parse().ok());
    let watch = BodyWatch::of(total);
    let operation = RunningOperation::begin(&cx, operation_id.clone(), total).await?;
    // The work goes on without whoever sends it only as far as to end well.
    let left = watch.cancel().clone().drop_guard();
    let load = FollowedLoad { cx: cx.clone(), operation, watch: Arc::clone(&watch), is_async };
    let place = telemetry::here();
    let mut running = cx.app.tasks().spawn(place.around(load.run(file)));
    if is_async {
        tokio::select! {
            biased;
            () = watch.whole() => {}
            ended = &mut running => return ended.map_err(|_| Error::Panicked)?,
        }
        left.disarm();
        let record = operations::found(&cx, operation_id.clone()).await?;
        return Ok(([(LOCATION, operations::location(&operation_id))], Accepted(record)).into_response());
    }
    running.await.map_err(|_| Error::Panicked)?
}

/// One load on its way.
struct FollowedLoad {
    cx: Call,
    operation: RunningOperation,
    watch: Arc<BodyWatch>,
    /// Nobody waits for its answer once the file has come.
    is_async: bool,
}

impl FollowedLoad {
    /// Sends the file, and writes down how that ended.
    async fn run(self, file: SentFile) -> Result<Response> {
        let answered = match Box::pin(self.sent(file)).await {
            Ok(answer) => loaded(answer).await,
            Err(error) => Err(error),
        };
        let (end, answer) = match answered {
            Ok((loaded, answer)) => (OperationEnd::Succeeded(loaded), Ok(answer)),
            Err(error) => {
                let error = self.cancelled(error);
                let is_cancelled = error.code() == Code::QueryCancelled;
                let end = if is_cancelled {
                    OperationEnd::Cancelled
                } else {
                    OperationEnd::Failed(OperationError::of(&error))
                };
                (end, Err(error))
            }
        };
        if let Err(error) = self.operation.ended(&end, self.watch.bytes()).await {
            tracing::warn!(%error, "the end of an operation could not be written down");
        }
        answer
    }

    /// The answer of the data plane. Each second is looked whether somebody cancels.
    async fn sent(&self, file: SentFile) -> Result<Response> {
        let SentFile { uri, length, body } = file;
        let body = operations::watched(body, &self.watch);
        let to = (Method::POST, load::place(&uri)?);
        let mut sending = pin!(forward::stream(&self.cx, to, length, body, Some(self.operation.id())));
        let mut looks = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                answer = &mut sending => return answer,
                () = self.look(&mut looks) => {}
            }
        }
    }

    /// Waits for the next look, tells how far it is, and cancels where somebody has asked for that.
    async fn look(&self, looks: &mut Interval) {
        looks.tick().await;
        let path = format!("/v1/environments/{}/operations/{}", self.operation.env_id(), self.operation.id());
        let told = self.asked(Method::GET, &path).await;
        let rows = told.and_then(|told| told.rows);
        match self.operation.goes_on(self.watch.bytes(), rows).await {
            Ok(true) => {}
            Ok(false) => self.watch.cancel().cancel(),
            Err(error) => tracing::warn!(%error, "the progress of an operation could not be written down"),
        }
        if self.is_async && self.cx.app.shutdown().is_cancelled() {
            self.watch.cancel().cancel();
        }
        // Before its last byte the body breaks off by itself.
        if self.watch.cancel().is_cancelled() && self.watch.is_whole() {
            let _ = self.asked(Method::DELETE, &path).await;
        }
    }

    /// What the data plane says; one that does not know the load, or not yet, says nothing.
    async fn asked(&self, method: Method, path: &str) -> Option<LoadProgress> {
        let told = forward::bare_record(&self.cx, method, path);
        tokio::time::timeout(TOLD_WITHIN, told).await.ok()?.ok()
    }

    /// The error, or that it is cancelled: nothing was loaded if the body broke off, or if the data plane says so.
    fn cancelled(&self, error: Error) -> Error {
        let is_undone = !self.watch.is_whole() || error.code().sqlstate() == Code::QueryCancelled.sqlstate();
        if !(self.watch.cancel().is_cancelled() && is_undone) {
            return error;
        }
        if self.is_async && self.cx.app.shutdown().is_cancelled() {
            return Error::ShuttingDown;
        }
        Error::Refused(Code::QueryCancelled)
    }
}

/// An answer as the operation keeps it, without the rows of a dry run, and as it is.
async fn loaded(answer: Response) -> Result<(Loaded, Response)> {
    let (parts, body) = answer.into_parts();
    let bytes = forward::whole(body).await?;
    let loaded: Loaded = serde_json::from_slice(&bytes).map_err(Error::internal)?;
    Ok((Loaded { rows: None, ..loaded }, Response::from_parts(parts, Body::from(bytes))))
}
