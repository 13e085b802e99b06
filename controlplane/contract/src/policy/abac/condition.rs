//! Conditions of attribute rules, and whether one query meets them.

use std::net::IpAddr;
use std::str::FromStr;

use chrono::{NaiveTime, Weekday};
use chrono_tz::Tz;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AbacRule, Action, Context, When};
use crate::policy::{STAGE_SIGN, TableRef};

/// What a rule asks about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Condition {
    AgentFrameworkIs,
    AgentIdIs,
    RoleIs,
    UserIs,
    QueryOriginIs,
    TableIs,
    StageIs,
    StorageIntegrationIs,
    OperationIs,
    SourceIpIn,
    AttributeIs(String),
    TimeOfDay,
    DayOfWeek,
}

/// No such condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a condition")]
pub struct UnknownCondition(pub String);

impl TryFrom<String> for Condition {
    type Error = UnknownCondition;

    fn try_from(text: String) -> Result<Self, UnknownCondition> {
        Ok(match text.as_str() {
            "AgentFrameworkIs" => Self::AgentFrameworkIs,
            "AgentIdIs" => Self::AgentIdIs,
            "RoleIs" => Self::RoleIs,
            "UserIs" => Self::UserIs,
            "QueryOriginIs" => Self::QueryOriginIs,
            "TableIs" => Self::TableIs,
            "StageIs" => Self::StageIs,
            "StorageIntegrationIs" => Self::StorageIntegrationIs,
            "OperationIs" => Self::OperationIs,
            "SourceIpIn" => Self::SourceIpIn,
            "TimeOfDay" => Self::TimeOfDay,
            "DayOfWeek" => Self::DayOfWeek,
            other => match other.strip_prefix("AttributeIs:") {
                Some(name) if !name.is_empty() => Self::AttributeIs(name.to_owned()),
                _ => return Err(UnknownCondition(text)),
            },
        })
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> Self {
        match condition {
            Condition::AttributeIs(name) => format!("AttributeIs:{name}"),
            other => format!("{other:?}"),
        }
    }
}

/// How a rule's condition stands to a context.
pub(super) enum Match {
    Yes,
    No,
    /// The caller has no such attribute.
    NotConcerned,
    /// The query uses nothing that the rule asks for, such as a stage.
    Unused,
}

pub(super) fn holds(rule: &AbacRule, context: &Context<'_>) -> Match {
    let listed = |value: Option<&str>| match value {
        None => Match::NotConcerned,
        Some(value) => yes_if(rule.values.iter().any(|listed| listed == value)),
    };
    match &rule.condition {
        // Agents name it themselves: capitals are no way out of a rule.
        Condition::AgentFrameworkIs => match context.agent_framework.map(folded) {
            None => Match::NotConcerned,
            Some(framework) => yes_if(rule.values.iter().any(|listed| folded(listed) == framework)),
        },
        Condition::AgentIdIs => listed(context.agent_id),
        Condition::RoleIs => listed(Some(context.role.as_str())),
        Condition::UserIs => listed(context.user_id),
        Condition::QueryOriginIs => listed(Some(context.origin.as_str())),
        Condition::AttributeIs(name) => listed(context.attributes.get(name).map(String::as_str)),
        Condition::StageIs if !context.tables.iter().any(|table| table.stage().is_some()) => Match::Unused,
        Condition::TableIs | Condition::StageIs => yes_if(is_named(rule, context)),
        Condition::StorageIntegrationIs => by_integration(rule, &context.storage.integrations),
        Condition::OperationIs => {
            yes_if(context.operations.iter().any(|operation| rule.values.iter().any(|v| v == operation.as_str())))
        }
        Condition::SourceIpIn => match context.source_ip {
            None => Match::NotConcerned,
            Some(ip) => yes_if(rule.values.iter().filter_map(|v| network(v)).any(|net| net.contains(&ip))),
        },
        Condition::TimeOfDay => yes_if(in_window(rule, context.when)),
        Condition::DayOfWeek => yes_if(on_day(rule, context.when)),
    }
}

/// Is one of the query's tables or stages among those that the rule names? What denies a stage denies each that shares
/// files with it; what allows one allows it by its own name alone.
fn is_named(rule: &AbacRule, context: &Context<'_>) -> bool {
    let named = |table: &TableRef<'_>| rule.names(*table).unwrap_or_default();
    context.tables.iter().any(named) || (rule.restricts() && context.storage.sharing.iter().any(named))
}

/// What allows an integration allows no other that is used beside it.
fn by_integration(rule: &AbacRule, used: &[&str]) -> Match {
    let listed = |name: &&str| rule.values.iter().any(|value| value.eq_ignore_ascii_case(name));
    if used.is_empty() {
        return Match::Unused;
    }
    yes_if(if rule.restricts() { used.iter().any(listed) } else { used.iter().all(listed) })
}

impl AbacRule {
    /// Does it deny what it names, or bound it?
    const fn restricts(&self) -> bool {
        matches!(self.action, Action::Deny | Action::ReadOnly)
    }

    /// Whether it names the table or stage; none where it asks for neither.
    pub fn names(&self, table: TableRef<'_>) -> Option<bool> {
        let asked = self.asked(table)?;
        Some(self.values.iter().any(|pattern| names_table(pattern, asked)))
    }

    /// Whether it names the table or stage itself, and not by a pattern.
    pub fn names_exactly(&self, table: TableRef<'_>) -> bool {
        self.asked(table).is_some_and(|asked| self.values.iter().any(|named| asked.is_named_by(named)))
    }

    /// The table or stage as the rule's values name it; none where it does not ask for such.
    fn asked<'t>(&self, table: TableRef<'t>) -> Option<TableRef<'t>> {
        match self.condition {
            Condition::TableIs => Some(table),
            Condition::StageIs => table.stage(),
            _ => None,
        }
    }
}

/// A value of `StageIs` as one of `TableIs` names the same stages.
pub fn stage_as_table(pattern: &str) -> String {
    match pattern.rsplit_once('.') {
        Some((schema, name)) => format!("{schema}.{STAGE_SIGN}{name}"),
        None => format!("{STAGE_SIGN}{pattern}"),
    }
}

fn folded(framework: &str) -> String {
    framework.trim().to_lowercase()
}

fn yes_if(condition: bool) -> Match {
    if condition { Match::Yes } else { Match::No }
}

/// "as the catalogue prints it, schema optional, `*` at the end".
pub fn names_table(pattern: &str, table: TableRef<'_>) -> bool {
    let Some(stem) = pattern.strip_suffix('*') else {
        return table.is_named_by(pattern);
    };
    let (schema, name) = stem.rsplit_once('.').unwrap_or(("main", stem));
    schema.eq_ignore_ascii_case(table.schema)
        && table.name.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}

pub(super) fn network(text: &str) -> Option<IpNet> {
    IpNet::from_str(text).ok().or_else(|| IpAddr::from_str(text).ok().map(IpNet::from))
}

pub(super) fn zone(rule: &AbacRule) -> Option<Tz> {
    rule.timezone.as_deref().map_or(Some(Tz::UTC), |name| name.parse().ok())
}

/// How a day ends, where a time of it would begin the next.
const END_OF_DAY: &str = "24:00";

/// `HH:MM`.
pub fn hour_and_minute(text: &str) -> Option<NaiveTime> {
    NaiveTime::parse_from_str(text, "%H:%M").ok()
}

/// From a time of a day until another, which it does not reach; past midnight where that one is the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    start: NaiveTime,
    /// `None`: the end of the day.
    end: Option<NaiveTime>,
}

impl Window {
    /// `HH:MM` each; `24:00` ends a day and begins none. Two times that are the same are no window.
    pub fn of(start: &str, end: &str) -> Option<Self> {
        let start = hour_and_minute(start)?;
        let end = if end == END_OF_DAY { None } else { Some(hour_and_minute(end)?) };
        (end != Some(start)).then_some(Self { start, end })
    }

    fn holds(self, now: NaiveTime) -> bool {
        match self.end {
            None => self.start <= now,
            Some(end) if self.start <= end => self.start <= now && now < end,
            Some(end) => self.start <= now || now < end,
        }
    }
}

fn in_window(rule: &AbacRule, when: When) -> bool {
    let both = rule.start.as_deref().zip(rule.end.as_deref());
    let window = both.and_then(|(start, end)| Window::of(start, end));
    let now = zone(rule).and_then(|zone| when.time_in(zone));
    window.zip(now).is_some_and(|(window, now)| window.holds(now))
}

fn on_day(rule: &AbacRule, when: When) -> bool {
    let Some(zone) = zone(rule) else { return false };
    let today = when.day_in(zone);
    rule.values.iter().any(|day| day.parse::<Weekday>().is_ok_and(|day| day == today))
}
