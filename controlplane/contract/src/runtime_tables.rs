//! The tables of schema `svc_runtime` as SQL reads them, column by column: what the control plane's views show and
//! what a data plane lists.
//!
//! "Runtime tables in schema `svc_runtime`: `tasks`, `task_attempts`, `model_decisions`, `llm_invocations`,
//! `artifact_instances`, `artifact_validations`, `workflow_events` …, plus `recovery_actions`. They are queryable
//! through the SQL proxy." Other tables of that schema are not. No column holds a lease token, nor what one is hashed to.

use serde::{Deserialize, Serialize};

/// The schema they are known by.
pub const SCHEMA: &str = "svc_runtime";
/// Rows of one table that one statement may read: more is refused, not cut off.
pub const ROWS_MAX: u32 = 100_000;
/// What all rows that one statement reads may come to, as JSON.
pub const BYTES_MAX: usize = 64 << 20;

crate::caller::words!(
    /// A table that SQL may read.
    Table, "table", {
        Tasks = "tasks",
        TaskAttempts = "task_attempts",
        ModelDecisions = "model_decisions",
        LlmInvocations = "llm_invocations",
        ArtifactInstances = "artifact_instances",
        ArtifactValidations = "artifact_validations",
        WorkflowEvents = "workflow_events",
        RecoveryActions = "recovery_actions",
    }
);

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Int,
    BigInt,
    Double,
    Bool,
    Moment,
    Json,
}

impl Kind {
    /// As the data plane's engine calls it.
    pub const fn engine(self) -> &'static str {
        match self {
            Self::Text => "VARCHAR",
            Self::Int => "INTEGER",
            Self::BigInt => "BIGINT",
            Self::Double => "DOUBLE",
            Self::Bool => "BOOLEAN",
            Self::Moment => "TIMESTAMP WITH TIME ZONE",
            Self::Json => "JSON",
        }
    }

    /// As PostgreSQL's `information_schema` calls it.
    pub const fn postgres(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Int => "integer",
            Self::BigInt => "bigint",
            Self::Double => "double precision",
            Self::Bool => "boolean",
            Self::Moment => "timestamp with time zone",
            Self::Json => "jsonb",
        }
    }
}

pub type Column = (&'static str, Kind);

impl Table {
    /// In the order that `*` has them.
    pub const fn columns(self) -> &'static [Column] {
        match self {
            Self::Tasks => &TASKS,
            Self::TaskAttempts => &TASK_ATTEMPTS,
            Self::ModelDecisions => &MODEL_DECISIONS,
            Self::LlmInvocations => &LLM_INVOCATIONS,
            Self::ArtifactInstances => &ARTIFACT_INSTANCES,
            Self::ArtifactValidations => &ARTIFACT_VALIDATIONS,
            Self::WorkflowEvents => &WORKFLOW_EVENTS,
            Self::RecoveryActions => &RECOVERY_ACTIONS,
        }
    }
}

const TASKS: [Column; 23] = [
    ("id", Kind::Text),
    ("org_id", Kind::Text),
    ("project_id", Kind::Text),
    ("kind", Kind::Text),
    ("status", Kind::Text),
    ("work_item_key", Kind::Text),
    ("priority", Kind::Int),
    ("retry_count", Kind::Int),
    ("max_retries", Kind::Int),
    ("metadata", Kind::Json),
    ("not_before", Kind::Moment),
    ("deadline", Kind::Moment),
    ("completed_at", Kind::Moment),
    ("failure_reason", Kind::Text),
    ("cancel_reason", Kind::Text),
    ("next_attempt_hint", Kind::Json),
    ("blocked_reason", Kind::Text),
    ("repairs", Kind::Text),
    ("awaits_repair", Kind::Text),
    ("created_by", Kind::Text),
    ("version", Kind::Int),
    ("created_at", Kind::Moment),
    ("updated_at", Kind::Moment),
];

const TASK_ATTEMPTS: [Column; 24] = [
    ("id", Kind::Text),
    ("org_id", Kind::Text),
    ("task_id", Kind::Text),
    ("attempt_number", Kind::Int),
    ("agent_id", Kind::Text),
    ("branch_id", Kind::Text),
    ("status", Kind::Text),
    ("retry_count", Kind::Int),
    ("max_retries", Kind::Int),
    ("lease_expires_at", Kind::Moment),
    ("last_heartbeat_at", Kind::Moment),
    ("heartbeat_count", Kind::Int),
    ("progress", Kind::Json),
    ("started_at", Kind::Moment),
    ("completed_at", Kind::Moment),
    ("failure_kind", Kind::Text),
    ("failure_reason", Kind::Text),
    ("result", Kind::Json),
    ("recovery_level", Kind::Text),
    ("recovers_attempt_id", Kind::Text),
    ("model_hint", Kind::Text),
    ("cancel_requested", Kind::Bool),
    ("created_at", Kind::Moment),
    ("updated_at", Kind::Moment),
];

const MODEL_DECISIONS: [Column; 11] = [
    ("id", Kind::Text),
    ("org_id", Kind::Text),
    ("task_id", Kind::Text),
    ("attempt_id", Kind::Text),
    ("model_id", Kind::Text),
    ("routing_reason", Kind::Text),
    ("confidence", Kind::Double),
    ("fallback_used", Kind::Bool),
    ("cost_estimate", Kind::Double),
    ("context", Kind::Json),
    ("created_at", Kind::Moment),
];

const LLM_INVOCATIONS: [Column; 12] = [
    ("id", Kind::Text),
    ("org_id", Kind::Text),
    ("task_id", Kind::Text),
    ("decision_id", Kind::Text),
    ("model_id", Kind::Text),
    ("input_tokens", Kind::BigInt),
    ("output_tokens", Kind::BigInt),
    ("cost_usd", Kind::Double),
    ("latency_ms", Kind::BigInt),
    ("prompt_hash", Kind::Text),
    ("error", Kind::Text),
    ("created_at", Kind::Moment),
];

const ARTIFACT_INSTANCES: [Column; 18] = [
    ("id", Kind::Text),
    ("org_id", Kind::Text),
    ("project_id", Kind::Text),
    ("task_id", Kind::Text),
    ("attempt_id", Kind::Text),
    ("kind", Kind::Text),
    ("content_hash", Kind::Text),
    ("confidence", Kind::Double),
    ("artifact_key", Kind::Text),
    ("branch_id", Kind::Text),
    ("validation_status", Kind::Text),
    ("uri", Kind::Text),
    ("depends_on", Kind::Json),
    ("metadata", Kind::Json),
    ("promoted_at", Kind::Moment),
    ("promoted_by", Kind::Text),
    ("superseded_by", Kind::Text),
    ("created_at", Kind::Moment),
];

const ARTIFACT_VALIDATIONS: [Column; 9] = [
    ("id", Kind::Text),
    ("org_id", Kind::Text),
    ("artifact_id", Kind::Text),
    ("validator_kind", Kind::Text),
    ("result", Kind::Text),
    ("evidence", Kind::Json),
    ("message", Kind::Text),
    ("validated_by", Kind::Text),
    ("created_at", Kind::Moment),
];

const WORKFLOW_EVENTS: [Column; 9] = [
    ("id", Kind::Text),
    ("org_id", Kind::Text),
    ("task_id", Kind::Text),
    ("attempt_id", Kind::Text),
    ("sequence_num", Kind::Int),
    ("kind", Kind::Text),
    ("payload", Kind::Json),
    ("actor", Kind::Text),
    ("created_at", Kind::Moment),
];

const RECOVERY_ACTIONS: [Column; 18] = [
    ("id", Kind::Text),
    ("org_id", Kind::Text),
    ("task_id", Kind::Text),
    ("task_attempt_id", Kind::Text),
    ("failure_kind", Kind::Text),
    ("derived", Kind::Bool),
    ("action_type", Kind::Text),
    ("level", Kind::Text),
    ("status", Kind::Text),
    ("trigger_event", Kind::Text),
    ("state_before", Kind::Json),
    ("state_after", Kind::Json),
    ("executed_by", Kind::Text),
    ("model_id", Kind::Text),
    ("override_reason", Kind::Text),
    ("new_attempt_hint", Kind::Json),
    ("review_id", Kind::Text),
    ("created_at", Kind::Moment),
];
