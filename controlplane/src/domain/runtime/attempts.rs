//! Attempts: one try at a task, under a lease that only its holder can keep.
//!
//! "A lease token (UUID) issued at creation." "At most one active attempt exists per task."
//! "Heartbeats are required to keep a lease."
//!
//! The token is shown once, kept as SHA-256, and proven by every write of a worker. A lease that
//! has ended is lost, whether or not the sweeper has been there: by the database's clock alone.

mod complete;
mod ending;
mod grant;
mod http;
mod lease;
mod store;

use contract::{Access, Scope, Timestamp};
use platform::Result;
use platform::http::routes::Routes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use ending::{Ending, end, settle, settle_as};
pub use lease::live;
pub use store::{ask_to_stop, expired, find, latest, lock, lock_active, of_task};

use super::recovery::{FailureKind, Level};

/// What whoever has lost a lease token does.
const LEASE_LOST: &str = "let the lease end, after which the task is claimed anew";

/// The route whose requests are counted for the attempt.
pub const HEARTBEAT: &str = "/v2/runtime/attempts/{attempt_id}/heartbeat";

pub fn routes() -> Routes {
    use Access::{Developer, Member};
    Routes::new()
        .post("/v2/runtime/tasks/{task_id}/attempts", Developer, Scope::Agent, http::create)
        .says("Makes an attempt; the answer alone holds its lease token.")
        .secret("lease_token", LEASE_LOST)
        .post("/v2/runtime/tasks/{task_id}/claim", Developer, Scope::Agent, http::create_claimed)
        .says("Makes an attempt and claims it.")
        .secret("lease_token", LEASE_LOST)
        .post("/v2/runtime/tasks/claim-next", Developer, Scope::Agent, http::claim_next)
        .says("Claims whatever waits: by priority, then by age.")
        .secret("lease_token", LEASE_LOST)
        .ours()
        .get("/v2/runtime/attempts/{attempt_id}", Member, Scope::Agent, http::get)
        .says("Reads an attempt.")
        .put("/v2/runtime/attempts/{attempt_id}/claim", Developer, Scope::Agent, http::claim)
        .says("Claims a pending attempt.")
        .put(HEARTBEAT, Developer, Scope::Agent, http::heartbeat)
        .says("Extends the lease.")
        .put("/v2/runtime/attempts/{attempt_id}/complete", Developer, Scope::Agent, complete::complete)
        .says("Ends an attempt, with or without success.")
        .post("/v2/runtime/attempts/{attempt_id}/fail", Developer, Scope::Agent, complete::fail)
        .says("Ends an attempt that failed.")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::Type, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum AttemptStatus {
    Pending,
    Running,
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
}

impl AttemptStatus {
    /// Every change of state there is.
    pub const TURNS: [(Self, Self); 7] = [
        (Self::Pending, Self::Running),
        (Self::Pending, Self::TimedOut),
        (Self::Pending, Self::Cancelled),
        (Self::Running, Self::Succeeded),
        (Self::Running, Self::Failed),
        (Self::Running, Self::TimedOut),
        (Self::Running, Self::Cancelled),
    ];

    pub fn is_active(self) -> bool {
        Self::TURNS.iter().any(|(from, _)| *from == self)
    }
}

/// An attempt as it is stored and, but for what is skipped, answered.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Attempt {
    pub id: String,
    pub org_id: String,
    pub task_id: String,
    pub attempt_number: i32,
    pub agent_id: Option<String>,
    pub branch_id: Option<String>,
    pub status: AttemptStatus,
    pub retry_count: i32,
    pub max_retries: i32,
    #[serde(skip)]
    pub lease_token_sha256: Vec<u8>,
    #[serde(skip)]
    pub lease_ttl_secs: i32,
    pub lease_expires_at: Timestamp,
    pub last_heartbeat_at: Option<Timestamp>,
    pub heartbeat_count: i32,
    pub progress: Option<Value>,
    pub started_at: Option<Timestamp>,
    #[serde(skip)]
    pub runtime_ends_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub failure_kind: Option<FailureKind>,
    pub failure_reason: Option<String>,
    pub result: Option<Value>,
    pub recovery_level: Option<Level>,
    pub recovers_attempt_id: Option<String>,
    pub model_hint: Option<String>,
    /// Its holder is asked to stop soon.
    pub cancel_requested: bool,
    /// Who holds the lease: whoever made something does not approve it.
    #[serde(skip)]
    pub held_by: String,
    #[serde(skip)]
    pub completion_sha256: Option<Vec<u8>>,
    #[serde(skip)]
    pub completion: Option<Value>,
    pub version: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Attempt {
    /// Changes the state, if there is such a change.
    pub fn turn(&mut self, to: AttemptStatus, now: Timestamp) -> Result<()> {
        if !AttemptStatus::TURNS.contains(&(self.status, to)) {
            return Err(lease::state_conflict(self, "not_running"));
        }
        self.status = to;
        if !to.is_active() {
            self.completed_at = Some(now);
        }
        Ok(())
    }

    /// When the lease ends, heartbeats or not.
    pub fn ends_at(&self) -> Timestamp {
        self.runtime_ends_at.map_or(self.lease_expires_at, |end| end.min(self.lease_expires_at))
    }
}

#[cfg(test)]
mod tests;
