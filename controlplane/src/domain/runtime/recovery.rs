//! Recovery: what is done about an attempt that failed, by itself or by a person.
//!
//! The levels, in this order and never for more attempts than `max_retries` and one: L1 the same
//! again, L2 with a stronger model, L3 a repair of what was made, L4 a person. What cannot go better
//! another time (a missing dependency, a denial, an empty budget) blocks the task instead, and costs
//! no retry. The step is decided in the transaction of the failure (`plan`), by rule alone
//! (`levels`).
//!
//! "POST `/v2/recovery`: records a recovery. POST `/v2/recovery/:attempt_id`: `action` (`retry`,
//! `retry_with_model`, `escalate`, `repair`, `approve`, `block`), `override_reason`."

mod derive;
mod failure;
mod http;
mod levels;
mod manual;
mod plan;
mod resume;
mod store;
#[cfg(test)]
mod tests;

use contract::{Access, Code, Scope, Timestamp};
use platform::http::routes::Routes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use derive::derived;
pub use failure::FailureKind;
pub use plan::{escalate, plan};
pub use resume::resume;
pub use store::{attempt_of, find, of_task, recent, stranded};

pub fn routes() -> Routes {
    use Access::{Developer, Member};
    const ALL: &str = "/v2/recovery";
    Routes::new()
        .post(ALL, Developer, Scope::Agent, http::record)
        .says("Records what was done about a failure.")
        .refuses(&[Code::NotFound])
        .get(ALL, Member, Scope::Agent, http::list)
        .ours()
        .says("Lists what was done about failures.")
        .post("/v2/recovery/{attempt_id}", Developer, Scope::Agent, manual::act)
        .says("Does something about an attempt.")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::Type, JsonSchema)]
#[schemars(rename = "RecoveryLevel")]
#[sqlx(type_name = "text")]
pub enum Level {
    L1,
    L2,
    L3,
    L4,
    #[serde(rename = "blocked")]
    #[sqlx(rename = "blocked")]
    Blocked,
}

/// What is done: "`action_type`".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::Type, JsonSchema)]
#[schemars(rename = "RecoveryAction")]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Action {
    Retry,
    RetryWithModel,
    Escalate,
    Repair,
    Approve,
    Block,
}

/// One thing that was done about a failure. Append-only.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Recovery {
    pub id: String,
    pub org_id: String,
    pub task_id: String,
    pub task_attempt_id: String,
    pub attempt_id: String,
    pub failure_kind: FailureKind,
    pub derived: bool,
    pub action_type: Action,
    pub kind: Action,
    pub level: Option<Level>,
    pub status: String,
    pub trigger_event: Option<String>,
    pub state_before: Value,
    pub state_after: Value,
    pub executed_by: String,
    pub model_id: Option<String>,
    pub override_reason: Option<String>,
    pub new_attempt_hint: Option<Value>,
    pub review_id: Option<String>,
    pub created_at: Timestamp,
}
