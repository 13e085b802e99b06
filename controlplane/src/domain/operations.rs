//! Operations: long work, such as a load, that other requests can look at and cancel while it runs.
//!
//! An operation begins with the first byte of the request that does the work, under the id that whoever sends it has
//! chosen (`Sluice-Operation`). The process that runs it writes each second how far it is, and reads whether somebody
//! has asked for its end. One that is silent for half a minute has failed, for its process is gone. Operations are kept
//! for a day. Who started one, owners and admins see it; to everybody else it is absent.

mod body_watch;
mod http;
mod progress_events;
mod running;
mod store;
#[cfg(test)]
mod tests;
mod wait;

use chrono::Duration;
use contract::body::Problem;
use contract::caller::Credential;
use contract::load::Loaded;
use contract::{Access, Caller, Code, EnvId, OperationId, OrgId, Scope, Timestamp};
use platform::Error;
use platform::http::routes::Routes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use body_watch::{BodyWatch, watched};
pub use http::found;
pub use running::RunningOperation;
pub use store::sweep;

/// Of all its routes that read.
const READERS: (Access, Scope) = (Access::Member, Scope::QueryRead);
/// How long an operation is kept after its end.
const KEPT: Duration = Duration::hours(24);
/// An operation whose process has been silent for so long is over.
const SILENT_MAX: Duration = Duration::seconds(30);

pub fn routes() -> Routes {
    let (access, scope) = READERS;
    Routes::new()
        .get("/v1/operations/{operation_id}", access, scope, http::find)
        .says("Reads long work, such as a load: how far it is, and how it ended. Who started it, owners and admins may, for a day.")
        .get("/v1/operations/{operation_id}/events", access, scope, progress_events::follow)
        .says("Streams the progress of long work as server-sent events, until its end.")
        .post("/v1/operations/{operation_id}/cancel", access, Scope::QueryWrite, http::cancel)
        .says("Asks for the end of long work. A load that is cancelled has loaded nothing; one that ends meanwhile has loaded all.")
        .all_ours()
}

/// Where an operation is found.
pub fn location(operation_id: &OperationId) -> String {
    format!("/v1/operations/{operation_id}")
}

/// An operation of an organization.
#[derive(Debug, Clone)]
pub struct OperationKey {
    pub org_id: OrgId,
    pub operation_id: OperationId,
}

contract::named! {
    /// The kind of work.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum OperationKind {
        Load = "load",
    }
}

contract::named! {
    /// How it stands; all but the first are final.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum OperationStatus {
        Running = "running",
        Succeeded = "succeeded",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

impl OperationStatus {
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Running)
    }
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperationProgress {
    /// Of `unit`, those that have come.
    pub done: i64,
    /// Those that there will be, as far as that was said before.
    pub total: Option<i64>,
    /// `bytes`.
    pub unit: &'static str,
    /// Rows that have come, and at the end rows that were loaded; of Parquet at its end alone.
    pub rows: Option<i64>,
}

/// Why it failed: code and message of an error body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationError {
    pub code: String,
    pub stable_code: String,
    pub message: String,
}

impl OperationError {
    pub fn of(error: &Error) -> Self {
        let Problem { code, message, .. } = error.problem();
        Self::told(code, &message)
    }

    /// Of one whose process is gone.
    fn silent() -> Self {
        let message = "the process that ran it has ended: all of the file was loaded or nothing, and the table says \
                       which; if nothing, send it again";
        Self::told(Code::ServiceUnavailable, message)
    }

    fn told(code: Code, message: &str) -> Self {
        // the database holds no U+0000, which a message may have out of a file: its end would not be written down
        let message = message.replace('\0', "\u{fffd}");
        Self { code: code.control_plane().to_owned(), stable_code: code.stable().to_owned(), message }
    }
}

/// How it ended.
#[derive(Debug, Clone)]
pub enum OperationEnd {
    Succeeded(Loaded),
    Failed(OperationError),
    Cancelled,
}

impl OperationEnd {
    const fn status(&self) -> OperationStatus {
        match self {
            Self::Succeeded(_) => OperationStatus::Succeeded,
            Self::Failed(_) => OperationStatus::Failed,
            Self::Cancelled => OperationStatus::Cancelled,
        }
    }
}

/// An operation as it is answered.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OperationRecord {
    pub id: OperationId,
    pub env_id: EnvId,
    pub kind: OperationKind,
    pub status: OperationStatus,
    pub progress: OperationProgress,
    /// A user or a key.
    pub created_by: String,
    /// Somebody has asked for its end, which `status` tells when it has come.
    pub cancel_requested: bool,
    pub started_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// Of one that failed.
    pub error: Option<OperationError>,
    /// Of one that succeeded: what was loaded, without the first rows of a dry run.
    pub result: Option<Loaded>,
}

impl OperationRecord {
    /// Who started it, owners and admins; a key sees its own environment alone.
    fn is_shown_to(&self, caller: &Caller) -> bool {
        let is_in_reach = match &caller.credential {
            Credential::Key { env_id, .. } => *env_id == self.env_id,
            Credential::Session { .. } => true,
        };
        is_in_reach && (self.created_by == caller.actor_id() || Access::Admin.admits(caller.role))
    }
}
