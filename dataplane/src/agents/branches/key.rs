//! The columns that tell the rows of a table apart: its primary key, or what whoever made the branch has given.
//!
//! A given key is none of the table's own constraints, so it is looked at: when the branch is made, and again, on the
//! branch and on the mainline, when it is merged. Like a primary key it has no NULL and no two rows of the same values.

use std::collections::BTreeSet;

use sql::ast::quote;

use super::merging::{masked, sees_all};
use super::store::path;
use crate::Error;
use crate::limits::invalid;
use crate::pipeline::CallerContext;
use crate::storage::branches::{Branch, Copied, own_schema};
use crate::storage::system_tables::{SystemTransaction, broken};

impl Copied {
    /// None where nothing tells its rows apart. Where a column is masked for the caller, a given key is none for them: by
    /// a key of their choice, whether rows have changed under it would tell of values that they do not see.
    pub(super) fn key(&self, masked: &BTreeSet<String>) -> &[String] {
        match self.primary_key.as_slice() {
            [] if masked.is_empty() => &self.given_key,
            [] => &[],
            primary => primary,
        }
    }

    /// Is it a given one?
    pub(super) fn is_by_given_key(&self, masked: &BTreeSet<String>) -> bool {
        self.primary_key.is_empty() && !self.key(masked).is_empty()
    }
}

/// The key that a caller gives for a table, in the table's own words.
pub fn given(standing: &CallerContext, table: &Copied, columns: &[String]) -> Result<Vec<String>, Error> {
    let path = table.path();
    let wrong = |message: String| invalid(&field(&path), message);
    if !table.primary_key.is_empty() {
        return Err(wrong(format!("the primary key of {path} tells its rows apart: leave this key out")));
    }
    sees_all(standing, table)?;
    let masked = masked(standing, table);
    if columns.iter().any(|column| masked.contains(&column.to_ascii_lowercase())) {
        let message = format!("columns that you give as the key of table {path} are masked for you: give others");
        return Err(Error::PolicyDenied { message });
    }
    let mut key = Vec::new();
    for wanted in columns {
        let known = table.columns.iter().find(|column| column.name.eq_ignore_ascii_case(wanted));
        let known = known.ok_or_else(|| wrong(format!("{path} has no column {wanted}")))?;
        if key.contains(&known.name) {
            return Err(wrong(format!("column {wanted} is named twice")));
        }
        key.push(known.name.clone());
    }
    Ok(key)
}

/// Does a given key hold for the table as it is copied?
pub async fn holds(transaction: &mut SystemTransaction, table: &Copied) -> Result<(), Error> {
    let key = &table.given_key;
    if key.is_empty() || tells_apart(transaction, &path(&table.schema, &table.name), key).await? {
        return Ok(());
    }
    let message = format!(
        "({}) does not tell the rows of {} apart: there are NULLs in it, or rows with the same values",
        key.join(", "),
        table.path()
    );
    Err(invalid(&field(&table.path()), message))
}

/// Does a given key still hold on both sides of a merge? The base is as it was copied.
pub async fn still_holds(transaction: &mut SystemTransaction, branch: &Branch, table: &Copied) -> Result<(), Error> {
    let own = path(&own_schema(&branch.branch_id), &table.name);
    for (side, stored) in [("branch", own), ("mainline", path(&table.schema, &table.name))] {
        if !tells_apart(transaction, &stored, &table.given_key).await? {
            return Err(Error::KeyBroken { table: table.path(), side, key: table.given_key.join(", ") });
        }
    }
    Ok(())
}

/// Has it no NULL in this table, and no two rows of the same values?
pub async fn tells_apart(transaction: &mut SystemTransaction, stored: &str, key: &[String]) -> Result<bool, Error> {
    let names: Vec<_> = key.iter().map(|column| quote::name(column)).collect();
    let nulls: Vec<_> = names.iter().map(|name| format!("{name} is null")).collect();
    let sql = format!(
        "select to_json(not exists (select 1 from {stored} where {}) \
         and not exists (select 1 from {stored} group by {} having count(*) > 1))::varchar",
        nulls.join(" or "),
        names.join(", ")
    );
    transaction.records((sql, Vec::new())).await?.pop().ok_or_else(|| broken("a key"))
}

fn field(path: &str) -> String {
    format!("keys.{path}")
}
