//! What may be stored as the rules of a policy.
//!
//! The form (members, types, roles, mask functions) is 400; a filter that names an attribute
//! nobody carries, or that no data plane could hold to, is 422 `INVALID_RULE`. "A placeholder is
//! known if built in or carried by a user or key of the organization now."

use std::collections::BTreeSet;

use contract::policy::{BUILT_IN, MaskFunction, MaskingRule, RowFilterRule, Rules};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sql::filter::FILTER_BYTES_MAX;

use crate::{Error, Result};

const RULES_MAX: usize = 500;
const IDENTIFIER_MAX: usize = 128;
const VISIBLE_CHARS_MAX: u32 = 1_000;

/// Rules of a type, if they are in order. `attributes` are those known in the organization.
pub fn admit(type_name: &str, rules: &Value, attributes: &BTreeSet<String>) -> Result<Rules> {
    match type_name {
        "column_masking" => {
            let rules = parse::<MaskingRule>(rules)?;
            each(&rules, mask)?;
            Ok(Rules::ColumnMasking(rules))
        }
        "row_level_security" => {
            let rules = parse::<RowFilterRule>(rules)?;
            each(&rules, |at, rule| filter(at, rule, attributes))?;
            Ok(Rules::RowLevelSecurity(rules))
        }
        _ => Err(Error::invalid("type", "type", "`type` is `column_masking` or `row_level_security`")),
    }
}

fn parse<T: DeserializeOwned>(rules: &Value) -> Result<Vec<T>> {
    serde_path_to_error::deserialize::<_, Vec<T>>(rules).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "rules".to_owned() } else { format!("rules{path}") };
        let message = format!("`{field}`: {}", error.inner());
        Error::invalid(field, "rule", message)
    })
}

fn each<T>(rules: &[T], admit: impl Fn(&str, &T) -> Result<()>) -> Result<()> {
    if rules.is_empty() || rules.len() > RULES_MAX {
        return Err(Error::invalid("rules", "1..500", format!("a policy has 1 to {RULES_MAX} rules")));
    }
    rules.iter().enumerate().try_for_each(|(index, rule)| admit(&format!("rules[{index}]"), rule))
}

fn mask(at: &str, rule: &MaskingRule) -> Result<()> {
    table(at, &rule.table)?;
    identifier(&format!("{at}.column"), &rule.column)?;
    let field = format!("{at}.visible_chars");
    match (rule.function, rule.visible_chars) {
        (MaskFunction::Partial, Some(shown)) if shown <= VISIBLE_CHARS_MAX => Ok(()),
        (MaskFunction::Partial, _) => {
            let message = format!("`partial` needs `visible_chars`, from 0 to {VISIBLE_CHARS_MAX}");
            Err(Error::invalid(field, "0..1000", message))
        }
        (_, Some(_)) => Err(Error::invalid(field, "absent", "`visible_chars` goes with `partial` alone")),
        (_, None) => Ok(()),
    }
}

fn filter(at: &str, rule: &RowFilterRule, attributes: &BTreeSet<String>) -> Result<()> {
    table(at, &rule.table)?;
    let field = format!("{at}.filter");
    if rule.filter.trim().is_empty() || rule.filter.len() > FILTER_BYTES_MAX {
        return Err(Error::invalid(field, "size", format!("a filter has 1 to {FILTER_BYTES_MAX} bytes")));
    }
    let known = |name: &str| BUILT_IN.contains(&name) || attributes.contains(name);
    match sql::filter::admit(&rule.filter, &known) {
        Ok(_) => Ok(()),
        Err(error) if error.kind == sql::error::Kind::Syntax => Err(Error::invalid(field, "sql", error.message)),
        Err(error) => Err(Error::InvalidRule { field, message: error.message }),
    }
}

/// `table` or `schema.table`.
fn table(at: &str, text: &str) -> Result<()> {
    let field = format!("{at}.table");
    let parts: Vec<&str> = text.split('.').collect();
    if parts.len() > 2 {
        return Err(Error::invalid(field, "table", "`table` is `table` or `schema.table`"));
    }
    parts.into_iter().try_for_each(|part| identifier(&field, part))
}

fn identifier(field: &str, text: &str) -> Result<()> {
    let fits = !text.trim().is_empty() && text.chars().count() <= IDENTIFIER_MAX && !text.chars().any(char::is_control);
    if fits {
        Ok(())
    } else {
        Err(Error::invalid(field, "1..128", format!("`{field}` names something in 1 to 128 characters")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(type_name: &str, rules: &Value) -> String {
        let attributes = BTreeSet::from(["region".to_owned()]);
        match admit(type_name, rules, &attributes) {
            Ok(_) => "ok".to_owned(),
            Err(error) => {
                let problem = error.problem();
                format!("{} {}", problem.code.http(), problem.details["field"].as_str().unwrap_or_default())
            }
        }
    }

    #[test]
    fn a_mask_is_in_order_or_its_field_is_named() {
        let mask = |table: &str, function: &str, visible: Value| json!([{"table": table, "column": "ssn", "function": function, "visible_chars": visible, "exempt_roles": ["owner"]}]);
        for (rules, expected) in [
            (mask("customers", "full", Value::Null), "ok"),
            (mask("main.customers", "partial", json!(4)), "ok"),
            (mask("customers", "partial", Value::Null), "400 rules[0].visible_chars"),
            (mask("customers", "partial", json!(1_001)), "400 rules[0].visible_chars"),
            (mask("customers", "hash", json!(4)), "400 rules[0].visible_chars"),
            (mask("customers", "rot13", Value::Null), "400 rules[0].function"),
            (mask("a.b.c", "null", Value::Null), "400 rules[0].table"),
            (mask("", "null", Value::Null), "400 rules[0].table"),
            (
                json!([{"table": "t", "column": "c", "function": "full", "exempt_roles": ["emperor"]}]),
                "400 rules[0].exempt_roles[0]",
            ),
            (json!([{"table": "t", "function": "full"}]), "400 rules[0]"),
            (json!([]), "400 rules"),
            (json!({}), "400 rules"),
        ] {
            assert_eq!(check("column_masking", &rules), expected, "{rules}");
        }
    }

    #[test]
    fn a_filter_that_could_not_be_held_to_is_refused() {
        for (filter, expected) in [
            ("region = '{region}'", "ok"),
            ("region = {region} and tenant = '{org_id}'", "ok"),
            ("region = '{continent}'", "422 rules[0].filter"),
            ("1 = 1", "422 rules[0].filter"),
            ("count(*) > 1", "422 rules[0].filter"),
            ("region =", "400 rules[0].filter"),
            ("", "400 rules[0].filter"),
        ] {
            let rules = json!([{"table": "customers", "filter": filter, "exempt_roles": []}]);
            assert_eq!(check("row_level_security", &rules), expected, "{filter}");
        }
    }

    #[test]
    fn there_are_two_types() {
        assert_eq!(check("abac", &json!([])), "400 type");
    }
}
