//! One row for each field of a schema, and one line for each of its rules.

use serde_json::Value;

use crate::values::Values;

#[derive(Debug)]
pub struct Row {
    /// From the part on: `storage.size`, `conditions[].type`.
    pub path: String,
    pub required: bool,
    pub kind: String,
    pub default: String,
    pub limits: String,
    pub means: String,
}

/// Every member of `schema`, at every depth, parents before children.
pub fn rows(schema: &Value, values: &Values) -> Vec<Row> {
    let mut rows = Vec::new();
    walk("", schema, values, &mut rows);
    rows
}

fn walk(place: &str, schema: &Value, values: &Values, rows: &mut Vec<Row>) {
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{place}{name}");
        rows.push(Row {
            required: required.iter().any(|other| other == name),
            kind: kind(member),
            default: default(member),
            limits: limits(member),
            means: means(member, values),
            path: path.clone(),
        });
        walk(&format!("{path}."), member, values, rows);
        walk(&format!("{path}[]."), &member["items"], values, rows);
        walk(&format!("{path}.*."), &member["additionalProperties"], values, rows);
    }
}

fn kind(schema: &Value) -> String {
    let name = schema["type"].as_str().unwrap_or("any");
    let format = schema["format"].as_str();
    match (name, format) {
        ("array", _) => format!("list of {}", kind(&schema["items"])),
        ("object", _) if schema["additionalProperties"].is_object() => {
            format!("map of {}", kind(&schema["additionalProperties"]))
        }
        ("string", Some("date-time")) => "time".to_owned(),
        _ => name.to_owned(),
    }
}

/// Of a leaf: an object's default is that of its members.
fn default(schema: &Value) -> String {
    match &schema["default"] {
        Value::Null | Value::Object(_) => String::new(),
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

fn limits(schema: &Value) -> String {
    let number = |key: &str| schema[key].as_f64().map(|number| number.to_string());
    let mut found = Vec::new();
    for (low, high, unit) in [
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " entries"),
        ("minProperties", "maxProperties", " entries"),
    ] {
        match (number(low), number(high)) {
            (Some(low), Some(high)) => found.push(format!("{low} to {high}{unit}")),
            (Some(low), None) => found.push(format!("at least {low}{unit}")),
            (None, Some(high)) => found.push(format!("at most {high}{unit}")),
            (None, None) => {}
        }
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        found.push(format!("`{}`", pattern.replace('|', "\\|")));
    }
    if schema["items"].is_object() && schema.pointer("/items/properties").is_none() {
        found.extend(Some(limits(&schema["items"])).filter(|each| !each.is_empty()).map(|each| format!("each {each}")));
    }
    found.join(", ")
}

/// The description, and the values of a closed list with theirs.
fn means(schema: &Value, values: &Values) -> String {
    let mut text = schema["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
    let closed: Vec<_> = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (value, means) in values.of(&closed).into_iter().flatten() {
        text.extend(["<br>`", value, "`: ", means]);
    }
    text
}

/// Every CEL rule with the place it stands at.
pub fn rules(place: &str, schema: &Value) -> Vec<(String, String)> {
    let own = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    let mut found: Vec<_> =
        own.filter_map(|rule| rule["message"].as_str()).map(|message| (place.to_owned(), message.to_owned())).collect();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if place.is_empty() { "" } else { "." };
        found.extend(rules(&format!("{place}{dot}{name}"), member));
    }
    let items = &schema["items"];
    if items.is_object() {
        found.extend(rules(&format!("{place}[]"), items));
    }
    found
}
