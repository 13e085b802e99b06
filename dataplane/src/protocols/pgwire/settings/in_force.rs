//! Settings as statements ask for them: each statement does, so they are read when they change.

use std::time::Duration;

use chrono_tz::Tz;
use contract::{Heal, StandardStrings};

use super::known::{HEAL, STANDARD_STRINGS, find};
use super::values::SettingValues;
use super::{timeout, zone};

/// Schemas of `search_path` that are searched.
const SEARCHED_MAX: usize = 16;

/// The settings of one moment that concern a statement.
#[derive(Debug, Clone)]
pub(super) struct InForce {
    pub zone: Tz,
    pub timeout: Option<Duration>,
    /// Where unqualified tables are looked for first.
    pub schema: String,
    /// And behind it.
    pub searched: Vec<String>,
    pub is_read_only: bool,
    pub heal: Option<Heal>,
    pub strings: StandardStrings,
}

impl InForce {
    pub fn of(values: &SettingValues) -> Self {
        let value = |name: &str| find(name).map_or("", |known| values.of(known));
        let set = |name: &str| find(name).and_then(|known| values.set(known));
        let names = value("search_path").split(',').map(|name| name.trim().trim_matches(['"', '\'']));
        let is_schema = |name: &&str| !name.is_empty() && !matches!(*name, "$user" | "pg_catalog" | "public");
        let mut schemas = names.filter(is_schema).map(str::to_owned).take(SEARCHED_MAX);
        let read_only = value("transaction_read_only").to_lowercase();
        Self {
            // both were read before they were kept
            zone: zone(value("timezone")).unwrap_or(Tz::UTC),
            timeout: timeout(value("statement_timeout")).unwrap_or(None),
            schema: schemas.next().unwrap_or_else(|| "main".to_owned()),
            searched: schemas.collect(),
            is_read_only: matches!(read_only.as_str(), "on" | "true" | "yes" | "1"),
            heal: set(HEAL).and_then(|word| word.parse().ok()),
            strings: set(STANDARD_STRINGS).and_then(|word| word.parse().ok()).unwrap_or(StandardStrings::On),
        }
    }
}
