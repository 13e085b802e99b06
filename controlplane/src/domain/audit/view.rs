//! Query audit entries as they are answered: one a query, from its start and its end.

use std::net::IpAddr;

use contract::report::{AbacEvaluation, Agent, Finished, Started, Verdict};
use contract::{KeyId, QueryId, RequestId, Timestamp, UserId};
use schemars::JsonSchema;
use serde::Serialize;

use super::store::AuditedQuery;
use crate::domain::billing::credit;

/// A query audit entry. Beyond the specification: who held the key, over which protocol, whether the dashboard asked it
/// for itself, and how it ended (`running` until it has).
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueryEntry {
    query_id: QueryId,
    id: QueryId,
    user_id: Option<UserId>,
    key_id: Option<KeyId>,
    role: String,
    source_ip: Option<IpAddr>,
    origin: String,
    /// The dashboard asked it for one of its own pages: `origin` is `dashboard`, and it costs nothing.
    by_dashboard: bool,
    request_id: RequestId,
    sql: String,
    operation: Option<String>,
    tables_accessed: Vec<String>,
    rows_returned: u64,
    columns_masked: Vec<String>,
    execution_time_ms: f64,
    credits_consumed: f64,
    cache_hit: bool,
    outcome: String,
    error_code: Option<String>,
    policy_verdicts: Vec<Verdict>,
    agent_metadata: Option<Agent>,
    timestamp: Timestamp,
}

/// "Detail view adds `sql_original`, `sql_transpiled`, `sql_with_rls`, `transpilation_time_ms`,
/// `cache_key`, `abac_evaluation`, and `function` in verdicts." Beyond it: what a healed query was corrected to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueryEntryDetail {
    #[serde(flatten)]
    entry: QueryEntry,
    sql_original: String,
    /// The text that ran in its place; null where it ran as it was asked.
    sql_healed: Option<String>,
    sql_transpiled: Option<String>,
    sql_with_rls: Option<String>,
    transpilation_time_ms: f64,
    /// Null: no answer is kept in a cache yet.
    cache_key: Option<String>,
    abac_evaluation: Option<AbacEvaluation>,
    governance_version: u64,
    snapshot: Option<String>,
    /// Milliseconds of each stage, in the order walked.
    stages: Vec<QueryStage>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct QueryStage {
    stage: String,
    ms: f64,
}

impl QueryEntry {
    pub fn of(row: AuditedQuery) -> Self {
        let mut entry = Self::whole(row.started.0, row.finished.as_ref().map(|end| &end.0));
        for verdict in &mut entry.policy_verdicts {
            verdict.function = None;
        }
        entry
    }

    fn whole(start: Started, end: Option<&Finished>) -> Self {
        Self {
            id: start.query_id.clone(),
            query_id: start.query_id,
            user_id: start.user_id,
            key_id: start.key_id,
            role: start.role.to_string(),
            source_ip: start.source_ip,
            origin: start.origin.to_string(),
            by_dashboard: start.by_dashboard,
            request_id: start.request_id,
            sql: start.sql,
            operation: start.operation.map(|operation| operation.to_string()),
            tables_accessed: start.tables_accessed,
            rows_returned: end.map_or(0, |end| end.rows_returned),
            columns_masked: start.columns_masked,
            execution_time_ms: end.map_or(0.0, |end| end.execution_time_ms),
            credits_consumed: credit(end.map_or(0, |end| end.micro_credits)),
            cache_hit: end.is_some_and(|end| end.cache_hit),
            outcome: end.map_or_else(|| "running".to_owned(), |end| end.outcome.to_string()),
            error_code: end.and_then(|end| end.error_code.clone()),
            policy_verdicts: start.policy_verdicts,
            agent_metadata: start.agent.filter(|agent| agent.agent_id.is_some() || agent.framework.is_some()),
            timestamp: start.at,
        }
    }
}

impl QueryEntryDetail {
    pub fn of(row: AuditedQuery) -> Self {
        let start = row.started.0;
        let end = row.finished.map(|end| end.0);
        let stages = end.iter().flat_map(|end| &end.stages);
        Self {
            stages: stages.map(|(stage, ms)| QueryStage { stage: stage.clone(), ms: *ms }).collect(),
            sql_original: start.sql_original.clone(),
            sql_healed: start.sql_healed.clone(),
            sql_transpiled: start.sql_transpiled.clone(),
            sql_with_rls: start.sql_with_rls.clone(),
            transpilation_time_ms: end.as_ref().map_or(0.0, |end| end.transpilation_time_ms),
            cache_key: None,
            abac_evaluation: start.abac_evaluation.clone(),
            governance_version: start.governance_version,
            snapshot: start.snapshot.clone(),
            entry: QueryEntry::whole(start, end.as_ref()),
        }
    }
}
