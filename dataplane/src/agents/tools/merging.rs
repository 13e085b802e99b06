//! `merge_branch`: what a branch has changed comes to the mainline, or is told beforehand, with its conflicts.

use contract::Timestamp;
use contract::policy::abac::Operation;
use contract::report::{Body, BranchMerged};
use schemars::JsonSchema;
use serde::Serialize;

use super::branches::{sure, tables, unnamed};
use super::budget::Rest;
use super::onward::Onward;
use super::seal::Seal;
use super::{Telling, ToolCall};
use crate::Error;
use crate::agents::branches::{CONFLICTS_TOLD, Conflict, MergeRequest, Merged, Outcome, Strategy};
use crate::agents::last_shown::ShownPosition;
use crate::pipeline::CallerContext;

#[derive(Debug, Serialize, JsonSchema)]
pub struct MergeReport {
    branch_id: String,
    /// `completed`, `conflicts` (nothing is merged then) or `dry_run`.
    status: String,
    strategy: String,
    /// Tables that the branch has changed.
    tables_merged: Vec<String>,
    /// Rows of the mainline that were added, changed or deleted.
    rows_affected: u64,
    conflicts_total: u64,
    /// Fifty at a time. What is masked for you is `***`.
    conflicts: Vec<Conflict>,
    merge_snapshot: String,
    /// With the same call it gives the conflicts behind these, and nothing is merged; null behind the last, and where the
    /// branch has been merged.
    next_cursor: Option<String>,
    #[serde(skip)]
    onward: Onward<ShownPosition>,
}

impl Telling for MergeReport {
    const LIST: Option<&'static str> = Some("conflicts");

    fn rest(&self, shown: usize) -> Option<Rest> {
        self.onward.rest(shown)
    }
}

pub async fn merge(call: ToolCall, mut merging: MergeRequest) -> Result<MergeReport, Error> {
    let now = call.pipeline.clock.now();
    let with = "branch_id, strategy, granularity and resolutions";
    let seal = Seal::of(&call, with, &("merge_branch", merging.question()));
    let from: Option<ShownPosition> = seal.open_at(merging.cursor.as_deref())?;
    merging.dry_run |= from.is_some(); // who reads on in its conflicts merges nothing
    let from = from.unwrap_or_default();
    let behind = from.clone();
    let tables = tables(&call, &merging.branch_id).await?;
    let (dry_run, operation) = (merging.dry_run, if merging.dry_run { Operation::Select } else { Operation::Merge });
    let tool_action = call.action("merge_branch", tables.clone(), operation)?;
    let (branches, strategy) = (call.branches(), merging.strategy);
    let merged = |standing: CallerContext| async move {
        let told = behind.shown.saturating_add(CONFLICTS_TOLD);
        let mut merged = branches.merge(&standing, &merging, told, now).await?;
        let begin = behind.last.behind(merged.conflicts.iter().map(known_by));
        let why = "the conflicts that it has shown last are others by now";
        merged.conflicts.drain(..begin.ok_or(Error::CursorOver { why })?);
        merged.conflicts.truncate(CONFLICTS_TOLD);
        let rows = merged.rows_affected;
        Ok(((merged, standing.caller.actor_id().to_owned()), rows))
    };
    let merged = call.pipeline.act(tool_action, merged).await;
    if !dry_run {
        call.pipeline.wrote(&tables); // also when it failed: nobody may know whether it was committed
    }
    let (merged, actor_id) = sure(&call, unnamed(merged)).await?;
    if merged.outcome == Outcome::Completed {
        tell(&call, &merged, strategy, actor_id, now);
    }
    let Merged { branch, outcome, tables, rows_affected, conflicts_total, conflicts, snapshot } = merged;
    let onward = onward(seal, from, &conflicts, (outcome, conflicts_total));
    Ok(MergeReport {
        next_cursor: onward.cursor(),
        onward,
        branch_id: branch.branch_id,
        status: match outcome {
            Outcome::Completed => "completed",
            Outcome::Conflicts => "conflicts",
            Outcome::DryRun => "dry_run",
        }
        .to_owned(),
        strategy: strategy.as_str().to_owned(),
        tables_merged: tables,
        rows_affected,
        conflicts_total,
        conflicts,
        merge_snapshot: snapshot,
    })
}

/// What tells a conflict from the others of a merge.
fn known_by(conflict: &Conflict) -> (&str, &str) {
    (&conflict.table, &conflict.conflict_id)
}

/// What stands behind each conflict; nothing where the branch has been merged.
fn onward(
    seal: Seal,
    mut from: ShownPosition,
    conflicts: &[Conflict],
    (outcome, total): (Outcome, u64),
) -> Onward<ShownPosition> {
    let place = |conflict: &Conflict| {
        from = from.and(&known_by(conflict));
        from.clone()
    };
    let shown: &[Conflict] = if outcome == Outcome::Completed { &[] } else { conflicts };
    let places: Vec<ShownPosition> = shown.iter().map(place).collect();
    let more = places.last().is_some_and(|last| u64::try_from(last.shown).is_ok_and(|shown| shown < total));
    Onward::new(seal, places, more)
}

/// It has happened, whether or not the log takes it.
fn tell(call: &ToolCall, merged: &Merged, strategy: Strategy, actor_id: String, merged_at: Timestamp) {
    let told = BranchMerged {
        branch_id: merged.branch.branch_id.clone(),
        branch_name: merged.branch.name.clone(),
        agent_id: merged.branch.agent_id.clone(),
        strategy: strategy.as_str().to_owned(),
        tables_merged: merged.tables.clone(),
        rows_affected: merged.rows_affected,
        actor_id,
        merged_at,
    };
    let Some(ledger) = call.pipeline.startup_gate.opened() else { return };
    if let Err(error) = ledger.log.happened(Body::BranchMerged(Box::new(told))) {
        tracing::error!(branch.id = %merged.branch.branch_id, %error, "a merge could not be recorded");
    }
}
