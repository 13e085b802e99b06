//! `GET /v1/events/stream`: the organization's chain as it grows, as server-sent events.
//!
//! The `id` of an event is its sequence in the chain, which has no gaps: a client that comes back
//! with `Last-Event-ID`, to whatever replica, misses nothing and sees nothing twice. Who follows, and for
//! how long, is [`platform::events::following`]'s.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use axum::http::HeaderMap;
use bytes::Bytes;
use contract::{Access, Scope};
use platform::database::notifications::{hear, listen};
use platform::events::EventType;
use platform::events::following::{self, EventSource, EventStream, HEARTBEAT, LastEventId, strange};
use platform::events::trail::{self, Recorded};
use platform::http::call::Call;
use platform::http::json::Query;
use platform::http::routes::Routes;
use platform::http::suggestion::meant;
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::watch;

use crate::domain::authentication::reader::Reader;

/// A listener that was lost is made anew.
const PAUSE: Duration = Duration::from_secs(1);
const BATCH: i64 = 100;

const ACCESS: Access = Access::Auditor;
const SCOPE: Scope = Scope::AuditRead;

pub fn routes() -> Routes {
    Routes::new()
        .get("/v1/events/stream", ACCESS, SCOPE, follow)
        .says("Follows the organization's events as they happen, as server-sent events.")
        .ours()
}

/// Wakes the streams whenever some chain has grown, until shutdown.
pub async fn work(app: App) {
    let mut listener = None;
    while !app.shutdown().is_cancelled() {
        if listener.is_none() {
            listener = listen(app.pool(), "iam_events").await;
            // What was told while nobody listened.
            app.streams().wake();
        }
        let heard = tokio::select! {
            () = app.shutdown().cancelled() => break,
            heard = hear(listener.as_mut()) => heard.is_ok(),
            () = tokio::time::sleep(PAUSE), if listener.is_none() => false,
        };
        if heard {
            app.streams().wake();
        } else {
            listener = None;
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StreamQuery {
    /// Event types, with commas between; all unless it is given.
    types: Option<String>,
}

async fn follow(
    call: Call,
    Query(asked): Query<StreamQuery>,
    LastEventId(after): LastEventId,
    headers: HeaderMap,
) -> Result<EventStream> {
    let types = asked.types.as_deref().map(types).transpose()?;
    let number = |text: String| text.parse::<i64>().ok().filter(|number| *number >= 0).ok_or_else(strange);
    let after = after.map(number).transpose()?;
    let reader = Reader::of(&call, headers, ACCESS, SCOPE)?;
    // Before the end of the chain is read: what is added from here on wakes us.
    let grown = call.app.streams().grown();
    let mut conn = call.app.pool().acquire().await?;
    let end = trail::end(&mut conn, call.org_id()).await?;
    drop(conn);
    let after = after.map_or(end, |after| after.min(end));
    Ok(EventStream::of(Chain { reader, types, after, waiting: VecDeque::new(), grown }))
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
struct Chain {
    reader: Reader,
    types: Option<BTreeSet<String>>,
    after: i64,
    /// With their places in the chain.
    waiting: VecDeque<(i64, Recorded)>,
    grown: watch::Receiver<u64>,
}

impl EventSource for Chain {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some((sequence, event)) = self.waiting.pop_front() {
                return following::told(sequence, &event.event_type, &event);
            }
            self.grown.mark_unchanged();
            if let Err(error) = self.read().await {
                following::ended(&error);
                return None;
            }
            if !self.waiting.is_empty() {
                continue;
            }
            tokio::select! {
                () = self.reader.app().shutdown().cancelled() => return None,
                grown = self.grown.changed() => grown.ok()?,
                () = tokio::time::sleep(HEARTBEAT) => return Some(following::silence()),
            }
        }
    }
}

impl Chain {
    /// Reads on, as far as the reader may still.
    async fn read(&mut self) -> Result<()> {
        loop {
            let (_, mut conn) = self.reader.admitted().await?;
            let events = trail::since(&mut conn, self.reader.org_id(), self.after, BATCH).await?;
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

#[cfg(test)]
mod tests;
