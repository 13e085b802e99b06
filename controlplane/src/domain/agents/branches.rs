//! Branches of an environment's tables, over REST: the same calls as the branch tools.
//!
//! Nothing is kept here: each request becomes a call of a tool in the environment's data plane, and
//! its result is told in the shape of this surface. A branch is somebody's with an agent's name, has
//! copies of the tables that it was made for, and ends merged, discarded or expired. Members look at
//! branches; who makes, merges or discards one here is a developer at least.

mod numbers;

pub use numbers::{Analytics, of_agent};

use std::collections::BTreeMap;

use contract::{Access, EnvId, Scope};
use platform::Result;
use platform::http::call::Call;
use platform::http::json::{Created, Json, Query};
use platform::http::routes::Routes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::domain::agents::agent_tools::{ToolPlace, arguments_of, present, refusals, tool};

pub fn routes() -> Routes {
    const BRANCHES: &str = "/v1/organizations/{org_id}/branches";
    const BRANCH: &str = "/v1/organizations/{org_id}/branches/{branch_id}";
    const DIFF: &str = "/v1/organizations/{org_id}/branches/{branch_id}/diff";
    const CHANGES: &str = "/v1/organizations/{org_id}/branches/{branch_id}/changes";
    const CONFLICTS: &str = "/v1/organizations/{org_id}/branches/{branch_id}/conflicts";
    const MERGE: &str = "/v1/organizations/{org_id}/branches/{branch_id}/merge";
    const COST: &str = "/v1/organizations/{org_id}/branches/{branch_id}/cost";
    const ANALYTICS: &str = "/v1/organizations/{org_id}/branches/analytics";
    Routes::new()
        .post(BRANCHES, Access::Developer, Scope::Agent, create)
        .says("Copies tables to a branch, to change them apart; its `schema_name` is a search path.")
        .get(BRANCHES, Access::Member, Scope::Agent, list)
        .of_pages()
        .says("Lists branches, the newest first; the open ones if no state is asked for.")
        .get(ANALYTICS, Access::Member, Scope::Agent, numbers::analytics)
        .says("Counts branches by their state and their agent: those that are open, and those that ended in the last thirty days.")
        .get(COST, Access::Member, Scope::Agent, numbers::cost)
        .says("Counts the rows that a branch keeps; statements on it are billed as others are.")
        .get(BRANCH, Access::Member, Scope::Agent, get)
        .of_pages()
        .says("Tells of a branch, also of one that has ended.")
        .get(DIFF, Access::Member, Scope::Agent, diff)
        .of_pages()
        .says("Counts what a branch has changed in each of its tables.")
        .get(CHANGES, Access::Member, Scope::Agent, changes)
        .of_pages()
        .says("Shows the rows that a branch has changed in one of its tables; the first hundred.")
        .get(CONFLICTS, Access::Member, Scope::Agent, conflicts)
        .of_pages()
        .says("Lists where branch and mainline have changed the same; the first fifty, tables without a key before rows.")
        .post(MERGE, Access::Developer, Scope::Agent, merge)
        .says("Brings what a branch has changed to the mainline; the strategy decides conflicts of rows, `manual` alone those of tables without a key.")
        .delete(BRANCH, Access::Developer, Scope::Agent, discard)
        .says("Gives up a branch and all that was changed on it.")
        .all_ours()
        .all_refuse(refusals!(BranchNotFound, Conflict))
}

/// "branch `{agent_id, tables[], description?}`", and what the tool takes besides.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewBranch {
    agent_id: String,
    /// `table` or `schema.table`, 1 to 100 of them; all that you may see if absent.
    tables: Option<Vec<String>>,
    /// Columns that tell the rows of a table without a primary key apart, by its name.
    keys: Option<BTreeMap<String, Vec<String>>>,
    name: Option<String>,
    description: Option<String>,
    ttl_seconds: Option<i64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BranchListing {
    env_id: Option<EnvId>,
    /// `active` (if absent), `merged`, `discarded`, `expired` or `all`.
    status: Option<String>,
}

/// A branch as this surface shows it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Branch {
    #[serde(rename(deserialize = "branch_id"))]
    id: String,
    schema_name: String,
    name: String,
    description: Option<String>,
    agent_id: String,
    tables: Vec<String>,
    /// `active`, `merged`, `discarded` or `expired`.
    status: String,
    created_at: String,
    expires_at: String,
}

/// A branch, and what may be in the way of its merge.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WarnedBranch")]
struct Warned {
    #[serde(flatten)]
    branch: Branch,
    /// Of tables without a key, while it is open.
    // data planes of before the warnings do not tell them; whoever asks here is always told
    #[serde(default)]
    #[schemars(!default)]
    warnings: Vec<String>,
}

/// A bare list of them.
#[derive(Debug, Serialize, JsonSchema)]
struct Branches(Vec<Branch>);

/// What a branch has changed in one table.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BranchChanges")]
struct Changes {
    added: u64,
    changed: u64,
    deleted: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BranchDiff")]
struct Diff {
    branch_id: String,
    /// By `schema.table`.
    tables: BTreeMap<String, Changes>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BranchTable")]
struct Table {
    env_id: Option<EnvId>,
    /// `table` or `schema.table`.
    table: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BranchChangedRows")]
struct ChangedRows {
    branch_id: String,
    rows: Vec<BranchChangedRow>,
    /// There are more.
    truncated: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct BranchChangedRow {
    /// `added`, `changed` or `deleted`.
    change: String,
    /// How many such rows, of a table without a key; else one.
    times: u64,
    /// Its values as text, `***` where they are masked; null where there was no such row.
    before: Option<Map<String, Value>>,
    after: Option<Map<String, Value>>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BranchConflict")]
struct Conflict {
    conflict_id: String,
    table: String,
    /// `divergent_insert`, `divergent_update` or `delete_update` of a row; `table`: both sides have changed a table that
    /// has no key; `schema`.
    kind: String,
    /// The values of the row's key.
    key: Map<String, Value>,
    /// The row as it was, or how many rows the table had.
    base: Value,
    ours: Value,
    theirs: Value,
    columns: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BranchConflicts {
    has_conflicts: bool,
    total: u64,
    conflicts: Vec<Conflict>,
}

/// How it is merged.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BranchMerge")]
struct Merging {
    /// `branch_wins` (if absent), `main_wins`, `fail_on_conflict` or `manual`, which alone decides a conflict of kind
    /// `table`.
    strategy: Option<String>,
    /// `cell` (if absent) or `row`.
    granularity: Option<String>,
    dry_run: Option<bool>,
    /// `{conflict_id, take}` for each conflict, with the strategy `manual`; `take` is `base`, `ours` or `theirs`.
    resolutions: Option<Vec<Resolution>>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BranchResolution")]
struct Resolution {
    conflict_id: String,
    take: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MergedBranch {
    branch_id: String,
    /// `merged`, `conflicts` (nothing is merged then) or `dry_run`.
    status: String,
    strategy: String,
    /// How many there were.
    conflicts: u64,
    tables_merged: Vec<String>,
    rows_affected: u64,
}

/// A merge as the tools tell of it.
#[derive(Debug, Deserialize)]
struct MergeReport {
    branch_id: String,
    status: String,
    strategy: String,
    tables_merged: Vec<String>,
    rows_affected: u64,
    conflicts_total: u64,
    conflicts: Vec<Conflict>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DiscardedBranch")]
struct Discarded {
    branch_id: String,
    discarded: bool,
}

fn named(cx: &Call) -> Result<Value> {
    let branch_id: String = cx.id("branch_id")?;
    Ok(json!({"branch_id": branch_id}))
}

async fn create(cx: Call, Query(place): Query<ToolPlace>, Json(new): Json<NewBranch>) -> Result<Created<Warned>> {
    let arguments = arguments_of(&new, &["agent_id"], json!({}));
    Ok(Created(tool(&cx, place.env_id, "create_branch", Some(new.agent_id), arguments).await?))
}

async fn list(cx: Call, Query(wanted): Query<BranchListing>) -> Result<Json<Branches>> {
    Ok(Json(Branches(listed(&cx, wanted.env_id, wanted.status.as_deref()).await?)))
}

/// The newest first, at most two hundred.
async fn listed(cx: &Call, env_id: Option<EnvId>, status: Option<&str>) -> Result<Vec<Branch>> {
    #[derive(Deserialize)]
    struct ToolBranchList {
        branches: Vec<Branch>,
    }
    let list: ToolBranchList = tool(cx, env_id, "branch_list", None, present(json!({"status": status}))).await?;
    Ok(list.branches)
}

async fn get(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<Warned>> {
    Ok(Json(tool(&cx, place.env_id, "branch_get", None, named(&cx)?).await?))
}

async fn diff(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<Diff>> {
    Ok(Json(tool(&cx, place.env_id, "branch_diff", None, named(&cx)?).await?))
}

async fn changes(cx: Call, Query(wanted): Query<Table>) -> Result<Json<ChangedRows>> {
    let branch_id: String = cx.id("branch_id")?;
    let arguments = json!({"branch_id": branch_id, "table": wanted.table});
    Ok(Json(tool(&cx, wanted.env_id, "branch_changes", None, arguments).await?))
}

async fn conflicts(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<BranchConflicts>> {
    let branch_id: String = cx.id("branch_id")?;
    let arguments = json!({"branch_id": branch_id, "dry_run": true});
    let report: MergeReport = tool(&cx, place.env_id, "merge_branch", None, arguments).await?;
    let MergeReport { conflicts_total, conflicts, .. } = report;
    Ok(Json(BranchConflicts { has_conflicts: conflicts_total > 0, total: conflicts_total, conflicts }))
}

async fn merge(cx: Call, Query(place): Query<ToolPlace>, Json(merging): Json<Merging>) -> Result<Json<MergedBranch>> {
    let arguments = arguments_of(&merging, &[], named(&cx)?);
    let report: MergeReport = tool(&cx, place.env_id, "merge_branch", None, arguments).await?;
    let MergeReport { branch_id, status, strategy, tables_merged, rows_affected, conflicts_total, .. } = report;
    let status = if status == "completed" { "merged".to_owned() } else { status };
    Ok(Json(MergedBranch { branch_id, status, strategy, conflicts: conflicts_total, tables_merged, rows_affected }))
}

async fn discard(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<Discarded>> {
    Ok(Json(tool(&cx, place.env_id, "discard_branch", None, named(&cx)?).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_of_an_older_data_plane_is_read_without_warnings_and_shown_with_none() {
        let told = json!({
            "branch_id": "b1", "schema_name": "branch_b1", "name": "trial", "description": null, "agent_id": "a1",
            "tables": ["main.t"], "status": "active", "created_at": "2026-01-01T00:00:00Z",
            "expires_at": "2026-01-02T00:00:00Z",
        });
        let read: Warned = serde_json::from_value(told).unwrap();
        let shown = serde_json::to_value(&read).unwrap();
        assert_eq!((&shown["id"], &shown["warnings"]), (&json!("b1"), &json!([])));
    }
}
