//! Is an answer what the document of the API says? Its status is one of the endpoint's, its body has
//! every member that is required and no other than those that are told.
//!
//! A validator of the keywords that our schemas use; one that it does not know is a failure, so
//! nothing is silently let through.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use axum::http::{HeaderMap, Method, StatusCode};
use serde_json::{Map, Value};

use crate::server::{endpoints, reference};

fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| reference::document(&endpoints::rows().iter().collect::<Vec<_>>()))
}

/// Fails the test if the answer is not the document's.
#[track_caller]
pub fn conforms(method: &Method, path: &str, status: StatusCode, headers: &HeaderMap, body: &Value) {
    let Some((template, operation)) = operation(method, path) else { return };
    let at = format!("{method} {template}: {status}");
    let answer =
        operation["responses"].get(status.as_str()).unwrap_or_else(|| panic!("{at} is not documented: {body}"));
    let answer = referred(answer);
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    let Some(contents) = answer.get("content") else {
        assert!(kind.is_empty(), "{at} has no body in the document, and one of {kind}");
        return;
    };
    let content = contents.get(kind).unwrap_or_else(|| panic!("{at}: `{kind}` is not documented"));
    let Some(schema) = content.get("schema") else { return };
    if let Err(misfit) = fits(schema, body, "") {
        panic!("{at} is not as documented: {misfit}\n{body:#}");
    }
}

/// The operation of a path: the one with the fewest parameters in it.
fn operation(method: &Method, path: &str) -> Option<(&'static str, &'static Value)> {
    let path = path.split('?').next().unwrap_or_default();
    let matches = |template: &str| {
        let (ours, theirs): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
        ours.len() == theirs.len()
            && ours.iter().zip(&theirs).all(|(our, their)| our == their || (our.starts_with('{') && !their.is_empty()))
    };
    let paths = document()["paths"].as_object().unwrap();
    let (template, methods) = paths
        .iter()
        .filter(|(template, _)| matches(template))
        .min_by_key(|(template, _)| template.matches('{').count())?;
    Some((template, methods.get(method.as_str().to_ascii_lowercase())?))
}

fn referred(schema: &'static Value) -> &'static Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => {
            document().pointer(reference.trim_start_matches('#')).unwrap_or_else(|| panic!("{reference} leads nowhere"))
        }
        None => schema,
    }
}

/// The members that a schema has told of.
#[derive(Default)]
struct Told {
    all: bool,
    names: BTreeSet<&'static str>,
}

impl Told {
    fn and(&mut self, other: Self) {
        self.all |= other.all;
        self.names.extend(other.names);
    }
}

/// Does the value fit, with no member beyond?
fn fits(schema: &'static Value, value: &Value, at: &str) -> Result<(), String> {
    let told = holds(schema, value, at)?;
    let beyond =
        value.as_object().into_iter().flat_map(Map::keys).find(|name| !told.all && !told.names.contains(name.as_str()));
    beyond.map_or(Ok(()), |name| Err(format!("{at}/{name} is not documented")))
}

fn holds(schema: &'static Value, value: &Value, at: &str) -> Result<Told, String> {
    let Some(keywords) = schema.as_object() else {
        return if *schema == Value::Bool(true) {
            Ok(Told { all: true, ..Told::default() })
        } else {
            Err(format!("{at}: nothing fits {schema}"))
        };
    };
    let mut told = Told {
        all: keywords.keys().all(|keyword| matches!(keyword.as_str(), "description" | "default")),
        ..Told::default()
    };
    for (keyword, operand) in keywords {
        told.and(keyword_holds(keyword, operand, keywords, value, at)?);
    }
    Ok(told)
}

fn keyword_holds(
    keyword: &str,
    operand: &'static Value,
    beside: &'static Map<String, Value>,
    value: &Value,
    at: &str,
) -> Result<Told, String> {
    let wrong = |what: String| Err(format!("{at} is {value}: {what}"));
    let mut told = Told::default();
    match keyword {
        "$ref" => {
            let reference = operand.as_str().unwrap_or_default();
            let target = document()
                .pointer(reference.trim_start_matches('#'))
                .ok_or_else(|| format!("{reference} leads nowhere"))?;
            return holds(target, value, at);
        }
        "properties" => {
            for (name, schema) in operand.as_object().into_iter().flatten() {
                told.names.insert(name);
                if let Some(member) = value.get(name) {
                    fits(schema, member, &format!("{at}/{name}"))?;
                }
            }
        }
        "additionalProperties" | "unevaluatedProperties" if *operand != Value::Bool(false) => {
            let known = beside.get("properties");
            for (name, member) in value.as_object().into_iter().flatten() {
                if known.is_none_or(|known| known.get(name).is_none()) {
                    fits(operand, member, &format!("{at}/{name}"))?;
                }
            }
            told.all = true;
        }
        "items" => {
            for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                fits(operand, item, &format!("{at}/{place}"))?;
            }
        }
        "anyOf" | "oneOf" => {
            let choices = operand.as_array().into_iter().flatten();
            let (right, misfits): (Vec<_>, Vec<_>) =
                choices.map(|choice| holds(choice, value, at)).partition(Result::is_ok);
            if right.is_empty() {
                return wrong(format!(
                    "none of the choices: {:?}",
                    misfits.into_iter().filter_map(Result::err).collect::<Vec<_>>()
                ));
            }
            right.into_iter().flatten().for_each(|choice| told.and(choice));
        }
        "allOf" => {
            for part in operand.as_array().into_iter().flatten() {
                told.and(holds(part, value, at)?);
            }
        }
        "additionalProperties" | "unevaluatedProperties" => {}
        other => said(other, operand, value, at)?,
    }
    Ok(told)
}

/// A keyword that says something of the value itself.
fn said(keyword: &str, operand: &Value, value: &Value, at: &str) -> Result<(), String> {
    let wrong = |what: String| Err(format!("{at} is {value}: {what}"));
    match keyword {
        "type" => {
            let kinds: Vec<_> = operand.as_array().map_or_else(|| vec![operand], |kinds| kinds.iter().collect());
            if !kinds.iter().any(|kind| is_of(value, kind.as_str().unwrap_or_default())) {
                return wrong(format!("not {operand}"));
            }
        }
        "enum" if !operand.as_array().is_some_and(|values| values.contains(value)) => {
            return wrong(format!("not of {operand}"));
        }
        "const" if operand != value => return wrong(format!("not {operand}")),
        "required" if value.is_object() => {
            let missing = operand
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .find(|name| value.get(*name).is_none());
            if let Some(name) = missing {
                return wrong(format!("without `{name}`"));
            }
        }
        "minimum" | "maximum" if value.is_number() => {
            let (bound, number) = (operand.as_f64().unwrap(), value.as_f64().unwrap());
            if if keyword == "minimum" { number < bound } else { number > bound } {
                return wrong(format!("{keyword} {bound}"));
            }
        }
        "format"
            if operand == "date-time"
                && value.as_str().is_some_and(|text| chrono::DateTime::parse_from_rfc3339(text).is_err()) =>
        {
            return wrong("not a time".to_owned());
        }
        "enum" | "const" | "required" | "minimum" | "maximum" | "format" | "description" | "default" | "title" => {}
        other => return Err(format!("{at}: the keyword `{other}` is not known here")),
    }
    Ok(())
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn misfit(schema: Value, value: &Value) -> Option<String> {
        fits(Box::leak(Box::new(schema)), value, "").err()
    }

    #[test]
    fn what_is_missing_wrong_or_beyond_is_found() {
        let schema = json!({"type": "object", "required": ["a"],
            "properties": {"a": {"type": "integer", "minimum": 1}, "b": {"type": ["string", "null"]}}});
        for (value, fits) in [
            (json!({"a": 1}), true),
            (json!({"a": 1, "b": null}), true),
            (json!({"b": "x"}), false),
            (json!({"a": 0}), false),
            (json!({"a": "1"}), false),
            (json!({"a": 1, "b": 2}), false),
            (json!({"a": 1, "c": 2}), false),
            (json!([]), false),
        ] {
            assert_eq!(misfit(schema.clone(), &value).is_none(), fits, "{value}");
        }
    }

    #[test]
    fn a_member_told_by_a_part_or_a_choice_is_told() {
        let part =
            |name: &str| json!({"type": "object", "required": [name], "properties": {name: {"type": "boolean"}}});
        let schema = json!({"allOf": [part("a")], "anyOf": [part("b"), part("c")]});
        assert_eq!(misfit(schema.clone(), &json!({"a": true, "c": false})), None);
        assert!(misfit(schema.clone(), &json!({"a": true})).is_some());
        assert!(misfit(schema, &json!({"a": true, "c": false, "d": 1})).unwrap().contains("/d is not documented"));
    }

    #[test]
    fn a_keyword_that_is_not_known_is_a_failure() {
        assert!(misfit(json!({"contains": {}}), &json!([])).unwrap().contains("contains"));
    }
}
