//! Workflow events: what happened to a task and its attempts, in order, for good.
//!
//! "Workflow events are appended through POST /v2/runtime/events with a `kind` string;
//! `attempt_lifecycle` is a kind." "Event sequence numbers are assigned atomically per attempt."
//! "`workflow_events` is append-only."
//!
//! Numbers of an attempt begin at 1 and have no gaps: the counter stands in the attempt's row, and
//! is raised in the transaction that appends. What happens to a task outside any attempt is
//! numbered for the task.

mod http;
mod store;
mod stream;

use contract::{Access, Code, Scope, Timestamp};
use platform::http::routes::Routes;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

pub use store::{EventSubject, append, newest_of_attempt, newest_of_task};

pub fn routes() -> Routes {
    const ALL: &str = "/v2/runtime/events";
    Routes::new()
        .post(ALL, Access::Developer, Scope::Agent, http::append)
        .says("Appends an event of a running attempt.")
        .refuses(&[Code::NotFound])
        .get(ALL, Access::Member, Scope::Agent, http::list)
        .says("Lists the events of a task, in order.")
        .refuses(&[Code::NotFound])
        .get("/v2/runtime/events/stream", stream::ACCESS, stream::SCOPE, stream::follow)
        .says("Follows the events of a task or a project as they are appended, as server-sent events.")
        .refuses(&[Code::NotFound])
        .ours()
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkflowEvent {
    pub id: String,
    pub task_id: String,
    pub attempt_id: Option<String>,
    pub sequence_num: i32,
    pub kind: String,
    pub payload: Value,
    pub actor: String,
    pub created_at: Timestamp,
    /// Tells the order of what one transaction appended.
    #[serde(skip)]
    pub position: i64,
}

#[cfg(test)]
mod tests;
