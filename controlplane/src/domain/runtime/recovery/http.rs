//! Recording what an agent has done about a failure by itself, and reading what was done.

use platform::Result;
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Action, FailureKind, Recovery, plan, store};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::events::{self, EventSubject};
use crate::domain::runtime::listing::{Listed, Records};
use crate::domain::runtime::{actor, attempts, fields, tasks};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecoveryReport {
    attempt_id: String,
    failure_kind: FailureKind,
    action_type: Action,
    #[serde(default)]
    state_before: fields::Object,
    #[serde(default)]
    state_after: fields::Object,
    trigger_event: Option<String>,
    status: Option<String>,
}

/// Keeps the record and changes nothing.
pub async fn record(cx: Call, Json(report): Json<RecoveryReport>) -> Result<Json<Recovery>> {
    let state_before = fields::object("state_before", report.state_before)?;
    let state_after = fields::object("state_after", report.state_after)?;
    let trigger_event = fields::maybe_name("trigger_event", report.trigger_event.as_deref())?;
    let status = fields::name("status", report.status.as_deref().unwrap_or("recorded"))?;
    // The rules count what they have initiated; nobody else says so.
    if status == "initiated" {
        return Err(platform::Error::invalid("status", "recorded", "`initiated` is what the platform does itself"));
    }
    let mut tx = cx.begin().await?;
    let attempt = attempts::find(&mut tx, cx.org_id(), &report.attempt_id).await?;
    let task = tasks::find(&mut tx, cx.org_id(), &attempt.task_id).await?;
    let mut change = Change::begin(&cx.app, &mut tx).await?;
    let recovery = Recovery {
        action_type: report.action_type,
        kind: report.action_type,
        status,
        trigger_event,
        state_before,
        state_after,
        executed_by: actor::of(&cx.caller),
        ..plan::begin(&change, &task, &attempt, report.failure_kind)
    };
    store::insert(change.tx, &recovery).await?;
    let payload = json!({"recovery_id": recovery.id, "action_type": recovery.action_type});
    let who = &recovery.executed_by;
    events::append(&mut change, EventSubject::attempt(&attempt), "recovery_recorded", payload, who).await?;
    tx.commit().await?;
    Ok(Json(recovery))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct RecoveryFilter {
    task_id: Option<String>,
}

pub async fn list(
    cx: Call,
    Query(filter): Query<RecoveryFilter>,
    Records(listing): Records,
) -> Result<Listed<Recovery>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, cx.org_id(), filter.task_id.as_deref(), &listing).await?;
    Ok(listing.answer(rows, total, |row| (row.created_at, row.id.clone()), |row| row))
}
