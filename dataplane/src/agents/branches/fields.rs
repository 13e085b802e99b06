//! Arguments about branches, with their limits.

use std::collections::BTreeMap;

use chrono::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BranchSeed;
use super::conflict::{Granularity, Side, Strategy};
use crate::Error;
use crate::limits::{counted, invalid, named, sized};
use crate::storage::branches::Status;

const TABLES_MAX: usize = 100;
const KEY_COLUMNS_MAX: usize = 32;
const DESCRIPTION_BYTES_MAX: usize = 4 * 1024;
const TTL_SECONDS_MAX: i64 = 7 * 24 * 3_600;
const RESOLUTIONS_MAX: usize = 10_000;

/// A branch to be made, as it is asked for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBranch {
    /// Tables it has, as `table` or `schema.table`, 1 to 100 of them; all that you may see if absent.
    pub tables: Option<Vec<String>>,
    /// Columns that tell the rows of a table without a primary key apart, by its name, as `{"stock": ["sku"]}`. Where
    /// both sides change a table without any key, nothing is merged until somebody says which side stands.
    #[serde(default)]
    keys: BTreeMap<String, Vec<String>>,
    /// What people call it; its id if absent.
    name: Option<String>,
    description: Option<String>,
    /// Seconds after which it is discarded, at most a week.
    #[serde(default = "hour")]
    ttl_seconds: i64,
}

/// The same within its limits.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// As `schema.table`.
    pub tables: Vec<String>,
    /// By the names of `tables`.
    pub(super) keys: BTreeMap<String, Vec<String>>,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    ttl_seconds: i64,
}

impl NewBranch {
    /// With all these tables where none is named.
    pub fn checked(self, all: Vec<String>) -> Result<Wanted, Error> {
        let Self { tables, keys, name, description, ttl_seconds } = self;
        let tables = match tables {
            Some(named) => within_schemas(named)?,
            None if all.len() > TABLES_MAX => {
                let message =
                    format!("there are {} tables, and a branch has at most {TABLES_MAX}: name them", all.len());
                return Err(invalid("tables", message));
            }
            None => all,
        };
        for (place, table) in tables.iter().enumerate() {
            let own = |path: &str| path.rsplit('.').next().unwrap_or(path).to_ascii_lowercase();
            if let Some(other) = tables.iter().take(place).find(|other| own(other) == own(table)) {
                let message = format!("{table}: the branch has a table of this name already, {other}");
                return Err(invalid(&format!("tables[{place}]"), message));
            }
        }
        name.as_ref().map_or(Ok(()), |name| named("name", name))?;
        sized("description", description.as_ref().map_or(0, String::len), DESCRIPTION_BYTES_MAX)?;
        if !(1..=TTL_SECONDS_MAX).contains(&ttl_seconds) {
            return Err(invalid("ttl_seconds", format!("ttl_seconds is from 1 to {TTL_SECONDS_MAX}")));
        }
        Ok(Wanted { keys: by_table(keys, &tables)?, tables, name, description, ttl_seconds })
    }
}

impl Wanted {
    pub(super) fn expires_at(&self, fresh: &BranchSeed) -> contract::Timestamp {
        fresh.now + Duration::seconds(self.ttl_seconds)
    }
}

fn within_schemas(mut tables: Vec<String>) -> Result<Vec<String>, Error> {
    counted("tables", tables.len(), TABLES_MAX)?;
    for (place, table) in tables.iter_mut().enumerate() {
        named(&format!("tables[{place}]"), table)?;
        if !table.contains('.') {
            *table = format!("main.{table}");
        }
    }
    Ok(tables)
}

/// The keys by the names that the branch's tables have.
fn by_table(given: BTreeMap<String, Vec<String>>, tables: &[String]) -> Result<BTreeMap<String, Vec<String>>, Error> {
    let mut keys = BTreeMap::new();
    for (name, columns) in given {
        named("keys", &name)?;
        let field = format!("keys.{name}");
        let path = if name.contains('.') { name } else { format!("main.{name}") };
        let table = tables.iter().find(|table| table.eq_ignore_ascii_case(&path));
        let table = table.ok_or_else(|| invalid(&field, format!("the branch has no table {path}")))?;
        counted(&field, columns.len(), KEY_COLUMNS_MAX)?;
        columns.iter().try_for_each(|column| named(&field, column))?;
        if keys.insert(table.clone(), columns).is_some() {
            return Err(invalid(&field, format!("the key of {table} is given twice")));
        }
    }
    Ok(keys)
}

/// A list of branches.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BranchListing {
    /// `active` (if absent), `merged`, `discarded`, `expired` or `all`.
    pub status: Option<String>,
    /// `next_cursor` of the same call, for the branches behind those that it has shown.
    pub cursor: Option<String>,
}

impl BranchListing {
    pub(super) fn status(&self) -> Result<Option<Status>, Error> {
        match self.status.as_deref() {
            None => Ok(Some(Status::Active)),
            Some("all") => Ok(None),
            Some(text) => {
                let known = Status::parse(text);
                let message = "status is active, merged, discarded, expired or all";
                known.map(Some).ok_or_else(|| invalid("status", message))
            }
        }
    }
}

/// How a branch is merged.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeRequest {
    pub branch_id: String,
    /// Who is right where both have changed the same row: `branch_wins`, `main_wins`; `fail_on_conflict`
    /// merges nothing then, `manual` takes what `resolutions` say. A conflict of kind `table` is for `manual` alone.
    #[serde(default)]
    pub strategy: Strategy,
    /// Only tell what it would come to.
    #[serde(default)]
    pub dry_run: bool,
    /// What is one change: a `cell` of a row, or the whole `row`.
    #[serde(default)]
    pub granularity: Granularity,
    /// One for each conflict, with the strategy `manual`.
    #[serde(default)]
    resolutions: Vec<Resolution>,
    /// `next_cursor` of the same call, for the conflicts behind those that it has shown. With it nothing is merged.
    pub cursor: Option<String>,
}

/// The side to take in one conflict.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Resolution {
    conflict_id: String,
    /// `base`, `ours` (the mainline) or `theirs` (the branch).
    take: Side,
}

impl MergeRequest {
    /// What decides its conflicts: all but which page of them is wanted.
    pub fn question(&self) -> impl Serialize {
        (&self.branch_id, self.strategy, self.granularity, &self.resolutions)
    }

    /// The side to take in each conflict, by its id.
    pub(super) fn resolutions(&self) -> Result<BTreeMap<String, Side>, Error> {
        let given = self.resolutions.len();
        if given > 0 && self.strategy != Strategy::Manual {
            return Err(invalid("resolutions", "resolutions need the strategy manual"));
        }
        if given > RESOLUTIONS_MAX {
            return Err(invalid("resolutions", format!("there are at most {RESOLUTIONS_MAX} resolutions")));
        }
        let mut sides = BTreeMap::new();
        for (place, resolution) in self.resolutions.iter().enumerate() {
            let id = &resolution.conflict_id;
            if id.is_empty() || id.len() > 64 || !id.chars().all(|c| c.is_ascii_alphanumeric()) {
                return Err(invalid(&format!("resolutions[{place}].conflict_id"), "this is no id of a conflict"));
            }
            if sides.insert(id.clone(), resolution.take).is_some() {
                return Err(invalid(&format!("resolutions[{place}].conflict_id"), "the conflict is resolved already"));
            }
        }
        Ok(sides)
    }
}

fn hour() -> i64 {
    3_600
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_cannot_be_is_refused_by_the_name_of_its_field() {
        let cases = [
            (json!({"tables": []}), "tables"),
            (json!({"tables": ["a", "other.A"]}), "tables[1]"),
            (json!({"tables": ["a", ""]}), "tables[1]"),
            (json!({"tables": ["a"], "name": ""}), "name"),
            (json!({"tables": ["a"], "ttl_seconds": 0}), "ttl_seconds"),
            (json!({"tables": ["a"], "keys": {"b": ["id"]}}), "keys.b"),
            (json!({"tables": ["a"], "keys": {"other.a": ["id"]}}), "keys.other.a"),
            (json!({"tables": ["a"], "keys": {"a": []}}), "keys.a"),
            (json!({"tables": ["a"], "keys": {"a": [""]}}), "keys.a"),
            (json!({"tables": ["a"], "keys": {"A": ["id"], "main.a": ["id"]}}), "keys.main.a"),
            (json!({"tables": ["a"], "keys": {"": ["id"]}}), "keys"),
        ];
        for (given, field) in cases {
            let new: NewBranch = serde_json::from_value(given.clone()).unwrap();
            let refused = new.checked(Vec::new()).unwrap_err();
            assert!(matches!(&refused, Error::InvalidArgument { field: found, .. } if found == field), "{given}");
        }
        let all = |count: usize| (0..count).map(|n| format!("main.t{n}")).collect::<Vec<_>>();
        let new = || serde_json::from_value::<NewBranch>(json!({"keys": {"T7": ["id"]}})).unwrap();
        let wanted = new().checked(all(TABLES_MAX)).unwrap();
        assert_eq!((wanted.tables.len(), wanted.keys["main.t7"].as_slice()), (TABLES_MAX, &["id".to_owned()][..]));
        assert!(new().checked(all(TABLES_MAX + 1)).is_err(), "more than a branch may have");
        let merging: MergeRequest =
            serde_json::from_value(json!({"branch_id": "b", "resolutions": [{"conflict_id": "x", "take": "ours"}]}))
                .unwrap();
        assert!(merging.resolutions().is_err(), "only manual takes them");
    }
}
