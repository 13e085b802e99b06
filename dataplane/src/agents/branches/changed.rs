//! Changes of a branch since its base: how many rows of each table, and which.
//!
//! Told of base and branch alone, so that nothing follows from what the mainline holds meanwhile. Of a row of which only
//! masked columns have changed nothing is shown.

use std::collections::BTreeSet;

use contract::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sql::ast::quote;

use super::Branches;
use super::key::tells_apart;
use super::merging::{is_as_it_was, masked, sees_all};
use super::store::path;
use crate::Error;
use crate::limits::invalid;
use crate::pipeline::CallerContext;
use crate::storage::branches::{Branch, Copied, base_schema, own_schema};
use crate::storage::system_tables::{SystemTransaction, broken};

/// Rows of a table that are shown.
const ROWS_SHOWN: usize = 100;
/// Characters of a value that are.
const CHARS_SHOWN: usize = 500;
/// What they may be together, as JSON.
const BYTES_SHOWN: usize = 1024 * 1024;

/// What a branch has changed in one table since its base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Changes {
    pub added: u64,
    /// Rows of a table without a key are only added and deleted.
    pub changed: u64,
    pub deleted: u64,
}

/// What has become of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowChange {
    Added,
    Changed,
    Deleted,
}

/// One row that a branch has changed.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ChangedRow {
    pub change: RowChange,
    /// How many such rows, of a table without a key; else one.
    pub times: u64,
    /// Its values as text, the first 500 characters of each; null where there was no such row.
    pub before: Option<Map<String, Value>>,
    pub after: Option<Map<String, Value>>,
}

impl Branches {
    /// How many rows the branch has changed, by table.
    pub async fn diff(
        &self,
        standing: &CallerContext,
        branch_id: &str,
        now: Timestamp,
    ) -> Result<Vec<(String, Changes)>, Error> {
        let open = self.reached(standing, branch_id, now).await?;
        let mut transaction = SystemTransaction::begin(standing.into()).await?;
        let catalog = transaction.catalog().await?;
        let mut found = Vec::new();
        for table in &open.branch.tables {
            let comparison = Comparison::of(standing, &mut transaction, &catalog, (&open.branch, table)).await?;
            let changes = transaction.records((comparison.counts(), Vec::new())).await?.pop();
            found.push((table.path(), changes.ok_or_else(|| broken("counts of changes"))?));
        }
        Ok(found)
    }

    /// The rows that it has changed in one of its tables, the first of them, and whether there are more.
    pub async fn changes(
        &self,
        standing: &CallerContext,
        (branch_id, wanted): (&str, &str),
        now: Timestamp,
    ) -> Result<(Vec<ChangedRow>, bool), Error> {
        let open = self.reached(standing, branch_id, now).await?;
        let mut transaction = SystemTransaction::begin(standing.into()).await?;
        let catalog = transaction.catalog().await?;
        let wanted = if wanted.contains('.') { wanted.to_owned() } else { format!("main.{wanted}") };
        let table = open.branch.tables.iter().find(|table| table.path().eq_ignore_ascii_case(&wanted));
        let table = table.ok_or_else(|| invalid("table", format!("the branch has no table {wanted}")))?;
        let comparison = Comparison::of(standing, &mut transaction, &catalog, (&open.branch, table)).await?;
        let Some(sql) = comparison.rows(ROWS_SHOWN + 1) else { return Ok((Vec::new(), false)) };
        within_bytes(transaction.records((sql, Vec::new())).await?)
    }
}

/// The first of them, and whether they were cut.
fn within_bytes(mut rows: Vec<ChangedRow>) -> Result<(Vec<ChangedRow>, bool), Error> {
    let (mut fit, mut bytes) = (0, 0);
    for row in rows.iter().take(ROWS_SHOWN) {
        bytes += serde_json::to_vec(row).map_err(broken)?.len();
        if bytes > BYTES_SHOWN {
            break;
        }
        fit += 1;
    }
    let cut = fit < rows.len();
    rows.truncate(fit);
    Ok((rows, cut))
}

/// A table of a branch beside its base.
struct Comparison<'a> {
    table: &'a Copied,
    base: String,
    own: String,
    key: &'a [String],
    /// In lower case.
    masked: BTreeSet<String>,
}

impl<'a> Comparison<'a> {
    async fn of(
        standing: &CallerContext,
        transaction: &mut SystemTransaction,
        catalog: &engine::Catalog,
        (branch, table): (&Branch, &'a Copied),
    ) -> Result<Self, Error> {
        sees_all(standing, table)?;
        if !is_as_it_was(catalog, table) {
            return Err(Error::Reshaped { table: table.path() });
        }
        let masked = masked(standing, table);
        let own = path(&own_schema(&branch.branch_id), &table.name);
        let base = path(&base_schema(&branch.branch_id), &table.name);
        let is_broken = table.is_by_given_key(&masked) && !tells_apart(transaction, &own, &table.given_key).await?;
        let key: &[String] = if is_broken { &[] } else { table.key(&masked) };
        Ok(Self { table, base, own, key, masked })
    }

    fn counts(&self) -> String {
        let all: Vec<_> = (0..self.table.columns.len()).collect();
        if self.key.is_empty() {
            return format!(
                "select to_json({{added: coalesce(sum(greatest(n, 0)), 0)::bigint, changed: 0, \
                 deleted: coalesce(sum(greatest(-n, 0)), 0)::bigint}})::varchar from ({})",
                self.counted(&all)
            );
        }
        format!(
            "select to_json({{added: count(*) filter (b.here is null), \
             changed: count(*) filter (b.here and t.here and {}), \
             deleted: count(*) filter (t.here is null)}})::varchar from {}",
            differs(&all),
            self.joined()
        )
    }

    /// None where nothing of a row is to be seen.
    fn rows(&self, most: usize) -> Option<String> {
        let seen: Vec<_> = self.columns().filter(|(_, name)| !self.is_masked(name)).map(|(i, _)| i).collect();
        if seen.is_empty() {
            return None;
        }
        // By a key that is masked it would be told of rows of which nothing else has changed, and in which order they are.
        if self.key.is_empty() || self.keys().any(|i| !seen.contains(&i)) {
            let row = self.object("counted.");
            return Some(format!(
                "select to_json({{change: case when n > 0 then 'added' else 'deleted' end, times: abs(n), \
                 before: case when n < 0 then {row} end, after: case when n > 0 then {row} end}})::varchar as told \
                 from ({}) as counted where n <> 0 order by told limit {most}",
                self.counted(&seen)
            ));
        }
        let order = self.keys().map(|i| format!("coalesce(b.c{i}, t.c{i})"));
        Some(format!(
            "select to_json({{change: case when b.here is null then 'added' when t.here is null then 'deleted' \
             else 'changed' end, times: 1, before: case when b.here then {} end, \
             after: case when t.here then {} end}})::varchar from {} \
             where b.here is null or t.here is null or {} order by {} limit {most}",
            self.object("b."),
            self.object("t."),
            self.joined(),
            differs(&seen),
            order.collect::<Vec<_>>().join(", "),
        ))
    }

    /// `b`, `t`: base and branch, row by row; `c…`: their columns.
    fn joined(&self) -> String {
        let side = |from: &str| {
            let columns = self.columns().map(|(i, name)| format!("{} as c{i}", quote::name(name)));
            format!("(select true as here, {} from {from})", columns.collect::<Vec<_>>().join(", "))
        };
        let same = self.keys().map(|i| format!("b.c{i} = t.c{i}")).collect::<Vec<_>>().join(" and ");
        format!("{} as b full join {} as t on {same}", side(&self.base), side(&self.own))
    }

    /// Rows by the values of these columns, and `n`: how many more of them the branch has.
    fn counted(&self, columns: &[usize]) -> String {
        let read = self.columns().filter(|(i, _)| columns.contains(i));
        let read = read.map(|(i, name)| format!("{} as c{i}", quote::name(name))).collect::<Vec<_>>().join(", ");
        let names = columns.iter().map(|i| format!("c{i}")).collect::<Vec<_>>().join(", ");
        format!(
            "select {names}, sum(one)::bigint as n from (select {read}, 1 as one from {} \
             union all select {read}, -1 as one from {}) group by {names}",
            self.own, self.base
        )
    }

    /// The values of a row as text, by their names; of what is masked nothing is shown.
    fn object(&self, of: &str) -> String {
        let member = |(i, column): (usize, &str)| {
            let (name, text) = (quote::name(column), format!("{of}c{i}::varchar"));
            if self.is_masked(column) {
                return format!("{name}: '***'");
            }
            format!("{name}: case when length({text}) > {CHARS_SHOWN} then left({text}, {CHARS_SHOWN}) else {text} end")
        };
        format!("{{{}}}", self.columns().map(member).collect::<Vec<_>>().join(", "))
    }

    fn columns(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        self.table.columns.iter().enumerate().map(|(i, column)| (i, column.name.as_str()))
    }

    /// The places of the key's columns.
    fn keys(&self) -> impl Iterator<Item = usize> {
        self.columns().filter(|(_, name)| self.key.iter().any(|key| key == name)).map(|(i, _)| i)
    }

    fn is_masked(&self, column: &str) -> bool {
        self.masked.contains(&column.to_ascii_lowercase())
    }
}

fn differs(columns: &[usize]) -> String {
    let each = columns.iter().map(|i| format!("b.c{i} is distinct from t.c{i}"));
    format!("({})", each.collect::<Vec<_>>().join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_by_their_number_and_by_their_bytes() {
        let row = |chars: usize| ChangedRow {
            change: RowChange::Added,
            times: 1,
            before: None,
            after: Some([("a".to_owned(), Value::String("x".repeat(chars)))].into_iter().collect()),
        };
        for (given, chars, shown) in [(3, 1, 3), (ROWS_SHOWN + 1, 1, ROWS_SHOWN), (ROWS_SHOWN, BYTES_SHOWN / 10, 9)] {
            let (rows, cut) = within_bytes(vec![row(chars); given]).unwrap();
            assert_eq!((rows.len(), cut), (shown, shown < given), "{given} of {chars}");
        }
    }
}
