//! A conflict: both sides have changed the same. What it shows, how it is named, and who decides it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sql::ast::quote;

use crate::storage::branches::Branch;

contract::named! {
    /// Who is right where both have changed the same.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Strategy {
        #[default]
        BranchWins = "branch_wins",
        MainWins = "main_wins",
        FailOnConflict = "fail_on_conflict",
        Manual = "manual",
    }
}

/// What is one change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    #[default]
    Cell,
    Row,
}

contract::named! {
    /// Of a conflict.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Side {
        Base = "base",
        Ours = "ours",
        Theirs = "theirs",
    }
}

/// Both sides have changed the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    pub conflict_id: String,
    /// `schema.table`.
    #[serde(default)]
    pub table: String,
    /// `divergent_insert`, `divergent_update` or `delete_update` of a row; `table`: both sides have changed a table that
    /// has no key; `schema`.
    pub kind: String,
    /// The values of the row's key.
    pub key: Map<String, Value>,
    /// The row as it was; null where it was not there. Of a table: how many rows it has, and how many each side has
    /// added and deleted.
    pub base: Value,
    pub ours: Value,
    pub theirs: Value,
    /// The columns that differ, of a row.
    #[serde(deserialize_with = "present")]
    pub columns: Vec<String>,
}

fn present<'de, D: serde::Deserializer<'de>>(read: D) -> Result<Vec<String>, D::Error> {
    Ok(Vec::<Option<String>>::deserialize(read)?.into_iter().flatten().collect())
}

/// How the conflicts of a merge are decided.
pub struct Rules<'a> {
    pub strategy: Strategy,
    pub granularity: Granularity,
    pub resolutions: &'a BTreeMap<String, Side>,
}

/// The side that a conflict takes; null where nobody has decided.
pub fn take(rules: &Rules<'_>) -> String {
    match rules.strategy {
        Strategy::BranchWins => "'theirs'".to_owned(),
        Strategy::MainWins => "'ours'".to_owned(),
        Strategy::FailOnConflict => "null::varchar".to_owned(),
        Strategy::Manual if rules.resolutions.is_empty() => "null::varchar".to_owned(),
        Strategy::Manual => {
            let each = rules.resolutions.iter();
            let whens = each.map(|(id, side)| format!("when {} then '{}'", quote::text(id), side.as_str()));
            format!("case conflict_id {} end", whens.collect::<Vec<_>>().join(" "))
        }
    }
}

/// The same for a table without a key: no strategy knows which of its rows are the same.
pub fn take_of_table(rules: &Rules<'_>) -> String {
    match rules.strategy {
        Strategy::Manual => take(rules),
        Strategy::BranchWins | Strategy::MainWins | Strategy::FailOnConflict => "null::varchar".to_owned(),
    }
}

/// The same for the same key of the same table of the same branch, and telling nothing of it. Of a whole table: for the
/// same changes of it.
pub fn conflict_id(branch: &Branch, table: &str, key: &[String]) -> String {
    let before = quote::text(&format!("{}\n{table}\n", branch.salt));
    format!("sha256({before} || to_json([{}])::varchar)[1:32]", texts(key))
}

/// Values of different types as one list.
fn texts(values: &[String]) -> String {
    values.iter().map(|value| format!("{value}::varchar")).collect::<Vec<_>>().join(", ")
}
