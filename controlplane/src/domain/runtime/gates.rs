//! Gates: what a project has to be able to show before its next phase, and who signs it off.
//!
//! "Gate evaluation result: `AutoApproved` (all predicates passed and gate auto-approvable; phase
//! advances), `PendingManual` (predicates passed but human sign-off required; a review request is
//! created), `Failed` (one or more predicates failed; blocked)."
//!
//! Six gates stand for every project (`standard`); a project may have rules of its own, as versions.
//! A gate is passed by its latest evaluation alone: approved by itself, or by a review of it.

mod evaluation;
mod http;
mod predicate;
mod standard;
mod store;
#[cfg(test)]
mod tests;

use contract::{Access, Code, Scope, Timestamp};
use platform::http::routes::Routes;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use store::{evaluation, is_passed, of_project};

use predicate::Predicate;

pub fn routes() -> Routes {
    use Access::{Admin, Developer, Member};
    const ONE: &str = "/v2/gates/{gate_id}";
    Routes::new()
        .get("/v2/gates", Member, Scope::Agent, http::list)
        .says("Lists the gates.")
        .get("/v2/gates/evaluations", Member, Scope::Agent, http::evaluations)
        .says("Lists what gates were evaluated to.")
        .get(ONE, Member, Scope::Agent, http::get)
        .says("Reads a gate.")
        .put(ONE, Admin, Scope::Agent, http::define)
        .says("Gives a project a rule of its own for a gate.")
        .refuses(&[Code::InvalidRule])
        .post("/v2/gates/{gate_id}/evaluate", Developer, Scope::Agent, evaluation::evaluate)
        .says("Evaluates a gate over a bag of facts.")
        .all_ours()
}

contract::named! {
    #[derive(Serialize, JsonSchema)]
    pub enum GateId { G0 = "G0", G1 = "G1", G2 = "G2", G3 = "G3", G4 = "G4", G5 = "G5" }
}

impl GateId {
    pub fn of(text: &str) -> Result<Self> {
        Self::parse(text).ok_or(Error::NotFound { kind: "gate" })
    }

    /// The table of gates: its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::G0 => "UX Review",
            Self::G1 => "Proposal Approval",
            Self::G2 => "Architecture Review",
            Self::G3 => "Build Quality",
            Self::G4 => "Pre-Launch Review",
            Self::G5 => "Go-Live",
        }
    }

    /// The table of gates: "always manual", or "conditionally".
    pub const fn is_always_manual(self) -> bool {
        !matches!(self, Self::G2 | Self::G3)
    }

    /// "Client sign-off", "client acceptance", "final sign-off".
    pub const fn needs_client(self) -> bool {
        matches!(self, Self::G1 | Self::G4 | Self::G5)
    }
}

/// The rule of a gate, as it stands for a project.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Gate {
    pub gate_id: GateId,
    pub name: &'static str,
    /// Absent: the rule for every project that has none of its own.
    pub project_id: Option<String>,
    pub predicates: Vec<Predicate>,
    pub auto_approvable: bool,
    pub client_sign_off_required: bool,
    pub approval_role: String,
    /// 0: the standard rule.
    pub version: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::Type, JsonSchema)]
#[sqlx(type_name = "text")]
pub enum GateResult {
    AutoApproved,
    PendingManual,
    Failed,
}

/// What a gate was evaluated to. Append-only.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GateEvaluation {
    pub id: String,
    pub project_id: String,
    pub gate_id: String,
    pub gate_version: i32,
    pub task_id: Option<String>,
    pub result: GateResult,
    #[serde(skip)]
    pub facts: Value,
    pub facts_hash: String,
    pub passed_conditions: Value,
    pub failed_conditions: Value,
    pub evaluated_by: String,
    pub evaluated_at: Timestamp,
}
