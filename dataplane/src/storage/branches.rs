//! Branches as they are stored: their records, the names of their schemas, and those that are open.
//!
//! A branch has its own copy of each of its tables, and a second copy that nobody writes to: the base. A statement is
//! on a branch when its search path says so; names, policies and the audit know its tables as the mainline's.

mod open;
mod records;
mod status;

use std::collections::BTreeMap;

use contract::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::storage::system_tables::json_text;

pub use open::{OpenBranch, OpenBranches, Writing};
pub(crate) use records::{found, record};
pub use status::Status;

/// Before the id in the name that a search path has for a branch.
const PREFIX: &str = "branch_";

/// The id of the branch that a schema of this name is.
pub(crate) fn named(schema: &str) -> Option<String> {
    let id = schema.strip_prefix(PREFIX)?;
    (id.len() == 32 && id.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))).then(|| id.to_owned())
}

/// The schema of a statement that is asked on the branch of this id.
pub(crate) fn schema_on(branch_id: &str) -> Result<String, Error> {
    let schema = schema_name(branch_id);
    if named(&schema).is_some() { Ok(schema) } else { Err(Error::BranchNotFound) }
}

/// The name that a search path has for it.
pub(crate) fn schema_name(branch_id: &str) -> String {
    format!("{PREFIX}{branch_id}")
}

/// Where the branch's own rows are.
pub(crate) fn own_schema(branch_id: &str) -> String {
    format!("_svc_branch_{branch_id}")
}

/// Where the rows are as they were.
pub(crate) fn base_schema(branch_id: &str) -> String {
    format!("_svc_base_{branch_id}")
}

/// Where a table's rows are from, of what is kept as its comment.
pub(crate) fn origin(kept: Option<&str>) -> Option<String> {
    kept.and_then(|kept| sql::Comment::read(kept).ours)
}

/// One branch, open or ended, as its record has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Branch {
    pub branch_id: String,
    pub name: String,
    pub description: Option<String>,
    pub agent_id: String,
    pub made_by: Option<String>,
    #[serde(deserialize_with = "json_text")]
    pub tables: Vec<Copied>,
    pub base_snapshot: String,
    pub status: Status,
    #[serde(with = "chrono::serde::ts_microseconds")]
    pub created_at: Timestamp,
    #[serde(with = "chrono::serde::ts_microseconds")]
    pub expires_at: Timestamp,
    /// Makes the ids of its conflicts, which would tell of keys without it.
    pub(crate) salt: String,
}

/// A table of a branch, as it was when it was copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    pub schema: String,
    pub name: String,
    pub columns: Vec<engine::Column>,
    pub primary_key: Vec<String>,
    /// The columns that tell its rows apart where it has no primary key, as they were given with the branch. Before
    /// they could be given there are none.
    #[serde(default)]
    pub given_key: Vec<String>,
    /// Its other keys; of a copy that was made before they were written down it is not known.
    #[serde(default)]
    pub unique: Option<Vec<Vec<String>>>,
    /// What its CHECKs are about; not known as above.
    #[serde(default)]
    pub checks: Option<Vec<Vec<String>>>,
    /// What was written down with it: who may read the copy.
    #[serde(default)]
    pub origin: Option<String>,
    /// The lengths of its columns of text that have one.
    #[serde(default)]
    pub lengths: BTreeMap<String, u64>,
}

/// The lengths of a table's columns of text, by name.
pub fn lengths(table: &engine::Table) -> BTreeMap<String, u64> {
    let of = |kept: &engine::ColumnComment| Some((kept.name.clone(), sql::ColumnComment::read(&kept.comment).length?));
    table.column_comments.iter().filter_map(of).collect()
}

impl Copied {
    /// The columns of its keys beside the primary one, or of its CHECKs. What is not known may be of all of them.
    fn known(&self, written: Option<&Vec<Vec<String>>>) -> Vec<Vec<String>> {
        let all = || vec![self.columns.iter().map(|column| column.name.clone()).collect()];
        written.cloned().unwrap_or_else(all)
    }

    /// As policies name it.
    pub fn path(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }
}

impl Branch {
    /// The paths of its tables.
    pub fn paths(&self) -> Vec<String> {
        self.tables.iter().map(Copied::path).collect()
    }

    /// The tables whose rows nothing tells apart.
    pub fn keyless(&self) -> Vec<String> {
        let keyless = |table: &&Copied| table.primary_key.is_empty() && table.given_key.is_empty();
        self.tables.iter().filter(keyless).map(Copied::path).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_of_ours_is_a_branch() {
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(named(&schema_name(id)).as_deref(), Some(id));
        for other in ["main", "branch_", "branch_of_mine", "branch_0123456789ABCDEF0123456789ABCDEF"] {
            assert_eq!(named(other), None, "{other}");
        }
    }

    #[test]
    fn a_table_of_a_branch_of_before_is_read_and_has_no_given_key() {
        let written = r#"{"schema": "main", "name": "note", "columns": [], "primary_key": []}"#;
        let table: Copied = serde_json::from_str(written).unwrap();
        assert!(table.given_key.is_empty() && table.unique.is_none());
    }
}
