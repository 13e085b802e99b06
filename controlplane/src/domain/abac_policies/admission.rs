//! Validation of the rules of an ABAC policy before they are stored.
//!
//! The form (members, types, limits) is 400. "Unknown condition, action or attribute is refused
//! when it is written", and so is a value that no caller could ever have: 422 `INVALID_RULE`.

use std::collections::BTreeSet;

use contract::policy::abac::{self, AbacRule, Condition};
use platform::{Error, Result};
use serde_json::Value;

const RULES_MAX: usize = 100;
const VALUES_MAX: usize = 500;
/// Of a value, a message and a description.
const TEXT_MAX: usize = 1_000;

/// The rules, if they are in order. `attributes` are those known in the organization.
pub fn admit(rules: &Value, attributes: &BTreeSet<String>) -> Result<Vec<AbacRule>> {
    let rules = parse(rules)?;
    if rules.is_empty() || rules.len() > RULES_MAX {
        return Err(Error::invalid("rules", "1..100", format!("a policy has 1 to {RULES_MAX} rules")));
    }
    for (index, rule) in rules.iter().enumerate() {
        let at = format!("rules[{index}]");
        sized(&at, rule)?;
        fitting(&at, rule)?;
        abac::admit(rule).map_err(|message| Error::InvalidRule { field: at.clone(), message })?;
        carried(&at, rule, attributes)?;
    }
    Ok(rules)
}

/// Text that is shown to people: a description, a message.
pub fn text(field: &str, given: &str) -> Result<()> {
    let fits = given.len() <= TEXT_MAX && !given.contains('\0');
    fits.then_some(()).ok_or_else(|| {
        Error::invalid(field, "0..1000", format!("`{field}` is at most {TEXT_MAX} bytes, without the character U+0000"))
    })
}

fn parse(rules: &Value) -> Result<Vec<AbacRule>> {
    serde_path_to_error::deserialize::<_, Vec<AbacRule>>(rules).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "rules".to_owned() } else { format!("rules{path}") };
        let message = format!("`{field}`: {}", error.inner());
        if is_unknown_word(rules, &path) {
            Error::InvalidRule { field, message }
        } else {
            Error::invalid(field, "rule", message)
        }
    })
}

/// Is what failed a condition or an action that is text, so a word we do not know?
fn is_unknown_word(rules: &Value, path: &str) -> bool {
    let Some((index, member)) = path.strip_prefix('[').and_then(|rest| rest.split_once("].")) else {
        return false;
    };
    let given = index.parse::<usize>().ok().and_then(|index| rules.get(index)).and_then(|rule| rule.get(member));
    matches!(member, "condition" | "action") && given.is_some_and(Value::is_string)
}

fn sized(at: &str, rule: &AbacRule) -> Result<()> {
    let field = format!("{at}.values");
    if rule.values.len() > VALUES_MAX {
        return Err(Error::invalid(field, "0..500", format!("a rule has at most {VALUES_MAX} values")));
    }
    rule.values.iter().try_for_each(|value| text(&field, value))?;
    rule.message.as_deref().map_or(Ok(()), |message| text(&format!("{at}.message"), message))
}

/// A member that the condition does not read is a rule that says something else than it does.
fn fitting(at: &str, rule: &AbacRule) -> Result<()> {
    let window = rule.condition == Condition::TimeOfDay;
    let zoned = window || rule.condition == Condition::DayOfWeek;
    for (member, given, belongs) in [
        ("values", !rule.values.is_empty(), !window),
        ("start", rule.start.is_some(), window),
        ("end", rule.end.is_some(), window),
        ("timezone", rule.timezone.is_some(), zoned),
    ] {
        if given && !belongs {
            let condition = String::from(rule.condition.clone());
            let message = format!("`{member}` does not go with `{condition}`");
            return Err(Error::invalid(format!("{at}.{member}"), "absent", message));
        }
    }
    Ok(())
}

fn carried(at: &str, rule: &AbacRule, attributes: &BTreeSet<String>) -> Result<()> {
    match &rule.condition {
        Condition::AttributeIs(name) if !attributes.contains(name) => Err(Error::InvalidRule {
            field: format!("{at}.condition"),
            message: format!("no user or key of the organization carries the attribute `{name}`"),
        }),
        _ => Ok(()),
    }
}

/// The users that rules ask for, by id.
pub fn users(rules: &[AbacRule]) -> Vec<String> {
    let asking = rules.iter().filter(|rule| rule.condition == Condition::UserIs);
    asking.flat_map(|rule| rule.values.clone()).collect()
}

/// A rule for somebody who is no user, such as an e-mail address, would be met by nobody.
pub fn known(rules: &[AbacRule], users: &BTreeSet<String>) -> Result<()> {
    for (index, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.condition == Condition::UserIs) {
        if let Some(value) = rule.values.iter().find(|value| !users.contains(*value)) {
            let message = format!("`{value}` is not the id of a user of the organization");
            return Err(Error::InvalidRule { field: format!("rules[{index}].values"), message });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(rules: &Value) -> String {
        match admit(rules, &BTreeSet::from(["region".to_owned()])) {
            Ok(_) => "ok".to_owned(),
            Err(error) => {
                let problem = error.problem();
                format!("{} {}", problem.code.http(), problem.details["field"].as_str().unwrap_or_default())
            }
        }
    }

    #[test]
    fn what_is_unknown_is_422_and_what_has_no_form_400() {
        for (rule, expected) in [
            (json!({"condition": "AgentFrameworkIs", "values": ["langchain"], "action": "allow"}), "ok"),
            (json!({"condition": "AttributeIs:region", "values": ["EU"], "action": "deny_outside"}), "ok"),
            (json!({"condition": "AttributeIs:shoe", "values": ["EU"], "action": "deny"}), "422 rules[0].condition"),
            (json!({"condition": "MoonIs", "values": ["full"], "action": "deny"}), "422 rules[0].condition"),
            (json!({"condition": "RoleIs", "values": ["analyst"], "action": "shout"}), "422 rules[0].action"),
            (json!({"condition": "RoleIs", "values": ["emperor"], "action": "deny"}), "422 rules[0]"),
            (json!({"condition": "TimeOfDay", "start": "09:00", "end": "25:00", "action": "deny"}), "422 rules[0]"),
            (
                json!({"condition": "TimeOfDay", "start": "09:00", "end": "17:00", "timezone": "Mars/Base", "action": "deny"}),
                "422 rules[0]",
            ),
            (json!({"condition": 5, "values": ["x"], "action": "deny"}), "400 rules[0].condition"),
            (json!({"condition": "RoleIs", "values": ["analyst"]}), "400 rules[0]"),
            (json!({"condition": "RoleIs", "values": "analyst", "action": "deny"}), "400 rules[0].values"),
            (
                json!({"condition": "RoleIs", "values": ["analyst"], "start": "09:00", "action": "deny"}),
                "400 rules[0].start",
            ),
            (
                json!({"condition": "RoleIs", "values": ["analyst"], "action": "deny", "exempt_roles": ["x"]}),
                "400 rules[0].exempt_roles[0]",
            ),
            (json!({"condition": "UserIs", "values": ["x".repeat(1_001)], "action": "deny"}), "400 rules[0].values"),
        ] {
            assert_eq!(check(&json!([rule])), expected, "{rule}");
        }
        assert_eq!(check(&json!([])), "400 rules");
        assert_eq!(check(&json!({})), "400 rules");
    }
}
