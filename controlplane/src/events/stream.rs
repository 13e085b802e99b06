//! `GET /v1/events/stream`: the organization's chain as it grows, as server-sent events.
//!
//! The `id` of an event is its sequence in the chain, which has no gaps: a client that comes back
//! with `Last-Event-ID`, to whatever replica, misses nothing and sees nothing twice. Whoever may not
//! read the trail any more is told no further event: the credential is looked at again before each
//! reading.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use contract::{Access, OrgId, Scope};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::watch;

use super::EventType;
use super::trail::{self, Recorded};
use crate::http::call::Call;
use crate::http::json::Query;
use crate::http::routes::Routes;
use crate::http::signature::{self, Answers, Signature, Takes};
use crate::http::suggestion::meant;
use crate::jobs::{hear, listen};
use crate::{App, Error, Result, authentication};

/// A silent connection is kept open by a comment.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// A listener that was lost is made anew.
const PAUSE: Duration = Duration::from_secs(1);
const BATCH: i64 = 100;
/// Streams of one organization at once, in this process.
const STREAMS_MAX: usize = 20;
const RESUME: &str = "last-event-id";

const ACCESS: Access = Access::Auditor;
const SCOPE: Scope = Scope::AuditRead;

pub fn routes() -> Routes {
    Routes::new()
        .get("/v1/events/stream", ACCESS, SCOPE, follow)
        .says("Follows the organization's events as they happen, as server-sent events.")
        .ours()
}

/// Wakes the streams of this process, and counts them.
#[derive(Debug)]
pub struct Streams {
    grown: watch::Sender<u64>,
    open: Mutex<HashMap<OrgId, usize>>,
}

impl Default for Streams {
    fn default() -> Self {
        Self { grown: watch::Sender::new(0), open: Mutex::default() }
    }
}

/// One of the places that an organization has; given back when it is dropped.
struct Place {
    app: App,
    org_id: OrgId,
}

impl Place {
    fn take(app: &App, org_id: &OrgId) -> Result<Self> {
        let mut open = app.streams().open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(org_id.clone()).or_default();
        if *count >= STREAMS_MAX {
            return Err(Error::RateLimited { retry_after_s: HEARTBEAT.as_secs() });
        }
        *count = count.saturating_add(1);
        Ok(Self { app: app.clone(), org_id: org_id.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.app.streams().open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.org_id) {
            *count = count.saturating_sub(1);
        }
        open.retain(|_, count| *count > 0);
    }
}

/// Wakes the streams whenever some chain has grown, until shutdown.
pub async fn work(app: App) {
    let mut listener = None;
    while !app.shutdown().is_cancelled() {
        if listener.is_none() {
            listener = listen(&app, "iam_events").await;
            // What was told while nobody listened.
            app.streams().grown.send_modify(|count| *count = count.wrapping_add(1));
        }
        let heard = tokio::select! {
            () = app.shutdown().cancelled() => break,
            heard = hear(listener.as_mut()) => heard.is_ok(),
            () = tokio::time::sleep(PAUSE), if listener.is_none() => false,
        };
        if heard {
            app.streams().grown.send_modify(|count| *count = count.wrapping_add(1));
        } else {
            listener = None;
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Asked {
    /// Event types, with commas between; all unless it is given.
    types: Option<String>,
}

/// Where the client has been cut off.
struct LastEventId(Option<i64>);

impl<S: Sync> axum::extract::FromRequestParts<S> for LastEventId {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, _: &S) -> Result<Self> {
        let Some(given) = parts.headers.get(RESUME) else { return Ok(Self(None)) };
        let number = given.to_str().ok().and_then(|text| text.parse().ok()).filter(|number| *number >= 0);
        let wrong =
            || Error::invalid("Last-Event-ID", "event id", "`Last-Event-ID` is the `id` of an event of this stream");
        number.map(Some).map(Self).ok_or_else(wrong)
    }
}

impl Takes for LastEventId {
    fn takes(said: &mut Signature<'_>) {
        said.header("Last-Event-ID", "The `id` of the last event that was read: the stream goes on after it.");
    }
}

/// The events, one after another.
struct Followed(Body);

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

async fn follow(
    call: Call,
    Query(asked): Query<Asked>,
    LastEventId(after): LastEventId,
    headers: HeaderMap,
) -> Result<Followed> {
    let types = asked.types.as_deref().map(types).transpose()?;
    let place = Place::take(&call.app, call.org_id())?;
    // Before the end of the chain is read: what is added from here on wakes us.
    let grown = call.app.streams().grown.subscribe();
    let mut conn = call.app.pool().acquire().await?;
    let end = trail::end(&mut conn, call.org_id()).await?;
    drop(conn);
    let reader = Reader {
        app: call.app.clone(),
        headers,
        peer: call.peer,
        types,
        after: after.map_or(end, |after| after.min(end)),
        waiting: VecDeque::new(),
        grown,
        begun: false,
        place,
    };
    let frames = futures::stream::unfold(reader, |mut reader| async move {
        let frame = reader.next().await?;
        Some((Ok::<_, Infallible>(frame), reader))
    });
    Ok(Followed(Body::from_stream(frames)))
}

/// The types that are named, each one that there is.
fn types(given: &str) -> Result<BTreeSet<String>> {
    let known = || EventType::ALL.iter().map(|kind| kind.as_str());
    let named = |name: &str| {
        let name = name.trim();
        let wrong =
            || Error::invalid("types", "event types", format!("`{name}` is no event type{}", meant(name, known())));
        known().any(|kind| kind == name).then(|| name.to_owned()).ok_or_else(wrong)
    };
    given.split(',').map(named).collect()
}

/// One stream: who reads, what, and how far.
struct Reader {
    app: App,
    headers: HeaderMap,
    peer: IpAddr,
    types: Option<BTreeSet<String>>,
    after: i64,
    /// With their places in the chain.
    waiting: VecDeque<(i64, Recorded)>,
    grown: watch::Receiver<u64>,
    begun: bool,
    place: Place,
}

impl Reader {
    /// The next piece of the stream; `None` ends it.
    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.begun, true) {
            return Some(Bytes::from_static(b": open\n\n"));
        }
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return told(&event);
            }
            self.grown.mark_unchanged();
            if let Err(error) = self.read().await {
                tracing::debug!(%error, "an event stream ended");
                return None;
            }
            if !self.waiting.is_empty() {
                continue;
            }
            tokio::select! {
                () = self.app.shutdown().cancelled() => return None,
                grown = self.grown.changed() => grown.ok()?,
                () = tokio::time::sleep(HEARTBEAT) => return Some(Bytes::from_static(b": still here\n\n")),
            }
        }
    }

    /// Reads on, as far as the caller may still.
    async fn read(&mut self) -> Result<()> {
        loop {
            let known = authentication::known(&self.app, &self.headers, self.peer).await?;
            known.caller.may(ACCESS, Some(SCOPE)).map_err(Error::Refused)?;
            if known.caller.org_id != self.place.org_id {
                return Err(Error::NotFound { kind: "organization" });
            }
            let mut conn = self.app.pool().acquire().await?;
            let events = trail::since(&mut conn, &self.place.org_id, self.after, BATCH).await?;
            if events.is_empty() {
                return Ok(());
            }
            for event in events {
                self.after = self.after.saturating_add(1);
                if self.types.as_ref().is_none_or(|types| types.contains(&event.event_type)) {
                    self.waiting.push_back((self.after, event));
                }
            }
            if !self.waiting.is_empty() {
                return Ok(());
            }
        }
    }
}

fn told((sequence, event): &(i64, Recorded)) -> Option<Bytes> {
    let data = serde_json::to_string(event).ok()?;
    Some(format!("id: {sequence}\nevent: {}\ndata: {data}\n\n", event.event_type).into())
}

#[cfg(test)]
mod tests;
