//! Appending events, and reading them.

use platform::http::call::Call;
use platform::http::json::{Json, Query};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{EventSubject, WorkflowEvent, store};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::listing::{Listed, Many};
use crate::domain::runtime::{actor, attempts, fields, tasks};

const KIND_BYTES_MAX: usize = 64;

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowEventInput")]
#[serde(deny_unknown_fields)]
pub struct Addition {
    attempt_id: String,
    kind: String,
    #[serde(default)]
    payload: fields::Object,
    /// Proves that the attempt is the caller's; whoever holds it may leave it out.
    lease_token: Option<String>,
}

pub async fn append(cx: Call, Json(addition): Json<Addition>) -> Result<Json<WorkflowEvent>> {
    let kind = kind(&addition.kind)?;
    let payload = fields::object("payload", addition.payload)?;
    let mut tx = cx.begin().await?;
    let (attempt, now) = attempts::live(&cx, &mut tx, &addition.attempt_id, addition.lease_token.as_deref()).await?;
    let who = actor::agent(attempt.agent_id.as_deref(), &cx.caller);
    let mut change = Change { app: &cx.app, tx: &mut tx, now };
    let event = store::append(&mut change, EventSubject::attempt(&attempt), kind, payload, &who).await?;
    tx.commit().await?;
    Ok(Json(event))
}

fn kind(given: &str) -> Result<&str> {
    let fits = (1..=KIND_BYTES_MAX).contains(&given.len())
        && given.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.'));
    fits.then_some(given).ok_or_else(|| {
        Error::invalid("kind", "[a-z0-9_.]{1,64}", "`kind` is 1 to 64 of the characters a to z, 0 to 9, `_` and `.`")
    })
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct EventQuery {
    task_id: Option<String>,
    kind: Option<String>,
    after_sequence: Option<i32>,
}

/// "Query `task_id` UUID required."
pub async fn list(cx: Call, Query(asked): Query<EventQuery>, Many(listing): Many) -> Result<Listed<WorkflowEvent>> {
    let task_id = asked.task_id.ok_or_else(|| Error::invalid("task_id", "required", "`task_id` is required"))?;
    let mut conn = cx.app.pool().acquire().await?;
    tasks::find(&mut conn, cx.org_id(), &task_id).await?;
    let filter = store::EventFilter { task_id, kind: asked.kind, after_sequence: asked.after_sequence };
    let (rows, total) = store::page(&mut conn, cx.org_id(), &filter, &listing).await?;
    Ok(listing.answer(rows, total, store::mark, |event| event))
}
