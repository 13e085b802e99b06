//! The context of one query when its policies are evaluated.

use std::collections::BTreeMap;
use std::net::IpAddr;

use chrono::{Datelike, NaiveTime, Timelike, Weekday};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::caller::words;
use crate::policy::TableRef;
use crate::{Role, Timestamp};

words!(
    /// The protocol a query came over.
    Origin, "query origin", {
        Rest = "rest",
        Arrow = "arrow",
        Pgwire = "pgwire",
        Flight = "flight",
        Mcp = "mcp",
        Dashboard = "dashboard",
        Shadow = "shadow",
    }
);

words!(
    /// What a statement does to a table.
    Operation, "operation", {
        Select = "select",
        Insert = "insert",
        Update = "update",
        Delete = "delete",
        Merge = "merge",
        Create = "create",
        Alter = "alter",
        Drop = "drop",
    }
);

/// The facts of one query when its policies are evaluated.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    pub role: Role,
    pub user_id: Option<&'a str>,
    pub attributes: &'a BTreeMap<String, String>,
    pub agent_id: Option<&'a str>,
    pub agent_framework: Option<&'a str>,
    pub origin: Origin,
    pub source_ip: Option<IpAddr>,
    /// Tables, and stages by `schema.@stage`.
    pub tables: Vec<TableRef<'a>>,
    pub storage: StorageUse<'a>,
    pub operations: Vec<Operation>,
    pub when: When,
}

/// How a query reaches files outside of the environment, if it does.
#[derive(Debug, Clone, Default)]
pub struct StorageUse<'a> {
    /// The storage integrations of its stages, by name.
    pub integrations: Vec<&'a str>,
    /// Stages that it does not name, whose files are also those of a stage that it names.
    pub sharing: Vec<TableRef<'a>>,
}

/// The moment a query is judged at. A simulation sets what the clock on the wall shows, in
/// whatever time zone a rule reads it; what it leaves out is as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct When {
    pub now: Timestamp,
    pub time_of_day: Option<NaiveTime>,
    pub day_of_week: Option<Weekday>,
}

impl From<Timestamp> for When {
    fn from(now: Timestamp) -> Self {
        Self { now, time_of_day: None, day_of_week: None }
    }
}

impl When {
    pub(super) fn time_in(self, zone: Tz) -> Option<NaiveTime> {
        let local = self.now.with_timezone(&zone).time();
        self.time_of_day.or_else(|| NaiveTime::from_hms_opt(local.hour(), local.minute(), local.second()))
    }

    pub(super) fn day_in(self, zone: Tz) -> Weekday {
        self.day_of_week.unwrap_or_else(|| self.now.with_timezone(&zone).weekday())
    }
}
