//! Following events as they happen, whatever they are events of: one of the places that an organization has, a
//! credential that is looked at again before each reading, and frames of server-sent events.
//!
//! Whoever may not read any more is told no further event.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Display;
use std::future::{Future, ready};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use contract::{Access, OrgId, Scope};
use futures::{StreamExt, stream};
use serde::Serialize;
use sqlx::Postgres;
use sqlx::pool::PoolConnection;

use crate::domain::authentication::{self, Known};
use crate::platform::http::call::Call;
use crate::platform::http::signature::{self, Answers, Signature, Takes};
use crate::{App, Error, Result};

/// A silent connection is kept open by a comment.
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// Streams of one organization at once, in this process.
pub const STREAMS_MAX: usize = 20;
const RESUME: &str = "last-event-id";

/// Who follows: looked at again before each reading. Their place is given back when they go.
pub struct Reader {
    headers: HeaderMap,
    peer: IpAddr,
    access: Access,
    scope: Scope,
    place: Place,
}

impl Reader {
    /// Whom the guard has let in by these; refused where the organization has no place left.
    pub fn of(call: &Call, headers: HeaderMap, access: Access, scope: Scope) -> Result<Self> {
        let place = Place::take(&call.app, call.org_id())?;
        Ok(Self { headers, peer: call.peer, access, scope, place })
    }

    pub fn app(&self) -> &App {
        &self.place.app
    }

    pub fn org_id(&self) -> &OrgId {
        &self.place.org_id
    }

    /// Who reads, and what by, if they may still read.
    pub async fn admitted(&self) -> Result<(Known, PoolConnection<Postgres>)> {
        let known = authentication::known(self.app(), &self.headers, self.peer).await?;
        known.caller.may(self.access, Some(self.scope)).map_err(Error::Lacks)?;
        if known.caller.org_id != *self.org_id() {
            return Err(Error::NotFound { kind: "organization" });
        }
        Ok((known, self.app().pool().acquire().await?))
    }
}

/// The places that are taken, by organization.
#[derive(Debug, Default)]
pub struct Places(Mutex<HashMap<OrgId, usize>>);

/// A place that is taken.
struct Place {
    app: App,
    org_id: OrgId,
}

impl Place {
    fn take(app: &App, org_id: &OrgId) -> Result<Self> {
        let mut taken = app.streams().places.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(org_id.clone()).or_default();
        if *count >= STREAMS_MAX {
            return Err(Error::RateLimited { retry_after_s: HEARTBEAT.as_secs() });
        }
        *count = count.saturating_add(1);
        Ok(Self { app: app.clone(), org_id: org_id.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.app.streams().places.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.org_id) {
            *count = count.saturating_sub(1);
        }
        taken.retain(|_, count| *count > 0);
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

/// What is told, piece by piece.
pub trait Following: Send + 'static {
    /// The next piece; `None` ends the stream.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// The events, one after another.
pub struct Followed(Body);

impl Followed {
    /// At once a sign that the stream is open, then what is told.
    pub fn of(following: impl Following) -> Self {
        let open = stream::once(ready(Bytes::from_static(b": open\n\n")));
        let told = stream::unfold(following, |mut following| async move {
            let piece = following.next().await?;
            Some((piece, following))
        });
        Self(Body::from_stream(open.chain(told).map(Ok::<_, Infallible>)))
    }
}

impl IntoResponse for Followed {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")], self.0).into_response()
    }
}

impl Answers for Followed {
    fn answers(said: &mut Signature<'_>) {
        said.says(signature::Answer {
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
