//! Which rules can be stored: one that could never be met, or never be evaluated, is refused when it is written.

use std::str::FromStr;

use chrono::Weekday;
use ipnet::IpNet;

use super::condition::{Window, network, zone};
use super::{AbacRule, Condition, Operation, Origin};
use crate::Role;
use crate::policy::STAGE_SIGN;

const SAME: &str = "`start` and `end` are the same, which is no time: a whole day is from 00:00 to 24:00";

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
        Condition::StageIs => all(&is_stage_pattern),
        Condition::StorageIntegrationIs => all(&is_word),
        Condition::DayOfWeek => all(&|v| v.parse::<Weekday>().is_ok()),
        Condition::TimeOfDay => {
            return match rule.start.as_deref().zip(rule.end.as_deref()) {
                Some((start, end)) if start == end => Err(SAME.to_owned()),
                Some((start, end)) if Window::of(start, end).is_some() => Ok(()),
                _ => Err("`TimeOfDay` needs `start` and `end` as HH:MM, `end` up to 24:00".to_owned()),
            };
        }
        Condition::AgentFrameworkIs | Condition::AgentIdIs | Condition::UserIs | Condition::AttributeIs(_) => None,
    };
    wrong.map_or(Ok(()), |value| Err(format!("`{value}` is not a value of `{}`", String::from(rule.condition.clone()))))
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

/// A stage is named as a table is, without its sign.
fn is_stage_pattern(text: &str) -> bool {
    let name = text.rsplit_once('.').map_or(text, |(_, name)| name);
    is_pattern(text) && !name.starts_with(STAGE_SIGN)
}

/// What a storage integration could be called.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// An address of IPv4 in the words of IPv6: peers are known by the former.
fn is_mapped(net: IpNet) -> bool {
    matches!(net, IpNet::V6(net) if net.addr().to_ipv4_mapped().is_some())
}
