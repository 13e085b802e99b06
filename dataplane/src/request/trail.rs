//! The trail of one query, stage by stage: for the log, never for logic.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contract::policy::abac::Operation;
use contract::report::{AbacEvaluation, Agent, MicroCredits, Verdict};
use contract::{Caller, GrantId};

use crate::request::answer::Healed;
use crate::request::as_of::AsOf;

contract::named! {
    /// The stages of the specification, in its order.
    #[derive(Hash)]
    pub enum Stage {
        Semaphore = "semaphore",
        TableExtraction = "table_extraction",
        PolicyCheck = "policy_check",
        CostEstimate = "cost_estimate",
        QuotaCheck = "quota_check",
        RowFilter = "row_filter",
        VectorEmbed = "vector_embed",
        Transpile = "transpile",
        SnapshotPin = "snapshot_pin",
        Execute = "execute",
        DirtyTracking = "dirty_tracking",
        AiHeal = "ai_heal",
        ColumnMask = "column_mask",
        Meter = "meter",
        Audit = "audit",
    }
}

contract::named! {
    /// The use of a text's plan, which the stages 2 to 8 make.
    #[derive(Hash)]
    pub enum PlanUse {
        /// It was at hand, from when the text came before, or two others that differ from it in keys alone.
        Kept = "kept",
        /// It was made, and is kept for when the text comes again.
        Made = "made",
        /// It is of this statement alone, or the statement was refused.
        NotKept = "not_kept",
    }
}

/// Facts that the stages found out, for the audit entry.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub caller: Option<Caller>,
    /// The agent behind the query, whether it was declared or the key is bound to it.
    pub agent: Option<Agent>,
    /// The grant that the agent's statement runs under.
    pub grant_id: Option<GrantId>,
    /// The statement with every literal as `?`.
    pub redacted: Option<String>,
    /// The caller's own text, where that was more than the statement that ran.
    pub original: Option<String>,
    pub operation: Option<Operation>,
    pub tables: Vec<String>,
    pub transpiled: Option<String>,
    pub with_rls: Option<String>,
    pub columns_masked: Vec<String>,
    pub verdicts: Vec<Verdict>,
    pub abac: Option<AbacEvaluation>,
    pub governance_version: u64,
    pub snapshot: Option<String>,
    pub estimate: MicroCredits,
    /// Credits of the statement itself, before its rows.
    pub base: MicroCredits,
    /// The answer was kept from before.
    pub cache_hit: bool,
    /// None before its plan was looked for, as for what does not run.
    pub plan: Option<PlanUse>,
    /// None before the engine ran it.
    pub engine_plan: Option<engine::PlanSource>,
    /// What ran in place of the text that was asked.
    pub healed: Option<Healed>,
    /// What decided the rows of an answer that is given a part at a time.
    pub as_of: Option<AsOf>,
}

/// The stages walked with their times, and the facts they left.
#[derive(Debug)]
pub struct Trail {
    walked: Mutex<Vec<(Stage, Instant, Duration)>>,
    facts: Mutex<Facts>,
}

impl Default for Trail {
    fn default() -> Self {
        Self { walked: Mutex::new(Vec::with_capacity(Stage::ALL.len())), facts: Mutex::default() }
    }
}

impl Trail {
    /// Walks one stage.
    pub async fn at<T>(&self, stage: Stage, work: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let out = work.await;
        self.ended(stage, began);
        out
    }

    /// Walks a stage that waits for nothing.
    pub fn now<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let out = work();
        self.ended(stage, began);
        out
    }

    /// Goes on with the stage that was walked last: its time ends with this work.
    pub async fn further<T>(&self, stage: Stage, work: impl Future<Output = T>) -> T {
        let out = work.await;
        let mut walked = self.walked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, began, took)) = walked.last_mut().filter(|(last, ..)| *last == stage) {
            *took = began.elapsed();
        }
        out
    }

    fn ended(&self, stage: Stage, began: Instant) {
        self.walked.lock().unwrap_or_else(PoisonError::into_inner).push((stage, began, began.elapsed()));
    }

    pub fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Name and milliseconds of each stage, in the order walked.
    pub fn stages(&self) -> Vec<(String, f64)> {
        let walked = self.walked.lock().unwrap_or_else(PoisonError::into_inner);
        walked.iter().map(|(stage, _, took)| (stage.as_str().to_owned(), millis(*took))).collect()
    }

    /// Each stage in the order walked, when it began and how long it took.
    pub fn times(&self) -> Vec<(Stage, Instant, Duration)> {
        self.walked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Milliseconds spent in one stage, all visits together.
    pub fn spent_ms(&self, stage: Stage) -> f64 {
        let walked = self.walked.lock().unwrap_or_else(PoisonError::into_inner);
        walked.iter().filter(|(walked, ..)| *walked == stage).map(|(.., took)| millis(*took)).sum()
    }
}

/// Milliseconds, to the microsecond.
pub fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_are_those_of_the_specification() {
        let specified = "semaphore table_extraction policy_check cost_estimate quota_check row_filter vector_embed \
            transpile snapshot_pin execute dirty_tracking ai_heal column_mask meter audit";
        let ours: Vec<_> = Stage::ALL.iter().map(|stage| stage.as_str()).collect();
        assert_eq!(ours, specified.split_whitespace().collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_trail_remembers_what_was_walked_in_order() {
        let trail = Trail::default();
        trail.at(Stage::Semaphore, async {}).await;
        trail.now(Stage::PolicyCheck, || ());
        let names: Vec<_> = trail.stages().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["semaphore", "policy_check"]);
    }
}
