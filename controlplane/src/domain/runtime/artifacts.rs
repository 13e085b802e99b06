//! Artifacts: what attempts have made, and what validators said of it.
//!
//! "`content_hash` (`sha256:` plus hex)"; "`branch_id` (null means mainline)". "Promoting an
//! already-mainline artifact is a no-op; promotion keeps `validation_status`, `confidence`,
//! `content_hash`, `artifact_key` and the artifact id."
//!
//! The same content published again under the same key by the same attempt is the same artifact.
//! On the mainline of a project one artifact of a key stands; the one before is superseded by it.

mod http;
pub mod lineage;
mod promotion;
mod store;
mod validation;

use contract::{Access, Code, Scope, Timestamp};
use platform::http::routes::Routes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use store::{find, last_of_task, of_task};
pub use validation::{Validation, of_attempt as validations_of_attempt};

pub fn routes() -> Routes {
    use Access::{Developer, Member};
    const ALL: &str = "/v2/runtime/artifacts";
    Routes::new()
        .post(ALL, Developer, Scope::Agent, http::publish)
        .says("Publishes an artifact of a running attempt.")
        .refuses(&[Code::NotFound])
        .get(ALL, Member, Scope::Agent, http::list)
        .says("Lists artifacts, newest first.")
        .post("/v2/runtime/artifacts/{artifact_id}/promote", Developer, Scope::Agent, promotion::promote)
        .says("Puts an artifact on the mainline.")
        .post("/v2/runtime/artifacts/{artifact_id}/validations", Developer, Scope::Agent, validation::record)
        .says("Records what a validator says of an artifact.")
        .get("/v2/lineage/{artifact_id}/upstream", Member, Scope::Agent, lineage::upstream)
        .ours()
        .says("Tells what an artifact was made of.")
        .get("/v2/lineage/{artifact_id}/downstream", Member, Scope::Agent, lineage::downstream)
        .ours()
        .says("Tells what was made of an artifact.")
}

/// What a validator says; of several the worst stands, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, sqlx::Type, JsonSchema)]
#[schemars(rename = "ValidationResult")]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Verdict {
    Skipped,
    Pass,
    Warning,
    Fail,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Artifact {
    pub id: String,
    #[serde(skip)]
    pub org_id: String,
    pub project_id: String,
    pub task_id: String,
    pub attempt_id: String,
    pub kind: String,
    pub content_hash: String,
    pub confidence: f64,
    pub artifact_key: Option<String>,
    pub branch_id: Option<String>,
    pub validation_status: Option<Verdict>,
    pub uri: Option<String>,
    pub depends_on: Value,
    pub metadata: Value,
    pub promoted_at: Option<Timestamp>,
    pub promoted_by: Option<String>,
    pub superseded_by: Option<String>,
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests;
