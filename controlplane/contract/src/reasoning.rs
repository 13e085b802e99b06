//! Records of the reasoning ledger: what a data plane's tools tell, and the control plane shows.
//!
//! Comments that are not documentation stay so: documentation is in the schemas of both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

// A session told again.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningStory {
    pub session_id: String,
    pub steps: Vec<ReasoningStep>,
    /// Steps in the whole session.
    pub step_count: i64,
    /// Null where it was not asked for.
    pub chain_valid: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub break_detected_at: Option<ReasoningBreak>,
}

// One step of a session.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningStep {
    pub trace_id: String,
    pub agent_id: String,
    pub step_number: i64,
    pub step_type: String,
    pub content: String,
    pub input: Option<Value>,
    pub output: Option<Value>,
    pub model_name: Option<String>,
    pub token_count: Option<i64>,
    pub latency_ms: Option<i64>,
    pub importance: f64,
    pub metadata: Map<String, Value>,
    pub prev_hash: String,
    pub hash: String,
    pub created_at: String,
}

/// The first step that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningBreak {
    pub trace_id: String,
    pub step_number: i64,
    pub expected_hash: String,
    pub actual_hash: String,
}

// A session in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningSession {
    pub session_id: String,
    /// Who began it.
    pub agent_id: String,
    pub started_at: String,
    pub last_step_at: String,
    pub step_count: i64,
    pub head_hash: String,
}
