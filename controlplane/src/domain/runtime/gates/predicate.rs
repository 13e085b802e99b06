//! Predicates over a bag of facts.
//!
//! "`predicates` (each `key` dotted path into a fact bag, `operator`, `value`, `description`).
//! Predicate operators: `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `contains`, `regex`."
//!
//! What is missing fails, whatever the operator. Where both sides read as numbers they are compared
//! as numbers; other values are only equal or not.

use platform::{Error, Result};
use regex::RegexBuilder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::runtime::fields;

const KEY_MAX: usize = 200;
const VALUE_BYTES_MAX: usize = 4_096;
const PATTERN_BYTES_MAX: usize = 512;
/// Of the compiled pattern, in memory.
const PATTERN_SIZE_MAX: usize = 256 * 1024;
pub const PREDICATES_MAX: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GateOperator")]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
    Contains,
    Regex,
}

impl Operator {
    const fn words(self) -> &'static str {
        match self {
            Self::Eq => "equal to",
            Self::Ne => "other than",
            Self::Gt => "greater than",
            Self::Gte => "at least",
            Self::Lt => "less than",
            Self::Lte => "at most",
            Self::Contains => "something that contains",
            Self::Regex => "something that matches",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GatePredicate")]
#[serde(deny_unknown_fields)]
pub struct Predicate {
    pub key: String,
    pub operator: Operator,
    pub value: Value,
    #[serde(default)]
    pub description: String,
}

/// "`passed_conditions`, `failed_conditions` (each `key`, `expected`, `actual`, `message`)."
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "GateCondition")]
pub struct Condition {
    pub key: String,
    pub expected: Value,
    pub actual: Value,
    pub message: String,
}

impl Predicate {
    /// 422 naming what cannot be evaluated.
    pub fn admit(&self, place: &str) -> Result<()> {
        let refuse = |member: &str, message: &str| {
            Err(Error::InvalidRule { field: format!("{place}.{member}"), message: message.to_owned() })
        };
        let is_path = !self.key.is_empty() && self.key.split('.').all(|part| !part.is_empty());
        if !is_path || self.key.len() > KEY_MAX || self.key.chars().any(char::is_control) {
            return refuse("key", "`key` is a dotted path into the facts, such as tests.pass_rate");
        }
        if self.description.chars().count() > fields::PROSE_MAX {
            return refuse("description", "`description` is too long");
        }
        if self.value.to_string().len() > VALUE_BYTES_MAX {
            return refuse("value", "`value` has at most 4 KB");
        }
        match self.operator {
            Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte if number(&self.value).is_none() => {
                refuse("value", "`value` is a number: these are compared by size")
            }
            Operator::Regex => match self.value.as_str() {
                Some(pattern) if pattern.len() <= PATTERN_BYTES_MAX && compiled(pattern).is_some() => Ok(()),
                _ => refuse("value", "`value` is a regular expression of at most 512 bytes"),
            },
            _ => Ok(()),
        }
    }

    /// Whether the facts satisfy it, and what is to say of that.
    pub fn evaluate(&self, facts: &Value) -> (bool, Condition) {
        let actual = find(facts, &self.key);
        let passed = actual.is_some_and(|actual| self.holds(actual));
        let wanted = format!("{} {}", self.operator.words(), self.value);
        let message = match actual {
            None => format!("`{}` is missing: {wanted} is wanted", self.key),
            Some(_) if passed => format!("`{}` is {wanted}", self.key),
            Some(_) => format!("`{}` is not {wanted}", self.key),
        };
        let actual = actual.cloned().unwrap_or(Value::Null);
        (passed, Condition { key: self.key.clone(), expected: self.value.clone(), actual, message })
    }

    fn holds(&self, actual: &Value) -> bool {
        let sizes = number(actual).zip(number(&self.value));
        let ordered = |fits: fn(f64, f64) -> bool| sizes.is_some_and(|(actual, wanted)| fits(actual, wanted));
        match self.operator {
            Operator::Eq => self.is_equal(actual),
            Operator::Ne => !self.is_equal(actual),
            Operator::Gt => ordered(|actual, wanted| actual > wanted),
            Operator::Gte => ordered(|actual, wanted| actual >= wanted),
            Operator::Lt => ordered(|actual, wanted| actual < wanted),
            Operator::Lte => ordered(|actual, wanted| actual <= wanted),
            Operator::Contains => match actual {
                Value::Array(items) => items.iter().any(|item| self.is_equal(item)),
                Value::String(text) => self.value.as_str().is_some_and(|wanted| text.contains(wanted)),
                _ => false,
            },
            Operator::Regex => {
                let pattern = self.value.as_str().and_then(compiled);
                actual.as_str().zip(pattern).is_some_and(|(text, pattern)| pattern.is_match(text))
            }
        }
    }

    #[expect(clippy::float_cmp, reason = "equal is what the rule says: the same number")]
    fn is_equal(&self, actual: &Value) -> bool {
        match number(actual).zip(number(&self.value)) {
            Some((actual, wanted)) => actual == wanted,
            None => actual == &self.value,
        }
    }
}

/// Unanchored, and in time linear in the text.
fn compiled(pattern: &str) -> Option<regex::Regex> {
    RegexBuilder::new(pattern).size_limit(PATTERN_SIZE_MAX).build().ok()
}

/// A number, or a text that is one.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// What stands at a dotted path.
fn find<'a>(facts: &'a Value, key: &str) -> Option<&'a Value> {
    key.split('.').try_fold(facts, |value, part| match value {
        Value::Object(members) => members.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn predicate(key: &str, operator: &str, value: &Value) -> Predicate {
        serde_json::from_value(json!({"key": key, "operator": operator, "value": value})).unwrap()
    }

    #[test]
    fn every_operator_says_yes_and_no() {
        let facts = json!({"n": 5, "text": "7.5", "s": "green build", "list": ["a", 2], "deep": {"x": [{"y": true}]}});
        for (key, operator, value, passes) in [
            ("n", "eq", json!(5.0), true),
            ("n", "eq", json!("5"), true),
            ("n", "eq", json!(6), false),
            ("s", "eq", json!("green build"), true),
            ("s", "ne", json!("red"), true),
            ("n", "ne", json!(5), false),
            ("n", "gt", json!(4), true),
            ("n", "gt", json!(5), false),
            ("text", "gte", json!(7.5), true),
            ("text", "gte", json!(8), false),
            ("n", "lt", json!(6), true),
            ("n", "lt", json!(5), false),
            ("n", "lte", json!(5), true),
            ("n", "lte", json!(4), false),
            ("s", "contains", json!("build"), true),
            ("s", "contains", json!("broken"), false),
            ("list", "contains", json!(2), true),
            ("list", "contains", json!("b"), false),
            ("n", "contains", json!(5), false),
            ("s", "regex", json!("^green"), true),
            ("s", "regex", json!("build"), true),
            ("s", "regex", json!("^build"), false),
            ("n", "regex", json!("5"), false),
            ("deep.x.0.y", "eq", json!(true), true),
            ("deep.x.1.y", "eq", json!(true), false),
            ("s", "gt", json!(1), false),
        ] {
            let (passed, condition) = predicate(key, operator, &value).evaluate(&facts);
            assert_eq!(passed, passes, "{key} {operator} {value}: {}", condition.message);
        }
    }

    #[test]
    fn what_is_missing_fails_whatever_the_operator() {
        for operator in ["eq", "ne", "gt", "gte", "lt", "lte", "contains", "regex"] {
            let (passed, condition) = predicate("nowhere", operator, &json!("1")).evaluate(&json!({"x": 1}));
            assert_eq!((passed, condition.actual), (false, Value::Null), "{operator}");
        }
    }

    #[test]
    fn a_predicate_that_cannot_be_evaluated_is_refused() {
        for (key, operator, value) in [
            ("", "eq", json!(1)),
            ("a..b", "eq", json!(1)),
            ("a", "gt", json!("many")),
            ("a", "regex", json!("(")),
            ("a", "regex", json!(1)),
            ("a", "regex", json!("x{1000}{1000}")),
            ("a", "regex", json!("x".repeat(513))),
            ("a", "eq", json!("x".repeat(5_000))),
        ] {
            assert!(predicate(key, operator, &value).admit("predicates[0]").is_err(), "{key} {operator}");
        }
        assert!(predicate("a.b", "regex", &json!("^v[0-9]+$")).admit("predicates[0]").is_ok());
    }
}
