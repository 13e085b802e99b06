//! `POST /v2/runtime/tasks`: makes a task, or answers the live one that has its key.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use contract::Timestamp;
use contract::runtime_tables::Table;
use platform::http::call::Call;
use platform::http::idempotency::REPLAYED;
use platform::http::json::Json;
use platform::http::signature::{Answers, Signature};
use platform::http::text;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::http::TaskView;
use super::{Task, store};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::events::{self, EventSubject};
use crate::domain::runtime::{actor, fields, hidden};

pub const RETRIES_DEFAULT: i32 = 3;
const RETRIES_MAX: i32 = 20;
const PRIORITY_MAX: i32 = 1_000;
const RUNTIME_SECS_MAX: i32 = 30 * 24 * 3_600;

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "TaskDispatch")]
#[serde(deny_unknown_fields)]
pub struct Dispatch {
    kind: String,
    project_id: String,
    work_item_key: Option<String>,
    max_retries: Option<i64>,
    #[serde(default)]
    metadata: fields::Object,
    #[serde(default)]
    priority: i64,
}

/// The task that was made, or the live one with the same key.
pub enum Dispatched {
    Made(TaskView),
    Known(TaskView),
}

impl IntoResponse for Dispatched {
    fn into_response(self) -> Response {
        match self {
            Self::Made(task) => Json(task).into_response(),
            Self::Known(task) => ([(REPLAYED, "true")], Json(task)).into_response(),
        }
    }
}

impl Answers for Dispatched {
    fn answers(said: &mut Signature<'_>) {
        said.answers::<TaskView>(StatusCode::OK);
    }
}

pub async fn create(cx: Call, Json(dispatch): Json<Dispatch>) -> Result<Dispatched> {
    let mut tx = cx.begin().await?;
    let mut change = Change::begin(&cx.app, &mut tx).await?;
    let task = dispatch.admitted(&cx, change.now)?;
    let (id, is_new) = store::dispatch(change.tx, &task).await?;
    if is_new {
        let payload = json!({"action": "created", "kind": task.kind});
        events::append(&mut change, EventSubject::task(&task), "task_lifecycle", payload, &task.created_by).await?;
    } else {
        hidden::permit(&mut tx, (&cx).into(), &[Table::Tasks, Table::TaskAttempts]).await?;
    }
    let stored = store::find(&mut tx, cx.org_id(), &id).await?;
    let answer = TaskView::of(&mut tx, stored).await?;
    tx.commit().await?;
    if is_new {
        cx.app.work_waits().notify_waiters();
    }
    Ok(if is_new { Dispatched::Made(answer) } else { Dispatched::Known(answer) })
}

impl Dispatch {
    fn admitted(self, cx: &Call, now: Timestamp) -> Result<Task> {
        let deadline = deadline(self.metadata.get("deadline"), now)?;
        let max_runtime_secs = max_runtime(self.metadata.get("max_runtime_secs"))?;
        let project_id = fields::name("project_id", &self.project_id)?;
        let priority = fields::integer("priority", self.priority, -PRIORITY_MAX, PRIORITY_MAX)?;
        let key = |key: &String| text::checked("work_item_key", key, fields::KEY_MAX);
        Ok(Task {
            kind: fields::name("kind", &self.kind)?,
            work_item_key: self.work_item_key.as_ref().map(key).transpose()?,
            max_retries: fields::integer(
                "max_retries",
                self.max_retries.unwrap_or(RETRIES_DEFAULT.into()),
                0,
                RETRIES_MAX,
            )?,
            metadata: fields::object("metadata", self.metadata)?,
            deadline,
            max_runtime_secs,
            created_by: actor::of(&cx.caller),
            ..Task::fresh(cx.app.entropy(), cx.org_id().as_str(), &project_id, priority, now)
        })
    }
}

/// `metadata.deadline`: when the task fails if it has not ended.
fn deadline(given: Option<&Value>, now: Timestamp) -> Result<Option<Timestamp>> {
    let Some(given) = given else { return Ok(None) };
    let refused = || {
        let message = "`metadata.deadline` is a time to come, such as 2030-01-31T12:00:00Z";
        Error::invalid("metadata.deadline", "future", message)
    };
    let deadline: Timestamp = serde_json::from_value(given.clone()).map_err(|_| refused())?;
    if deadline > now { Ok(Some(deadline)) } else { Err(refused()) }
}

/// `metadata.max_runtime_secs`: how long one attempt may run, heartbeats or not.
fn max_runtime(given: Option<&Value>) -> Result<Option<i32>> {
    const FIELD: &str = "metadata.max_runtime_secs";
    let Some(given) = given else { return Ok(None) };
    let secs = given.as_i64().unwrap_or_default();
    fields::integer(FIELD, secs, 1, RUNTIME_SECS_MAX).map(Some)
}
