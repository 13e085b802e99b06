//! What callers say of branches, with its limits.

use std::collections::BTreeMap;

use chrono::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

use super::conflict::{Granularity, Side, Strategy};
use super::{Fresh, Status};
use crate::Error;
use crate::limits::{counted, invalid, named, sized};

const TABLES_MAX: usize = 100;
const DESCRIPTION_BYTES_MAX: usize = 4 * 1024;
const TTL_SECONDS_MAX: i64 = 7 * 24 * 3_600;
const RESOLUTIONS_MAX: usize = 10_000;

/// A branch to be made.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBranch {
    /// Tables it has, as `table` or `schema.table`, 1 to 100 of them.
    pub tables: Vec<String>,
    /// What people call it; its id if absent.
    pub name: Option<String>,
    pub description: Option<String>,
    /// Seconds after which it is discarded, at most a week.
    #[serde(default = "hour")]
    pub ttl_seconds: i64,
}

impl NewBranch {
    pub fn checked(mut self) -> Result<Self, Error> {
        counted("tables", self.tables.len(), TABLES_MAX)?;
        for (place, table) in self.tables.iter_mut().enumerate() {
            named(&format!("tables[{place}]"), table)?;
            if !table.contains('.') {
                *table = format!("main.{table}");
            }
        }
        for (place, table) in self.tables.iter().enumerate() {
            let own = |path: &str| path.rsplit('.').next().unwrap_or(path).to_ascii_lowercase();
            if self.tables.iter().take(place).any(|other| own(other) == own(table)) {
                return Err(invalid(&format!("tables[{place}]"), "the branch has a table of this name already"));
            }
        }
        self.name.as_ref().map_or(Ok(()), |name| named("name", name))?;
        sized("description", self.description.as_ref().map_or(0, String::len), DESCRIPTION_BYTES_MAX)?;
        if !(1..=TTL_SECONDS_MAX).contains(&self.ttl_seconds) {
            return Err(invalid("ttl_seconds", format!("ttl_seconds is from 1 to {TTL_SECONDS_MAX}")));
        }
        Ok(self)
    }

    pub(super) fn expires_at(&self, fresh: &Fresh) -> contract::Timestamp {
        fresh.now + Duration::seconds(self.ttl_seconds)
    }
}

/// A list of branches.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Listing {
    /// `active` (if absent), `merged`, `discarded`, `expired` or `all`.
    status: Option<String>,
}

impl Listing {
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
pub struct Merging {
    pub branch_id: String,
    /// Who is right where both have changed the same: `branch_wins`, `main_wins`; `fail_on_conflict`
    /// merges nothing then, `manual` takes what `resolutions` say.
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
}

/// The side to take in one conflict.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Resolution {
    conflict_id: String,
    /// `base`, `ours` (the mainline) or `theirs` (the branch).
    take: Side,
}

impl Merging {
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
        ];
        for (given, field) in cases {
            let new: NewBranch = serde_json::from_value(given.clone()).unwrap();
            let refused = new.checked().unwrap_err();
            assert!(matches!(&refused, Error::InvalidArgument { field: found, .. } if found == field), "{given}");
        }
        let merging: Merging =
            serde_json::from_value(json!({"branch_id": "b", "resolutions": [{"conflict_id": "x", "take": "ours"}]}))
                .unwrap();
        assert!(merging.resolutions().is_err(), "only manual takes them");
    }
}
