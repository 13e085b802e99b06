//! Memories of a branch, when the branch is merged: "memory rows of the branch merge by the same rules on
//! `memory_key`".
//!
//! A memory without a key is added to the mainline, unless the same is there. One with a key becomes the next version
//! of the mainline's; where the mainline's has changed since the branch was made, or has gone, it is a conflict, which
//! the strategy decides. What is not taken goes with the branch.

use contract::Timestamp;
use engine::Value;
use serde::Deserialize;
use sql::ast::quote;

use super::conflict::{Conflict, Rules, conflict_id, take};
use crate::Error;
use crate::agents::memory;
use crate::limits::invalid;
use crate::pipeline::CallerContext;
use crate::storage::branches::Branch;
use crate::storage::system_tables::{BoundStatement, ReadTarget, SystemTransaction, at, broken, records, text};

const DECIDED: &str = "temp.main._merge_memories";
const TABLE: &str = "raw._svc_memory.memories";

/// The result of merging the memories of a branch.
#[derive(Debug, Default)]
pub struct MemoryMerge {
    /// New on the mainline, or a next version there.
    pub taken: u64,
    pub conflicts: u64,
    /// Those that nobody has decided.
    pub open: u64,
    pub told: Vec<Conflict>,
}

/// Has anybody left a memory there?
pub async fn any(place: ReadTarget<'_>, branch_id: &str) -> Result<bool, Error> {
    let sql = format!("select to_json(count(*))::varchar from (from {TABLE} where branch_id = $1 limit 1)");
    Ok(records::<u64>(place, (sql, vec![text(branch_id)])).await?.pop().unwrap_or_default() > 0)
}

#[derive(Debug, Deserialize)]
struct MemorySums {
    taken: u64,
    conflicts: u64,
    open: u64,
    to_base: u64,
    of_others: u64,
}

/// Decides, and tells at most so many conflicts.
pub async fn decide(
    standing: &CallerContext,
    transaction: &mut SystemTransaction,
    (branch, rules): (&Branch, &Rules<'_>),
    most: usize,
    now: Timestamp,
) -> Result<MemoryMerge, Error> {
    transaction.run((decided(branch, rules, now), Vec::new())).await?;
    let agent = quote::text(standing.agent.id.as_deref().unwrap_or_default());
    let sums = format!(
        "select to_json({{taken: count(*) filter (take = 'theirs'), conflicts: count(kind), \
         open: count(*) filter (kind is not null and take is null), to_base: count(*) filter (take = 'base'), \
         of_others: count(*) filter (agent_id <> {agent})}})::varchar from {DECIDED}"
    );
    let found = transaction.records::<MemorySums>((sums, Vec::new())).await?.pop();
    let MemorySums { taken, conflicts, open, to_base, of_others } = found.ok_or_else(|| broken("sums of memories"))?;
    if standing.agent.verified && of_others > 0 {
        let message = "other agents have left memories on the branch: whose key is made for no agent must merge it";
        return Err(Error::PolicyDenied { message: message.to_owned() });
    }
    if to_base > 0 {
        return Err(invalid("resolutions", "the resolution of a memory takes ours or theirs"));
    }
    let side = |name: &str| format!("case when {name} is not null then {{content: {name}}} end");
    let told = format!(
        "select to_json({{conflict_id: conflict_id, kind: kind, \
         key: {{agent_id: agent_id, namespace: namespace, memory_key: memory_key}}, base: {}, ours: {}, theirs: {}, \
         columns: ['content']}})::varchar from {DECIDED} where kind is not null order by conflict_id limit {most}",
        side("base"),
        side("ours"),
        side("theirs")
    );
    let told: Vec<Conflict> = transaction.records((told, Vec::new())).await?;
    let told = told.into_iter().map(|conflict| Conflict { table: memory::TABLE.to_owned(), ..conflict }).collect();
    Ok(MemoryMerge { taken, conflicts, open, told })
}

/// Makes the table of what is decided: a row for each memory of the branch that lives.
fn decided(branch: &Branch, rules: &Rules<'_>, now: Timestamp) -> String {
    let (now, then) = (now.timestamp_micros(), branch.created_at.timestamp_micros());
    let live = format!("valid_to is null and (expires_at is null or epoch_us(expires_at) > {now})");
    let was = format!("epoch_us(valid_from) <= {then} and (valid_to is null or epoch_us(valid_to) > {then})");
    let id = conflict_id(branch, memory::TABLE, &["agent_id", "namespace", "memory_key"].map(str::to_owned));
    format!(
        "create temp table {DECIDED} as \
         with t as (select * from {TABLE} where branch_id = {branch_id} and {live}), \
         o as (select * from {TABLE} where branch_id is null and {live}), \
         b as (select * from {TABLE} where branch_id is null and memory_key is not null and {was}), \
         joined as (select t.memory_id as id, t.agent_id, t.namespace, t.memory_key, t.content as theirs, \
           o.memory_id as ours_id, o.made_by as ours_made_by, o.content as ours, b.memory_id as base_id, b.content as base, \
           (select max(v.version) from {TABLE} v where v.branch_id is null and v.agent_id = t.agent_id \
            and v.namespace = t.namespace and v.memory_key = t.memory_key) as version, \
           coalesce(o.content_sha256 = t.content_sha256, false) as same \
           from t left join o on o.agent_id = t.agent_id and o.namespace = t.namespace and (o.memory_key = t.memory_key or \
             (o.memory_key is null and t.memory_key is null and o.content_sha256 = t.content_sha256)) \
           left join b on b.agent_id = t.agent_id and b.namespace = t.namespace and b.memory_key = t.memory_key), \
         judged as (select *, case when same or memory_key is null then null \
           when ours_id is null and base_id is not null then 'delete_update' \
           when ours_id is not null and base_id is null then 'divergent_insert' \
           when ours_id <> base_id then 'divergent_update' end as kind from joined), \
         named as (select *, case when kind is not null then {id} end as conflict_id from judged) \
         select *, case when kind is not null then {take} when same then 'ours' else 'theirs' end as take from named",
        branch_id = quote::text(&branch.branch_id),
        take = take(rules),
    )
}

/// Carries it out; what is not taken goes when the branch ends.
pub fn apply(now: Timestamp) -> [BoundStatement; 2] {
    let replaced = format!(
        "update {TABLE} as m set valid_to = $1 from {DECIDED} as d where m.memory_id = d.ours_id and d.take = 'theirs'"
    );
    let taken = format!(
        "update {TABLE} as m set branch_id = null, valid_from = $1, version = coalesce(d.version, 0) + 1, \
         supersedes = d.ours_id, made_by = coalesce(d.ours_made_by, m.made_by) from {DECIDED} as d \
         where m.memory_id = d.id and d.take = 'theirs'"
    );
    [(replaced, vec![at(now)]), (taken, vec![at(now)])]
}

/// Nothing of a branch that has ended is remembered there.
pub fn leave(branch_id: &str) -> BoundStatement {
    (format!("delete from {TABLE} where branch_id = $1"), vec![Value::Text(branch_id.to_owned())])
}
