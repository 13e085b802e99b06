//! ABAC: one typed, pure evaluator, used to enforce, to simulate and to summarise.
//!
//! Every enabled policy is evaluated, highest `priority` first, then by id. Deny beats read-only
//! beats allow; the first denying rule gives the message. No policy: allowed.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::str::FromStr;

use chrono::{Datelike, NaiveTime, Timelike, Weekday};
use chrono_tz::Tz;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TableRef, is_exempt};
use crate::caller::words;
use crate::{PolicyId, Role, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AbacPolicy {
    pub policy_id: PolicyId,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub rules: Vec<AbacRule>,
    pub priority: i32,
    pub enabled: bool,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbacRule {
    pub condition: Condition,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// `HH:MM`, with `end`, for a time window; over midnight when `start` is after `end`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// IANA name; UTC when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    pub action: Action,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exempt_roles: Vec<Role>,
}

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

words!(
    /// What a rule does.
    Action, "action", {
        /// Listed passes; another value is denied; a caller without the attribute is not concerned.
        Allow = "allow",
        /// Matched is denied.
        Deny = "deny",
        /// Not matched is denied.
        DenyOutside = "deny_outside",
        /// Matched may only read.
        ReadOnly = "read_only",
    }
);

words!(
    /// The door a query came through.
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

/// What is known of one query when its policies are evaluated.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    pub role: Role,
    pub user_id: Option<&'a str>,
    pub attributes: &'a BTreeMap<String, String>,
    pub agent_id: Option<&'a str>,
    pub agent_framework: Option<&'a str>,
    pub origin: Origin,
    pub source_ip: Option<IpAddr>,
    pub tables: Vec<TableRef<'a>>,
    pub operations: Vec<Operation>,
    pub when: When,
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
    fn time_in(self, zone: Tz) -> Option<NaiveTime> {
        let local = self.now.with_timezone(&zone).time();
        self.time_of_day.or_else(|| NaiveTime::from_hms_opt(local.hour(), local.minute(), local.second()))
    }

    fn day_in(self, zone: Tz) -> Weekday {
        self.day_of_week.unwrap_or_else(|| self.now.with_timezone(&zone).weekday())
    }
}

/// The verdict of all policies together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub effect: Effect,
    pub message: Option<String>,
    /// Policies of which a rule denied, restricted or allowed, in the order they were evaluated.
    pub matched: Vec<(PolicyId, String, Action)>,
    pub policies_evaluated: usize,
}

impl Decision {
    /// The decision on a statement in a word, and a reason for when no rule gives one.
    pub fn in_words(&self, writes: bool) -> (&'static str, &'static str) {
        match self.effect {
            Effect::Allow if self.matched.is_empty() => ("allow", "no policy matches"),
            Effect::Allow => ("allow", "allowed by policy"),
            Effect::ReadOnly if writes => ("deny", "policy lets you only read here"),
            Effect::ReadOnly => ("read_only", "policy lets you only read here"),
            Effect::Deny => ("deny", "denied by policy"),
            Effect::DenyTable => ("deny", "table denied by policy"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    Allow,
    ReadOnly,
    Deny,
    /// Denied by `TableIs`: answers alike whether or not the table exists.
    DenyTable,
}

/// How a rule's condition stands to a context.
enum Match {
    Yes,
    No,
    /// The caller has no such attribute.
    NotConcerned,
}

pub fn evaluate(policies: &[AbacPolicy], context: &Context<'_>) -> Decision {
    let mut ordered: Vec<&AbacPolicy> = policies.iter().filter(|policy| policy.enabled).collect();
    ordered.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.policy_id.cmp(&b.policy_id)));
    let mut decision =
        Decision { effect: Effect::Allow, message: None, matched: Vec::new(), policies_evaluated: ordered.len() };
    for policy in ordered {
        for rule in policy.rules.iter().filter(|rule| !is_exempt(&rule.exempt_roles, context.role)) {
            let Some(effect) = effect(rule, context) else {
                continue;
            };
            decision.matched.push((policy.policy_id.clone(), policy.name.clone(), rule.action));
            if effect > Effect::ReadOnly && decision.effect <= Effect::ReadOnly {
                decision.message.clone_from(&rule.message);
                decision.effect = effect;
            } else if decision.effect == Effect::Allow {
                decision.effect = effect;
            }
        }
    }
    decision
}

/// What the rule does here; `None` when it has nothing to say.
fn effect(rule: &AbacRule, context: &Context<'_>) -> Option<Effect> {
    let denied = if rule.condition == Condition::TableIs { Effect::DenyTable } else { Effect::Deny };
    match (rule.action, holds(rule, context)) {
        (Action::Allow, Match::Yes) => Some(Effect::Allow),
        (Action::Allow | Action::DenyOutside, Match::No)
        | (Action::Deny, Match::Yes)
        | (Action::DenyOutside, Match::NotConcerned) => Some(denied),
        (Action::ReadOnly, Match::Yes) => Some(Effect::ReadOnly),
        (Action::Allow, Match::NotConcerned)
        | (Action::Deny | Action::ReadOnly, Match::No | Match::NotConcerned)
        | (Action::DenyOutside, Match::Yes) => None,
    }
}

fn holds(rule: &AbacRule, context: &Context<'_>) -> Match {
    let listed = |value: Option<&str>| match value {
        None => Match::NotConcerned,
        Some(value) => yes_if(rule.values.iter().any(|listed| listed == value)),
    };
    match &rule.condition {
        Condition::AgentFrameworkIs => listed(context.agent_framework),
        Condition::AgentIdIs => listed(context.agent_id),
        Condition::RoleIs => listed(Some(context.role.as_str())),
        Condition::UserIs => listed(context.user_id),
        Condition::QueryOriginIs => listed(Some(context.origin.as_str())),
        Condition::AttributeIs(name) => listed(context.attributes.get(name).map(String::as_str)),
        Condition::TableIs => {
            yes_if(context.tables.iter().any(|table| rule.values.iter().any(|v| names_table(v, *table))))
        }
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

fn yes_if(condition: bool) -> Match {
    if condition { Match::Yes } else { Match::No }
}

/// "as the catalogue prints it, schema optional, `*` at the end".
pub(super) fn names_table(pattern: &str, table: TableRef<'_>) -> bool {
    let Some(stem) = pattern.strip_suffix('*') else {
        return table.is_named_by(pattern);
    };
    let (schema, name) = stem.rsplit_once('.').unwrap_or(("main", stem));
    schema.eq_ignore_ascii_case(table.schema)
        && table.name.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}

/// What could name a table: another pattern would be met by none, and deny nothing.
fn is_pattern(text: &str) -> bool {
    let stem = text.strip_suffix('*').unwrap_or(text);
    let is_all = stem.is_empty() || stem.ends_with('.');
    let parts: Vec<&str> = stem.split('.').collect();
    let is_name = |part: &&str| !part.is_empty() && part.trim() == *part;
    let names = if is_all { parts.split_last().map_or(&[][..], |(_, schemas)| schemas) } else { &parts[..] };
    let has_signs = stem.chars().any(|c| c.is_control() || c == '*' || c == '"');
    (text.ends_with('*') || !is_all) && parts.len() <= 2 && names.iter().all(is_name) && !has_signs
}

/// An address of IPv4 in the words of IPv6: peers are known by the former.
fn is_mapped(net: IpNet) -> bool {
    matches!(net, IpNet::V6(net) if net.addr().to_ipv4_mapped().is_some())
}

fn network(text: &str) -> Option<IpNet> {
    IpNet::from_str(text).ok().or_else(|| IpAddr::from_str(text).ok().map(IpNet::from))
}

fn zone(rule: &AbacRule) -> Option<Tz> {
    rule.timezone.as_deref().map_or(Some(Tz::UTC), |name| name.parse().ok())
}

/// `HH:MM`.
pub fn hour_and_minute(text: &str) -> Option<NaiveTime> {
    NaiveTime::parse_from_str(text, "%H:%M").ok()
}

fn in_window(rule: &AbacRule, when: When) -> bool {
    let (Some(zone), Some(start), Some(end)) =
        (zone(rule), rule.start.as_deref().and_then(hour_and_minute), rule.end.as_deref().and_then(hour_and_minute))
    else {
        return false;
    };
    let Some(now) = when.time_in(zone) else {
        return false;
    };
    if start <= end { start <= now && now < end } else { start <= now || now < end }
}

fn on_day(rule: &AbacRule, when: When) -> bool {
    let Some(zone) = zone(rule) else { return false };
    let today = when.day_in(zone);
    rule.values.iter().any(|day| day.parse::<Weekday>().is_ok_and(|day| day == today))
}

/// Why a rule cannot be stored: 422 `INVALID_RULE`.
pub fn admit(rule: &AbacRule) -> Result<(), String> {
    let values = &rule.values;
    let needs_values = !matches!(rule.condition, Condition::TimeOfDay);
    if needs_values && values.is_empty() {
        return Err(format!("`{}` needs `values`", String::from(rule.condition.clone())));
    }
    if zone(rule).is_none() {
        return Err("`timezone` is not an IANA time zone".to_owned());
    }
    let all = |fits: &dyn Fn(&str) -> bool| values.iter().find(|v| !fits(v)).cloned();
    let wrong = match rule.condition {
        Condition::RoleIs => all(&|v| Role::from_str(v).is_ok()),
        Condition::QueryOriginIs => all(&|v| Origin::from_str(v).is_ok()),
        Condition::OperationIs => all(&|v| Operation::from_str(v).is_ok()),
        Condition::SourceIpIn => all(&|v| network(v).is_some_and(|net| !is_mapped(net))),
        Condition::TableIs => all(&is_pattern),
        Condition::DayOfWeek => all(&|v| v.parse::<Weekday>().is_ok()),
        Condition::TimeOfDay => {
            let both =
                rule.start.as_deref().and_then(hour_and_minute).zip(rule.end.as_deref().and_then(hour_and_minute));
            return match both {
                None => Err("`TimeOfDay` needs `start` and `end` as HH:MM".to_owned()),
                Some((start, end)) if start == end => Err("`start` and `end` are the same: that is no time".to_owned()),
                Some(_) => Ok(()),
            };
        }
        Condition::AgentFrameworkIs | Condition::AgentIdIs | Condition::UserIs | Condition::AttributeIs(_) => None,
    };
    wrong.map_or(Ok(()), |value| Err(format!("`{value}` is not a value of `{}`", String::from(rule.condition.clone()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(condition: &str, values: &[&str], action: Action) -> AbacRule {
        AbacRule {
            condition: Condition::try_from(condition.to_owned()).unwrap(),
            values: values.iter().map(|v| (*v).to_owned()).collect(),
            start: None,
            end: None,
            timezone: None,
            action,
            message: Some(format!("{condition} {action}")),
            exempt_roles: vec![Role::Owner],
        }
    }

    fn decide(rules: Vec<AbacRule>, change: impl FnOnce(&mut Context<'_>)) -> Effect {
        let policy = AbacPolicy {
            policy_id: "p".into(),
            name: "p".into(),
            description: None,
            rules,
            priority: 1,
            enabled: true,
            created_at: chrono::DateTime::UNIX_EPOCH,
        };
        let none = BTreeMap::new();
        let mut context = Context {
            role: Role::Analyst,
            user_id: Some("u"),
            attributes: &none,
            agent_id: None,
            agent_framework: None,
            origin: Origin::Rest,
            source_ip: Some([10, 1, 2, 3].into()),
            tables: vec![TableRef { schema: "main", name: "Payroll" }],
            operations: vec![Operation::Select],
            when: chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap().into(), // Tuesday 2023-11-14 22:13:20 UTC
        };
        change(&mut context);
        evaluate(&[policy], &context).effect
    }

    #[test]
    fn each_condition_and_action_has_its_effect() {
        let window = |start: &str, end: &str, zone: &str, action| AbacRule {
            start: Some(start.into()),
            end: Some(end.into()),
            timezone: Some(zone.into()),
            ..rule("TimeOfDay", &[], action)
        };
        let cases = [
            (rule("TableIs", &["payroll"], Action::Deny), Effect::DenyTable),
            (rule("TableIs", &["main.pay*"], Action::Deny), Effect::DenyTable),
            (rule("TableIs", &["sales.payroll"], Action::Deny), Effect::Allow),
            (rule("RoleIs", &["analyst"], Action::ReadOnly), Effect::ReadOnly),
            (rule("UserIs", &["somebody"], Action::Allow), Effect::Deny),
            (rule("AgentFrameworkIs", &["langchain"], Action::Allow), Effect::Allow),
            (rule("AgentFrameworkIs", &["langchain"], Action::DenyOutside), Effect::Deny),
            (rule("SourceIpIn", &["10.0.0.0/8"], Action::Deny), Effect::Deny),
            (rule("SourceIpIn", &["10.0.0.0/8"], Action::DenyOutside), Effect::Allow),
            (rule("OperationIs", &["select"], Action::Deny), Effect::Deny),
            (rule("DayOfWeek", &["Tue"], Action::Deny), Effect::Deny),
            (rule("DayOfWeek", &["Mon", "Fri"], Action::Deny), Effect::Allow),
            (window("22:00", "23:00", "UTC", Action::Deny), Effect::Deny),
            (window("23:00", "06:00", "Europe/Berlin", Action::Deny), Effect::Deny),
            (window("09:00", "17:00", "UTC", Action::DenyOutside), Effect::Deny),
        ];
        for (rule, effect) in cases {
            assert_eq!(decide(vec![rule.clone()], |_| {}), effect, "{rule:?}");
        }
    }

    #[test]
    fn a_simulated_clock_is_read_in_the_time_zone_of_the_rule() {
        let office = AbacRule {
            start: Some("09:00".into()),
            end: Some("17:00".into()),
            timezone: Some("Asia/Tokyo".into()),
            ..rule("TimeOfDay", &[], Action::DenyOutside)
        };
        for (time, effect) in [("09:00", Effect::Allow), ("16:59", Effect::Allow), ("17:00", Effect::Deny)] {
            let decided = decide(vec![office.clone()], |context| context.when.time_of_day = hour_and_minute(time));
            assert_eq!(decided, effect, "{time}");
        }
        let friday = rule("DayOfWeek", &["Fri"], Action::Deny);
        let decided = decide(vec![friday], |context| context.when.day_of_week = Some(Weekday::Fri));
        assert_eq!(decided, Effect::Deny);
    }

    #[test]
    fn deny_beats_read_only_beats_allow_and_the_exempt_are_not_concerned() {
        let rules = vec![rule("RoleIs", &["analyst"], Action::ReadOnly), rule("TableIs", &["payroll"], Action::Deny)];
        assert_eq!(decide(rules.clone(), |_| {}), Effect::DenyTable);
        assert_eq!(decide(rules, |context| context.role = Role::Owner), Effect::Allow);
    }

    #[test]
    fn what_cannot_be_evaluated_is_refused_when_it_is_written() {
        for bad in [
            rule("RoleIs", &["emperor"], Action::Deny),
            rule("SourceIpIn", &["nowhere"], Action::Deny),
            rule("TimeOfDay", &[], Action::Deny),
            rule("TableIs", &[], Action::Deny),
            rule("DayOfWeek", &["Someday"], Action::Deny),
            rule("SourceIpIn", &["::ffff:10.0.0.0/104"], Action::Deny),
            rule("SourceIpIn", &["::ffff:10.0.0.1"], Action::Deny),
            AbacRule {
                start: Some("09:00".to_owned()),
                end: Some("09:00".to_owned()),
                ..rule("TimeOfDay", &[], Action::Deny)
            },
        ] {
            assert!(admit(&bad).is_err(), "{bad:?}");
        }
        for pattern in
            ["", " ", "payroll ", "pay*roll", "*_secret", "a.b.c", "acme.main.*", "\"payroll\"", "main.", ".t", ".*"]
        {
            assert!(admit(&rule("TableIs", &["orders", pattern], Action::Deny)).is_err(), "{pattern:?}");
        }
        for pattern in ["*", "payroll", "main.payroll", "pay*", "hr.*", "hr.pay*", "Gehälter 2026"] {
            assert!(admit(&rule("TableIs", &[pattern], Action::Deny)).is_ok(), "{pattern:?}");
        }
        assert!(Condition::try_from("MoonIs".to_owned()).is_err());
    }
}
