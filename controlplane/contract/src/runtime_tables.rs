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

/// The type of a column.
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

/// The tables that SQL may read, each with its columns in the order that `*` has them.
macro_rules! tables {
    ($($name:ident $text:literal { $($column:ident $kind:ident),+ $(,)? })+) => {
        crate::caller::words!(
            /// A table that SQL may read.
            Table, "table", { $($name = $text),+ }
        );

        impl Table {
            /// In the order that `*` has them.
            pub const fn columns(self) -> &'static [Column] {
                match self { $(Self::$name => &[$((stringify!($column), Kind::$kind)),+]),+ }
            }
        }
    };
}

tables! {
    Tasks "tasks" {
        id Text, org_id Text, project_id Text, kind Text, status Text, work_item_key Text, priority Int,
        retry_count Int, max_retries Int, metadata Json, not_before Moment, deadline Moment,
        completed_at Moment, failure_reason Text, cancel_reason Text, next_attempt_hint Json,
        blocked_reason Text, repairs Text, awaits_repair Text, created_by Text, version Int, created_at Moment,
        updated_at Moment,
    }
    TaskAttempts "task_attempts" {
        id Text, org_id Text, task_id Text, attempt_number Int, agent_id Text, branch_id Text, status Text,
        retry_count Int, max_retries Int, lease_expires_at Moment, last_heartbeat_at Moment,
        heartbeat_count Int, progress Json, started_at Moment, completed_at Moment, failure_kind Text,
        failure_reason Text, result Json, recovery_level Text, recovers_attempt_id Text, model_hint Text,
        cancel_requested Bool, created_at Moment, updated_at Moment,
    }
    ModelDecisions "model_decisions" {
        id Text, org_id Text, task_id Text, attempt_id Text, model_id Text, routing_reason Text,
        confidence Double, fallback_used Bool, cost_estimate Double, context Json, created_at Moment,
    }
    LlmInvocations "llm_invocations" {
        id Text, org_id Text, task_id Text, decision_id Text, model_id Text, input_tokens BigInt,
        output_tokens BigInt, cost_usd Double, latency_ms BigInt, prompt_hash Text, error Text,
        created_at Moment,
    }
    ArtifactInstances "artifact_instances" {
        id Text, org_id Text, project_id Text, task_id Text, attempt_id Text, kind Text, content_hash Text,
        confidence Double, artifact_key Text, branch_id Text, validation_status Text, uri Text, depends_on Json,
        metadata Json, promoted_at Moment, promoted_by Text, superseded_by Text, created_at Moment,
    }
    ArtifactValidations "artifact_validations" {
        id Text, org_id Text, artifact_id Text, validator_kind Text, result Text, evidence Json, message Text,
        validated_by Text, created_at Moment,
    }
    WorkflowEvents "workflow_events" {
        id Text, org_id Text, task_id Text, attempt_id Text, sequence_num Int, kind Text, payload Json,
        actor Text, created_at Moment,
    }
    RecoveryActions "recovery_actions" {
        id Text, org_id Text, task_id Text, task_attempt_id Text, failure_kind Text, derived Bool,
        action_type Text, level Text, status Text, trigger_event Text, state_before Json, state_after Json,
        executed_by Text, model_id Text, override_reason Text, new_attempt_hint Json, review_id Text,
        created_at Moment,
    }
}
