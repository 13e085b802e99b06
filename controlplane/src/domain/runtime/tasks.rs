//! Tasks: pieces of work, dispatched once and tried until they are done.
//!
//! "Idempotent dispatch: when `work_item_key` is set, at most one non-terminal task exists per key
//! per organization; creating a task with a key that has a pending or active task returns that
//! existing task." "Cancelling a terminal task returns 409."
//!
//! A task is `pending` until an attempt of it is claimed and `active` while one runs; a failed
//! attempt makes it `pending` again as long as it has retries.

mod cancel;
mod detail;
mod dispatch;
mod http;
mod store;

use contract::{Access, Entropy, Scope, Timestamp, ids};
use platform::http::routes::Routes;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use store::{TaskRequest, dispatch, find, is_awaiting, lock, lock_of_attempt, next, overdue, save};

use super::actor;

pub fn routes() -> Routes {
    use Access::{Developer, Member};
    const ALL: &str = "/v2/runtime/tasks";
    const ONE: &str = "/v2/runtime/tasks/{task_id}";
    Routes::new()
        .post(ALL, Developer, Scope::Agent, dispatch::create)
        .says("Makes a task, or answers the live one with the same key.")
        .get(ALL, Member, Scope::Agent, http::list)
        .says("Lists tasks, newest first.")
        .get(ONE, Member, Scope::Agent, http::get)
        .says("Reads a task with its latest attempt.")
        .get("/v2/runtime/tasks/{task_id}/detail", Member, Scope::Agent, detail::get)
        .says("Reads a task with all that belongs to it.")
        .post("/v2/runtime/tasks/{task_id}/cancel", Developer, Scope::Agent, cancel::cancel)
        .says("Cancels a task and its active attempt.")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::Type, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum TaskStatus {
    Pending,
    Active,
    Completed,
    Failed,
    Cancelled,
}

impl TaskStatus {
    /// Every change of state there is.
    pub const TURNS: [(Self, Self); 8] = [
        (Self::Pending, Self::Active),
        // A person accepts what there is.
        (Self::Pending, Self::Completed),
        (Self::Pending, Self::Failed),
        (Self::Pending, Self::Cancelled),
        (Self::Active, Self::Pending),
        (Self::Active, Self::Completed),
        (Self::Active, Self::Failed),
        (Self::Active, Self::Cancelled),
    ];

    pub fn is_terminal(self) -> bool {
        !Self::TURNS.iter().any(|(from, _)| *from == self)
    }
}

/// A task as it is stored and, but for what is skipped, answered.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Task {
    pub id: String,
    pub org_id: String,
    pub project_id: String,
    pub kind: String,
    pub status: TaskStatus,
    pub work_item_key: Option<String>,
    pub priority: i32,
    pub retry_count: i32,
    pub max_retries: i32,
    pub metadata: Value,
    pub not_before: Option<Timestamp>,
    /// Stands in `metadata` too.
    #[serde(skip)]
    pub deadline: Option<Timestamp>,
    #[serde(skip)]
    pub max_runtime_secs: Option<i32>,
    pub completed_at: Option<Timestamp>,
    pub failure_reason: Option<String>,
    pub cancel_reason: Option<String>,
    /// What the next attempt should do otherwise.
    pub next_attempt_hint: Option<Value>,
    /// Nobody may try it until a person has decided.
    pub blocked_reason: Option<String>,
    /// The task whose artifact this one repairs.
    pub repairs: Option<String>,
    /// The repair it waits for.
    pub awaits_repair: Option<String>,
    pub created_by: String,
    pub version: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Task {
    /// One that the platform makes itself.
    pub fn fresh(entropy: &Entropy, org_id: &str, project_id: &str, priority: i32, now: Timestamp) -> Self {
        Self {
            id: ids::fresh(now, entropy),
            org_id: org_id.to_owned(),
            project_id: project_id.to_owned(),
            kind: String::new(),
            status: TaskStatus::Pending,
            work_item_key: None,
            priority,
            retry_count: 0,
            max_retries: dispatch::RETRIES_DEFAULT,
            metadata: Value::Null,
            not_before: None,
            deadline: None,
            max_runtime_secs: None,
            completed_at: None,
            failure_reason: None,
            cancel_reason: None,
            next_attempt_hint: None,
            blocked_reason: None,
            repairs: None,
            awaits_repair: None,
            created_by: actor::SYSTEM.to_owned(),
            version: 1,
            created_at: now,
            updated_at: now,
        }
    }

    /// Changes the state, if there is such a change.
    pub fn turn(&mut self, to: TaskStatus, now: Timestamp) -> Result<()> {
        if !TaskStatus::TURNS.contains(&(self.status, to)) {
            return Err(self.ended());
        }
        self.status = to;
        if to != TaskStatus::Pending {
            self.not_before = None;
        }
        if to.is_terminal() {
            self.completed_at = Some(now);
            (self.blocked_reason, self.awaits_repair) = (None, None);
        }
        Ok(())
    }

    /// 409: nothing more happens to this task.
    fn ended(&self) -> Error {
        Error::state_conflict("task_terminal", "the task has ended", &json!({"status": self.status}))
    }

    /// 409 if the task has ended.
    pub fn open(&self) -> Result<()> {
        if self.status.is_terminal() { Err(self.ended()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
