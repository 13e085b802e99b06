//! Following events as they happen, whatever they are events of: one of the places that an organization has, and
//! frames of server-sent events.
//!
//! Who follows is looked at again before each reading (`domain::authentication::reader`).

use std::convert::Infallible;
use std::fmt::Display;
use std::future::{Future, ready};
use std::time::Duration;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use contract::OrgId;
use futures::{StreamExt, stream};
use serde::Serialize;

use crate::http::signature::{self, Answers, Signature, Takes};
use crate::{App, Error, Result};

/// A silent connection is kept open by a comment.
pub const HEARTBEAT: Duration = Duration::from_secs(15);
const RESUME: &str = "last-event-id";

/// A place that is taken: one of those that an organization has.
pub struct FollowerPlace {
    app: App,
    org_id: OrgId,
}

impl FollowerPlace {
    /// Refused where the organization has no place left.
    pub fn take(app: &App, org_id: &OrgId) -> Result<Self> {
        if !app.streams().take_place(org_id) {
            return Err(Error::RateLimited { retry_after_s: HEARTBEAT.as_secs() });
        }
        Ok(Self { app: app.clone(), org_id: org_id.clone() })
    }

    pub fn app(&self) -> &App {
        &self.app
    }

    pub fn org_id(&self) -> &OrgId {
        &self.org_id
    }
}

impl Drop for FollowerPlace {
    fn drop(&mut self) {
        self.app.streams().free_place(&self.org_id);
    }
}

/// Where the client has been cut off: the `id` of an event, as it was told.
pub struct LastEventId(pub Option<String>);

impl<S: Sync> FromRequestParts<S> for LastEventId {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let Some(given) = parts.headers.get(RESUME) else { return Ok(Self(None)) };
        given.to_str().map(|text| Self(Some(text.to_owned()))).map_err(|_| strange())
    }
}

impl Takes for LastEventId {
    fn takes(said: &mut Signature<'_>) {
        said.header("Last-Event-ID", "The `id` of the last event that was read: the stream goes on after it.");
    }
}

/// Of an id that no event of the stream can have.
pub fn strange() -> Error {
    Error::invalid("Last-Event-ID", "event id", "`Last-Event-ID` is the `id` of an event of this stream")
}

/// A source of events, piece by piece.
pub trait EventSource: Send + 'static {
    /// The next piece; `None` ends the stream.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// The events, one after another.
pub struct EventStream(Body);

impl EventStream {
    /// At once a sign that the stream is open, then what is told.
    pub fn of(following: impl EventSource) -> Self {
        let open = stream::once(ready(Bytes::from_static(b": open\n\n")));
        let told = stream::unfold(following, |mut following| async move {
            let piece = following.next().await?;
            Some((piece, following))
        });
        Self(Body::from_stream(open.chain(told).map(Ok::<_, Infallible>)))
    }
}

impl IntoResponse for EventStream {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")], self.0).into_response()
    }
}

impl Answers for EventStream {
    fn answers(said: &mut Signature<'_>) {
        said.says(signature::ResponseSignature {
            status: StatusCode::OK,
            content: vec![("text/event-stream", None)],
            headers: &[],
        });
    }
}

/// A piece: one event.
pub fn told(id: impl Display, kind: &str, event: &impl Serialize) -> Option<Bytes> {
    let data = serde_json::to_string(event).ok()?;
    Some(format!("id: {id}\nevent: {kind}\ndata: {data}\n\n").into())
}

/// A piece: nothing has happened, and the connection stays.
pub fn silence() -> Bytes {
    Bytes::from_static(b": still here\n\n")
}

/// Why a stream ends; whoever follows learns it when they ask again.
pub fn ended(error: &Error) {
    tracing::debug!(%error, "an event stream ended");
}
