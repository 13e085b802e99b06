//! Merging a branch: table by table, in one transaction with the branch's end.
//!
//! Who merges answers for every table of the branch: they may write it (to be told what it would come to, read
//! it), see all its rows, and the
//! branch has changed nothing in columns that are masked for them. What somebody else wrote on the
//! branch is not carried past a policy by who merges it.

use std::collections::BTreeSet;

use contract::Timestamp;
use contract::policy::abac::Operation;
use contract::policy::{TableRef, filters_on, masks_on};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::changed::Changes;
use super::conflict::{Conflict, Rules, Strategy};
use super::merge::Plan;
use super::store::{self, path};
use super::{Branches, MergeRequest, TABLE, key, remembered};
use crate::Error;
use crate::agents::memory;
use crate::pipeline::CallerContext;
use crate::storage::branches::{Branch, Copied, OpenBranch, Status, base_schema, lengths, origin, own_schema};
use crate::storage::system_tables::{SystemTransaction, broken};

/// Conflicts that are told of at a time.
pub const CONFLICTS_TOLD: usize = 50;
/// Rows that one merge changes at most.
const ROWS_MAX: u64 = 1_000_000;

/// The outcome of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Completed,
    /// Nothing is merged: somebody has to decide.
    Conflicts,
    DryRun,
}

/// The result of a merge, or of its dry run.
#[derive(Debug, Clone)]
pub struct Merged {
    pub branch: Branch,
    pub outcome: Outcome,
    /// Those that the branch has changed.
    pub tables: Vec<String>,
    pub rows_affected: u64,
    pub conflicts_total: u64,
    pub conflicts: Vec<Conflict>,
    pub snapshot: String,
}

#[derive(Debug, Deserialize)]
struct MergeSums {
    changes: Changes,
    /// That the mainline would change.
    rows: u64,
    conflicts: u64,
    open: u64,
    masked: bool,
}

impl Branches {
    /// Merges an open branch; its record then says so, and its tables are gone. So many of its conflicts are told of.
    pub async fn merge(
        &self,
        standing: &CallerContext,
        merging: &MergeRequest,
        told: usize,
        now: Timestamp,
    ) -> Result<Merged, Error> {
        standing.caller.may_query(!merging.dry_run).map_err(Error::Lacks)?;
        let resolutions = merging.resolutions()?;
        let open = self.reached(standing, &merging.branch_id, now).await?;
        let rules = Rules { strategy: merging.strategy, granularity: merging.granularity, resolutions: &resolutions };
        if !merging.dry_run {
            open.branch.made().may_change(standing)?;
        }
        let _alone = open.alone()?;
        // nobody else remembers anything meanwhile
        let memories = if merging.dry_run { None } else { Some(self.memories.alone().await) };
        let mut transaction = SystemTransaction::begin(standing.into()).await?;
        let (mut merged, plans) = decided(standing, &mut transaction, &open, &rules, told).await?;
        let about = (&open.branch, &rules);
        let remembered = recalled(standing, &mut transaction, about, &mut merged, told, now).await?;
        if merging.dry_run {
            merged.outcome = Outcome::DryRun;
        }
        if merged.outcome != Outcome::Completed {
            return Ok(merged); // the transaction is rolled back
        }
        for (table, steps) in plans {
            let mut rows = 0;
            for step in steps {
                rows += transaction.run((step, Vec::new())).await?;
            }
            merged.rows_affected += rows;
            transaction.track(&standing.query_id, &table, Operation::Merge, rows, now).await?;
        }
        if remembered > 0 {
            for step in remembered::apply(now) {
                transaction.run(step).await?;
            }
            merged.rows_affected += remembered;
            transaction.track(&standing.query_id, memory::TABLE, Operation::Merge, remembered, now).await?;
        }
        store::ended(&mut transaction, &open.branch, Status::Merged, now).await?;
        transaction.track(&standing.query_id, TABLE, Operation::Update, 1, now).await?;
        let committed = transaction.commit().await;
        if let Some(memories) = memories {
            memories.changed();
        }
        self.forget(&open, committed).await?;
        Ok(merged)
    }
}

/// What is to be done, table by table, with everything that speaks against it.
async fn decided(
    standing: &CallerContext,
    transaction: &mut SystemTransaction,
    open: &OpenBranch,
    rules: &Rules<'_>,
    told: usize,
) -> Result<(Merged, Vec<(String, Vec<String>)>), Error> {
    let branch = &open.branch;
    let mut merged = Merged {
        branch: branch.clone(),
        outcome: Outcome::Completed,
        tables: Vec::new(),
        rows_affected: 0,
        conflicts_total: 0,
        conflicts: Vec::new(),
        snapshot: transaction.snapshot(),
    };
    let catalog = transaction.catalog().await?;
    let (mut plans, mut rows) = (Vec::new(), 0);
    for (place, table) in branch.tables.iter().enumerate() {
        sees_all(standing, table)?;
        if !is_as_it_was(&catalog, table) {
            reshaped(transaction, &mut merged, table, rules.strategy).await?;
            continue;
        }
        let masked = masked(standing, table);
        if table.is_by_given_key(&masked) {
            if changed(transaction, branch, table).await? == 0 {
                continue;
            }
            key::still_holds(transaction, branch, table).await?;
        }
        let plan = Plan::new(branch, place, table, rules, &masked);
        let MergeSums { changes, rows: merging, conflicts, open, masked } = sums(transaction, &plan).await?;
        let touched = changes.added + changes.changed + changes.deleted;
        if touched == 0 {
            continue;
        }
        rows += touched.max(merging);
        if masked {
            return Err(Error::MaskedOnBranch { table: table.path() });
        }
        merged.tables.push(table.path());
        merged.conflicts_total += conflicts;
        if open > 0 {
            merged.outcome = Outcome::Conflicts;
        }
        let found: Vec<Conflict> = transaction.records((plan.conflicts(told), Vec::new())).await?;
        merged.conflicts.extend(found.into_iter().map(|conflict| Conflict { table: table.path(), ..conflict }));
        plans.push((table.path(), plan.apply()));
    }
    // No strategy decides those of tables: who is to decide them is told of them first.
    merged.conflicts.sort_by_key(|conflict| conflict.kind != "table");
    merged.conflicts.truncate(told);
    if let Some(limit) = standing.rows_max.filter(|limit| rows > *limit) {
        return Err(Error::GrantedRows { limit });
    }
    if rows > ROWS_MAX {
        return Err(Error::BranchTooLarge { what: "changed rows", limit: ROWS_MAX });
    }
    Ok((merged, plans))
}

/// What the memories of the branch come to: how many the mainline takes.
async fn recalled(
    standing: &CallerContext,
    transaction: &mut SystemTransaction,
    decided: (&Branch, &Rules<'_>),
    merged: &mut Merged,
    told: usize,
    now: Timestamp,
) -> Result<u64, Error> {
    let left = told.saturating_sub(merged.conflicts.len());
    let found = remembered::decide(standing, transaction, decided, left, now).await?;
    merged.conflicts_total += found.conflicts;
    merged.conflicts.extend(found.told);
    if found.open > 0 {
        merged.outcome = Outcome::Conflicts;
    }
    if found.taken + found.conflicts > 0 {
        merged.tables.push(memory::TABLE.to_owned());
    }
    Ok(found.taken)
}

async fn sums(transaction: &mut SystemTransaction, plan: &Plan<'_>) -> Result<MergeSums, Error> {
    transaction.run((plan.decide(), Vec::new())).await?;
    let found = transaction.records((plan.sums(), Vec::new())).await?.pop();
    found.ok_or_else(|| broken("sums of a merge"))
}

/// The mainline's table is another one now, or gone. The branch's changes do not fit it: who has
/// made some must give them up, or keep them elsewhere.
async fn reshaped(
    transaction: &mut SystemTransaction,
    merged: &mut Merged,
    table: &Copied,
    strategy: Strategy,
) -> Result<(), Error> {
    if strategy == Strategy::MainWins || changed(transaction, &merged.branch, table).await? == 0 {
        return Ok(());
    }
    merged.outcome = Outcome::Conflicts;
    merged.conflicts_total += 1;
    merged.conflicts.push(Conflict {
        conflict_id: String::new(),
        table: table.path(),
        kind: "schema".to_owned(),
        key: Map::new(),
        base: Value::Null,
        ours: Value::Null,
        theirs: Value::Null,
        columns: Vec::new(),
    });
    Ok(())
}

/// How many rows of a table the branch has added and deleted, whatever tells them apart.
async fn changed(transaction: &mut SystemTransaction, branch: &Branch, table: &Copied) -> Result<u64, Error> {
    let own = path(&own_schema(&branch.branch_id), &table.name);
    let base = path(&base_schema(&branch.branch_id), &table.name);
    let sql = format!(
        "select to_json((select count(*) from ((from {own} except all from {base}) union all \
         (from {base} except all from {own}))))::varchar"
    );
    transaction.records((sql, Vec::new())).await?.pop().ok_or_else(|| broken("a count of changes"))
}

/// Of another origin its rows are for other people.
pub(super) fn is_as_it_was(catalog: &engine::Catalog, table: &Copied) -> bool {
    let now = catalog.table(&table.schema, &table.name);
    now.is_some_and(|now| {
        now.columns == table.columns
            && now.primary_key == table.primary_key
            && origin(now.comment.as_deref()) == table.origin
            && lengths(now) == table.lengths
    })
}

/// A row that a filter hides from the caller could be changed or counted unseen, and so could all of a closed table.
pub(super) fn sees_all(standing: &CallerContext, table: &Copied) -> Result<(), Error> {
    if !standing.admits_copy(&table.path(), table.origin.as_deref()) {
        return Err(Error::TableDenied { table: table.path() });
    }
    let schema = table.schema.to_ascii_lowercase();
    let name = table.name.to_ascii_lowercase();
    let named = TableRef { schema: &schema, name: &name };
    let filters = filters_on(&standing.rules.policies, named, standing.caller.role);
    if filters.is_empty() { Ok(()) } else { Err(Error::HiddenOnBranch { table: table.path() }) }
}

/// Columns that the caller does not see as they are, in lower case.
pub(super) fn masked(standing: &CallerContext, table: &Copied) -> BTreeSet<String> {
    let (schema, name) = (table.schema.to_ascii_lowercase(), table.name.to_ascii_lowercase());
    let named = TableRef { schema: &schema, name: &name };
    let masks = masks_on(&standing.rules.policies, named, standing.caller.role).into_keys();
    let is_own = |(schema, name, _): &&(String, String, String)| {
        schema.eq_ignore_ascii_case(&table.schema) && name.eq_ignore_ascii_case(&table.name)
    };
    let denied = standing.denied_columns.iter().filter(is_own).map(|(_, _, column)| column.clone());
    masks.chain(denied).map(|column| column.to_ascii_lowercase()).collect()
}
