//! `create_branch`, `branch_query`, `branch_list`, `discard_branch`; and for the REST
//! surface alone what a branch has changed, as numbers and row by row.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use contract::policy::abac::Operation;
use contract::{Heal, StandardStrings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::Rest;
use super::onward::Onward;
use super::seal::Seal;
use super::sql::{ResultTable, StatementArguments};
use super::{Telling, ToolCall, moment};
use crate::Error;
use crate::agents::branches::{BranchListing, BranchPosition, BranchSeed, ChangedRow, Changes, KeptRows, NewBranch};
use crate::pipeline::ToolAction;
use crate::storage::branches::{Branch, Status, schema_name};
use crate::storage::system_tables::ReadTarget;

/// A branch as it is shown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShownBranch {
    branch_id: String,
    /// A session whose search path begins with it is on the branch.
    schema_name: String,
    name: String,
    description: Option<String>,
    agent_id: String,
    tables: Vec<String>,
    /// The state of the mainline that it was made from.
    base_snapshot: String,
    /// `active`, `merged`, `discarded` or `expired`.
    status: String,
    created_at: String,
    expires_at: String,
}

impl Telling for ShownBranch {}

impl From<Branch> for ShownBranch {
    fn from(branch: Branch) -> Self {
        Self {
            schema_name: schema_name(&branch.branch_id),
            tables: branch.paths(),
            branch_id: branch.branch_id,
            name: branch.name,
            description: branch.description,
            agent_id: branch.agent_id,
            base_snapshot: branch.base_snapshot,
            status: branch.status.as_str().to_owned(),
            created_at: moment(branch.created_at),
            expires_at: moment(branch.expires_at),
        }
    }
}

/// A branch, and what may be in the way of its merge.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Warned {
    #[serde(flatten)]
    branch: ShownBranch,
    /// Of tables without a key, while it is open.
    warnings: Vec<String>,
}

impl Telling for Warned {}

impl From<Branch> for Warned {
    fn from(branch: Branch) -> Self {
        let keyless = if branch.status == Status::Active { branch.keyless() } else { Vec::new() };
        let warning = format!(
            "no key tells the rows of {} apart: if both sides change such a table, nothing is merged until somebody says \
             which side stands; a branch that is made with its columns in `keys` merges row by row",
            keyless.join(", ")
        );
        let warnings = if keyless.is_empty() { Vec::new() } else { vec![warning] };
        Self { branch: branch.into(), warnings }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct BranchList {
    branches: Vec<ShownBranch>,
    /// With the same call it gives the branches behind these; null behind the last.
    next_cursor: Option<String>,
    #[serde(skip)]
    onward: Onward<BranchPosition>,
}

impl Telling for BranchList {
    const LIST: Option<&'static str> = Some("branches");
    const BARE: bool = true;

    fn rest(&self, shown: usize) -> Option<Rest> {
        self.onward.rest(shown)
    }
}

/// One branch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BranchReference {
    branch_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Discarded {
    discarded: bool,
    branch_id: String,
}

impl Telling for Discarded {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Diff {
    branch_id: String,
    /// By `schema.table`.
    tables: BTreeMap<String, Changes>,
}

impl Telling for Diff {}

/// What a branch keeps.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Cost {
    branch_id: String,
    /// By `schema.table`.
    tables: BTreeMap<String, KeptRows>,
}

impl Telling for Cost {}

/// One table of a branch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedTable {
    branch_id: String,
    /// `table` or `schema.table`.
    table: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedRows {
    branch_id: String,
    /// The first hundred. What is masked for you is `***`.
    rows: Vec<ChangedRow>,
    /// There are more.
    truncated: bool,
}

impl Telling for ChangedRows {}

/// A statement on a branch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BranchStatement {
    branch_id: String,
    /// One SQL statement. Tables are named as on the mainline.
    sql: String,
    /// Values of `$1`, `$2`, ….
    #[serde(default)]
    params: Vec<serde_json::Value>,
    /// Milliseconds it may take, 1 to 300000.
    timeout_ms: Option<u64>,
    /// Rows wanted, 1 to 10000; 1000 if absent.
    max_rows: Option<u64>,
    /// If it fails it is healed no further than this: `off`, `safe` or `auto`; as the environment permits if absent.
    heal: Option<Heal>,
    /// What a backslash in a string is: `on` (default), an ordinary character; `off`, an escape, as in the warehouse.
    standard_conforming_strings: Option<StandardStrings>,
    /// `next_cursor` of the same call, for the rows behind those that it has shown.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct BranchTable {
    branch_id: String,
    #[serde(flatten)]
    table: ResultTable,
}

impl Telling for BranchTable {
    const LIST: Option<&'static str> = ResultTable::LIST;
    const BARE: bool = ResultTable::BARE;

    fn notes(&self) -> Vec<String> {
        self.table.notes()
    }
}

/// What failed may have been given up halfway.
pub(super) async fn sure<T>(call: &ToolCall, done: Result<T, Error>) -> Result<T, Error> {
    if done.is_err() {
        call.branches().doubt().await;
    }
    done
}

pub async fn create(call: ToolCall, new: NewBranch) -> Result<Warned, Error> {
    let now = call.pipeline.clock.now();
    let was_named = new.tables.is_some();
    let all = if was_named { Vec::new() } else { visible(&call).await? };
    let new = new.checked(all)?;
    let fresh = BranchSeed::new(&call.pipeline.entropy, now);
    let tool_action = call.action("create_branch", new.tables.clone(), Operation::Create)?;
    // as of CREATE TABLE AS: the copies are made, and what they are made of is read
    let tool_action = ToolAction { reads: new.tables.clone(), ..tool_action };
    let branches = call.branches();
    let created = |standing| async move { Ok((branches.create(&standing, &new, fresh).await?, 1)) };
    let created = call.pipeline.act(tool_action, created).await;
    Ok(sure(&call, if was_named { created } else { unnamed(created) }).await?.into())
}

/// The tables that the caller may see. Of who may not ask at all nothing is known here; the tool action is refused.
async fn visible(call: &ToolCall) -> Result<Vec<String>, Error> {
    let ask = call.ask("CALL create_branch", None)?;
    Ok(call.pipeline.visible_tables(&ask).await.unwrap_or_default())
}

pub async fn query(call: ToolCall, asked: BranchStatement) -> Result<BranchTable, Error> {
    let BranchStatement { branch_id, sql, params, timeout_ms, max_rows, heal, standard_conforming_strings, cursor } =
        asked;
    let statement = StatementArguments {
        sql,
        params,
        timeout_ms,
        max_rows,
        heal,
        standard_conforming_strings,
        cursor,
        branch_id: Some(branch_id.clone()),
    };
    Ok(BranchTable { table: super::sql::run(call, statement).await?, branch_id })
}

pub async fn list(call: ToolCall, listing: BranchListing) -> Result<BranchList, Error> {
    let now = call.pipeline.clock.now();
    let tool_action = call.action("branch_list", Vec::new(), Operation::Select)?;
    let seal = Seal::of(&call, "status", &("branch_list", &listing.status));
    let from: Option<BranchPosition> = seal.open_at(listing.cursor.as_deref())?;
    let branches = call.branches();
    let listed = |standing| async move {
        let (found, next) = branches.list(&standing, &listing, from.as_ref(), now).await?;
        let count = u64::try_from(found.len()).unwrap_or(u64::MAX);
        Ok(((found, next), count))
    };
    let (found, next) = call.pipeline.act(tool_action, listed).await?;
    let onward = Onward::new(seal, found.iter().map(Branch::listed).collect(), false).until(next);
    Ok(BranchList {
        branches: found.into_iter().map(ShownBranch::from).collect(),
        next_cursor: onward.cursor(),
        onward,
    })
}

/// The tables of a branch: what is done to it is judged as done to them. That there is no such
/// branch is told to nobody who may not ask.
pub(super) async fn tables(call: &ToolCall, branch_id: &str) -> Result<Vec<String>, Error> {
    const WITHIN: Duration = Duration::from_secs(30);
    let place = ReadTarget { engine: &call.pipeline.engine()?, deadline: Instant::now() + WITHIN };
    match call.branches().tables(place, branch_id, call.pipeline.clock.now()).await {
        Err(Error::BranchNotFound | Error::BranchClosed { .. }) => Ok(Vec::new()),
        other => other,
    }
}

/// Whoever did not name the tables is not told which of them is denied.
pub(super) fn unnamed<T>(done: Result<T, Error>) -> Result<T, Error> {
    done.map_err(|error| if let Error::TableDenied { .. } = error { Error::DeniedOnBranch } else { error })
}

pub async fn discard(call: ToolCall, BranchReference { branch_id }: BranchReference) -> Result<Discarded, Error> {
    let now = call.pipeline.clock.now();
    let tool_action = call.action("discard_branch", Vec::new(), Operation::Delete)?;
    let branches = call.branches();
    let id = branch_id.clone();
    let gone = |standing| async move { Ok((branches.discard(&standing, &id, now).await?, 1)) };
    let gone = call.pipeline.act(tool_action, gone).await;
    sure(&call, gone).await?;
    Ok(Discarded { discarded: true, branch_id })
}

/// One branch, whatever became of it.
pub async fn get(call: ToolCall, BranchReference { branch_id }: BranchReference) -> Result<Warned, Error> {
    let tool_action = call.action("branch_get", Vec::new(), Operation::Select)?;
    let branches = call.branches();
    let found = |standing| async move { Ok((branches.recorded(&standing, &branch_id).await?, 1)) };
    Ok(call.pipeline.act(tool_action, found).await?.into())
}

/// What the branch has changed.
pub async fn diff(call: ToolCall, BranchReference { branch_id }: BranchReference) -> Result<Diff, Error> {
    let now = call.pipeline.clock.now();
    let tables = tables(&call, &branch_id).await?;
    let tool_action = call.action("branch_diff", tables, Operation::Select)?;
    let branches = call.branches();
    let id = branch_id.clone();
    let compared = |standing| async move { Ok((branches.diff(&standing, &id, now).await?, 1)) };
    let found = unnamed(call.pipeline.act(tool_action, compared).await)?;
    Ok(Diff { branch_id, tables: found.into_iter().collect() })
}

/// The rows that the branch keeps.
pub async fn cost(call: ToolCall, BranchReference { branch_id }: BranchReference) -> Result<Cost, Error> {
    let now = call.pipeline.clock.now();
    let tables = tables(&call, &branch_id).await?;
    let tool_action = call.action("branch_cost", tables, Operation::Select)?;
    let branches = call.branches();
    let id = branch_id.clone();
    let counted = |standing| async move { Ok((branches.kept(&standing, &id, now).await?, 1)) };
    let found = unnamed(call.pipeline.act(tool_action, counted).await)?;
    Ok(Cost { branch_id, tables: found.into_iter().collect() })
}

/// The rows that the branch has changed in one table.
pub async fn changes(call: ToolCall, NamedTable { branch_id, table }: NamedTable) -> Result<ChangedRows, Error> {
    let now = call.pipeline.clock.now();
    let tables = tables(&call, &branch_id).await?;
    let tool_action = call.action("branch_changes", tables, Operation::Select)?;
    let branches = call.branches();
    let id = branch_id.clone();
    let compared = |standing| async move {
        let (rows, truncated) = branches.changes(&standing, (&id, &table), now).await?;
        let count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        Ok(((rows, truncated), count))
    };
    let (rows, truncated) = unnamed(call.pipeline.act(tool_action, compared).await)?;
    Ok(ChangedRows { branch_id, rows, truncated })
}
