//! Views for operators: numbers over everything an organization runs.
//!
//! "`freshness`: `computed_at`, `staleness_ms`, `within_slo` boolean." A view is computed when it
//! is asked for, in one statement; its staleness is the time that took.

mod active;
mod confidence;
mod costs;
mod recoveries;
#[cfg(test)]
mod tests;

use contract::{Access, Scope, Timestamp};
use platform::http::routes::Routes;
use schemars::JsonSchema;
use serde::Serialize;

pub fn routes() -> Routes {
    use Access::Member;
    Routes::new()
        .get("/v2/runtime/views/active-attempts", Member, Scope::Agent, active::view)
        .says("Counts the attempts that are active.")
        .get("/v2/runtime/views/invocation-costs", Member, Scope::Agent, costs::view)
        .says("Sums up what models cost.")
        .get("/v2/runtime/views/confidence-distribution", Member, Scope::Agent, confidence::view)
        .says("Tells how sure the artifacts are.")
        .get("/v2/runtime/views/recovery-actions", Member, Scope::Agent, recoveries::view)
        .says("Counts what was done about failures.")
}

/// Oldest that numbers may be.
pub const SLO_MS: i64 = 60_000;
/// Oldest that may be what changes with every heartbeat.
const ATTEMPTS_SLO_MS: i64 = 5_000;

#[derive(Debug, Serialize, JsonSchema)]
pub struct Freshness {
    computed_at: Timestamp,
    staleness_ms: i64,
    within_slo: bool,
}

impl Freshness {
    /// Of numbers that are those of `asked`, at a time when they are answered.
    pub fn of(asked: Timestamp, answered: Timestamp, slo_ms: i64) -> Self {
        let staleness_ms = (answered - asked).num_milliseconds().max(0);
        Self { computed_at: asked, staleness_ms, within_slo: staleness_ms <= slo_ms }
    }
}
