//! Validation of the rules of a policy before they are stored.
//!
//! The form (members, types, roles, mask functions) is 400; a filter that names an attribute
//! nobody carries, or that no data plane could hold to, is 422 `INVALID_RULE`. "A placeholder is known
//! if built in or carried by a user or key of the organization now." Whether a rule rules something is
//! `binding`'s to say.

use std::collections::BTreeSet;

use contract::SqlAnalyzer;
use contract::analyzer::FilterError;
use contract::policy::{BUILT_IN, FILTER_BYTES_MAX, MaskFunction, MaskingRule, RowFilterRule, Rules};
use platform::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

const RULES_MAX: usize = 500;
const IDENTIFIER_MAX: usize = 128;
const VISIBLE_CHARS_MAX: u32 = 1_000;

/// Rules of a type, if they are in order. `attributes` are those known in the organization.
pub fn admit(sql: &dyn SqlAnalyzer, type_name: &str, rules: &Value, attributes: &BTreeSet<String>) -> Result<Rules> {
    match type_name {
        "column_masking" => {
            let rules = parse::<MaskingRule>(rules)?;
            each(&rules, mask)?;
            Ok(Rules::ColumnMasking(rules))
        }
        "row_level_security" => {
            let rules = parse::<RowFilterRule>(rules)?;
            each(&rules, |at, rule| filter(sql, at, rule, attributes))?;
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
    column(&format!("{at}.column"), &rule.column)?;
    let field = format!("{at}.visible_chars");
    let takes = |function: MaskFunction| function.traits().takes_visible_chars;
    match (takes(rule.function), rule.visible_chars) {
        (true, Some(shown)) if shown <= VISIBLE_CHARS_MAX => Ok(()),
        (true, _) => {
            let message = format!("`{}` needs `visible_chars`, from 0 to {VISIBLE_CHARS_MAX}", rule.function);
            Err(Error::invalid(field, "0..1000", message))
        }
        (false, Some(_)) => {
            let taking = MaskFunction::ALL.iter().filter(|function| takes(**function));
            let taking = taking.map(|function| format!("`{function}`")).collect::<Vec<_>>().join(" and ");
            Err(Error::invalid(field, "absent", format!("`visible_chars` goes with {taking} alone")))
        }
        (false, None) => Ok(()),
    }
}

fn filter(sql: &dyn SqlAnalyzer, at: &str, rule: &RowFilterRule, attributes: &BTreeSet<String>) -> Result<()> {
    table(at, &rule.table)?;
    let field = format!("{at}.filter");
    if rule.filter.trim().is_empty() || rule.filter.len() > FILTER_BYTES_MAX {
        return Err(Error::invalid(field, "size", format!("a filter has 1 to {FILTER_BYTES_MAX} bytes")));
    }
    if let Some(braces) = misspelt(&rule.filter) {
        let message = format!("`{braces}` stands for nothing: a placeholder is one name of a-z, 0-9 and _ in braces");
        return Err(Error::InvalidRule { field, message });
    }
    let known = |name: &str| BUILT_IN.contains(&name) || attributes.contains(name);
    match sql.filter(&rule.filter, &known) {
        Ok(_) => Ok(()),
        Err(FilterError::Syntax(message)) => Err(Error::invalid(field, "sql", message)),
        Err(FilterError::Refused(message)) => Err(Error::InvalidRule { field, message }),
    }
}

/// Placeholders that no user has a value for, in words: their filter is false for every user.
pub fn unheard(sql: &dyn SqlAnalyzer, rules: &Rules, by_users: &BTreeSet<String>) -> Vec<String> {
    let Rules::RowLevelSecurity(rules) = rules else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        for name in sql.filter(&rule.filter, &|_| true).unwrap_or_default() {
            if !BUILT_IN.contains(&name.as_str()) && !by_users.contains(&name) {
                warnings.push(format!(
                    "no user has a value for `{{{name}}}`: `rules[{index}].filter` hides every row of `{}` from all of them",
                    rule.table
                ));
            }
        }
    }
    warnings
}

/// What looks like a placeholder and is none. It would be text: a condition that nobody meets, or, behind `<>`, one
/// that every row meets.
fn misspelt(filter: &str) -> Option<&str> {
    filter.match_indices('{').find_map(|(open, _)| {
        let (inside, _) = filter.get(open + 1..)?.split_once('}')?;
        let name = inside.trim_start_matches('{').trim();
        let is_word = name.chars().any(char::is_alphabetic)
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '$'));
        let is_name = inside.starts_with(|c: char| c.is_ascii_lowercase())
            && inside.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        // As other languages of templates write it.
        let has_sign = filter.get(..open).is_some_and(|before| before.ends_with('$'));
        if is_word && (!is_name || has_sign) { filter.get(open..=open + 1 + inside.len()) } else { None }
    })
}

/// `table` or `schema.table`.
fn table(at: &str, text: &str) -> Result<()> {
    let field = format!("{at}.table");
    let parts: Vec<&str> = text.split('.').collect();
    if parts.len() > 2 {
        return Err(Error::invalid(field, "table", "`table` is `table` or `schema.table`"));
    }
    if text.contains(['*', '"']) {
        return Err(Error::invalid(
            field,
            "table",
            "`table` names one table, as the catalogue prints it: no `*`, no quotes",
        ));
    }
    parts.into_iter().try_for_each(|part| identifier(&field, part))
}

/// An expression may have given it its name, so quotes and `*` may be in it.
fn column(field: &str, text: &str) -> Result<()> {
    if text == "*" || (text.starts_with('"') && text.ends_with('"')) {
        return Err(Error::invalid(
            field,
            "column",
            "`column` names one column, as the catalogue prints it: no `*`, no quotes",
        ));
    }
    identifier(field, text)
}

fn identifier(field: &str, text: &str) -> Result<()> {
    // With a space around it, it is not the name of what was meant.
    let fits = !text.is_empty()
        && text.trim() == text
        && text.chars().count() <= IDENTIFIER_MAX
        && !text.chars().any(char::is_control);
    if fits {
        Ok(())
    } else {
        let message = format!("`{field}` names something in 1 to 128 characters, with no space before or after it");
        Err(Error::invalid(field, "1..128", message))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(type_name: &str, rules: &Value) -> String {
        let attributes = BTreeSet::from(["region".to_owned()]);
        match admit(&sql::Analyzer, type_name, rules, &attributes) {
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
            // These would mask nothing.
            (mask("customers ", "null", Value::Null), "400 rules[0].table"),
            (mask("main. customers", "null", Value::Null), "400 rules[0].table"),
            (mask("hr.*", "null", Value::Null), "400 rules[0].table"),
            (mask("\"customers\"", "null", Value::Null), "400 rules[0].table"),
            (json!([{"table": "t", "column": " ssn", "function": "full"}]), "400 rules[0].column"),
            (json!([{"table": "t", "column": "*", "function": "full"}]), "400 rules[0].column"),
            (json!([{"table": "t", "column": "\"ssn\"", "function": "full"}]), "400 rules[0].column"),
            (json!([{"table": "t", "column": "(salary * 2)", "function": "full"}]), "ok"),
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
            ("region <> '{Region}'", "422 rules[0].filter"),
            ("region <> '{ region }'", "422 rules[0].filter"),
            ("region <> '{{region}}'", "422 rules[0].filter"),
            ("region <> '${region}'", "422 rules[0].filter"),
            ("region <> '{user.region}'", "422 rules[0].filter"),
            ("region <> '{\"a\": 1}' and region <> 'a{3}'", "ok"),
            ("1 = 1", "422 rules[0].filter"),
            ("count(*) > 1", "422 rules[0].filter"),
            ("region =", "400 rules[0].filter"),
            ("", "400 rules[0].filter"),
            ("region = 'a\0b'", "400 rules[0].filter"),
        ] {
            let rules = json!([{"table": "customers", "filter": filter, "exempt_roles": []}]);
            assert_eq!(check("row_level_security", &rules), expected, "{filter}");
        }
    }

    #[test]
    fn a_rule_on_what_agents_leave_is_as_good_as_any() {
        for table in ["svc_memory.memories", "SVC_MEMORY.Memories", "svc_thoughts.steps", "svc_runtime.tasks"] {
            let mask = json!([{"table": table, "column": "content", "function": "full"}]);
            assert_eq!(check("column_masking", &mask), "ok", "{table}");
            let filter = json!([{"table": table, "filter": "agent_id = 'a'", "exempt_roles": []}]);
            assert_eq!(check("row_level_security", &filter), "ok", "{table}");
        }
    }

    #[test]
    fn there_are_two_types() {
        assert_eq!(check("abac", &json!([])), "400 type");
    }
}
