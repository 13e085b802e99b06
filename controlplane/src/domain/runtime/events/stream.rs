//! `GET /v2/runtime/events/stream`: the workflow events of a task or a project as they are appended, as server-sent
//! events.
//!
//! The `id` of an event is its place in the order in which events come to be seen: the transaction that appended it, and
//! its number in there. What a transaction appended is told once no older one can still append. So a client that comes
//! back with `Last-Event-ID`, to whatever replica, misses nothing and sees nothing twice. Who follows, and for how
//! long, is [`platform::events::following`]'s.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use axum::http::HeaderMap;
use bytes::Bytes;
use contract::runtime_tables::Table;
use contract::{Access, Scope};
use platform::events::following::{self, EventSource, EventStream, LastEventId, strange};
use platform::http::call::Call;
use platform::http::json::Query;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{WorkflowEvent, store};
use crate::domain::authentication::AuthenticatedCaller;
use crate::domain::authentication::reader::Reader;
use crate::domain::runtime::hidden::{self, RuntimeReader};
use crate::domain::runtime::{fields, tasks};

pub const ACCESS: Access = Access::Member;
pub const SCOPE: Scope = Scope::Agent;

/// How often it is looked: telling each commit to all replicas would make commits wait for each other.
const LOOK: Duration = Duration::from_millis(500);
/// Looks without an event until a comment keeps the connection open.
const SILENT_MAX: u32 = 30;
const BATCH: i64 = 100;

/// A place in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    pub xact: u64,
    pub position: i64,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.xact, self.position)
    }
}

impl FromStr for Seen {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once('-');
        let read = parts
            .and_then(|(xact, position)| Some(Self { xact: xact.parse().ok()?, position: position.parse().ok()? }));
        read.ok_or_else(strange)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct EventStreamQuery {
    /// Of one task; or with `project_id` of all tasks of a project.
    task_id: Option<String>,
    project_id: Option<String>,
}

pub async fn follow(
    call: Call,
    Query(asked): Query<EventStreamQuery>,
    LastEventId(after): LastEventId,
    headers: HeaderMap,
) -> Result<EventStream> {
    let about = match asked {
        EventStreamQuery { task_id: None, project_id: None } => {
            return Err(Error::invalid("task_id", "required", "`task_id` or `project_id` is required"));
        }
        EventStreamQuery { task_id, project_id } => {
            store::EventScope { task_id, project_id: fields::maybe_name("project_id", project_id.as_deref())? }
        }
    };
    let after = after.map(|text| text.parse()).transpose()?;
    let reader = Reader::of(&call, headers, ACCESS, SCOPE)?;
    let mut conn = call.app.pool().acquire().await?;
    if let Some(task_id) = &about.task_id {
        tasks::find(&mut conn, call.org_id(), task_id).await?;
    }
    let end = store::end(&mut conn).await?;
    drop(conn);
    let after = after.map_or(end, |after: Seen| after.min(end));
    Ok(EventStream::of(Workflow { reader, about, after, waiting: VecDeque::new() }))
}

/// One stream: who reads, what, and how far.
struct Workflow {
    reader: Reader,
    about: store::EventScope,
    after: Seen,
    waiting: VecDeque<(Seen, WorkflowEvent)>,
}

impl EventSource for Workflow {
    async fn next(&mut self) -> Option<Bytes> {
        for _ in 0..SILENT_MAX {
            if self.waiting.is_empty()
                && let Err(error) = self.read().await
            {
                following::ended(&error);
                return None;
            }
            if let Some((seen, event)) = self.waiting.pop_front() {
                self.after = seen;
                return following::told(seen, &event.kind, &event);
            }
            self.reader.app().shutdown().run_until_cancelled(tokio::time::sleep(LOOK)).await?;
        }
        Some(following::silence())
    }
}

impl Workflow {
    /// Reads on, as far as the reader may still.
    async fn read(&mut self) -> Result<()> {
        let (AuthenticatedCaller { caller, agent_id, .. }, mut conn) = self.reader.admitted().await?;
        let runtime_reader =
            RuntimeReader { caller: &caller, agent_id: agent_id.as_deref(), now: self.reader.app().now() };
        hidden::permit(&mut conn, runtime_reader, &[Table::WorkflowEvents]).await?;
        self.waiting = store::seen(&mut conn, self.reader.org_id(), &self.about, self.after, BATCH).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
