//! The arguments of a tool as its own type, and the schema that says what they are.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Error;

/// The arguments as the tool's own type; what is wrong names its field.
pub(super) fn read<I: DeserializeOwned>(given: Value) -> Result<I, Error> {
    serde_path_to_error::deserialize(given).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "arguments".to_owned() } else { path };
        Error::InvalidArgument { message: format!("{field}: {}", error.inner()), field }
    })
}

/// A schema without references, without formats that only Rust knows, and without the short form of
/// "anything", which older revisions of the protocol do not take for a property.
pub(super) fn schema_of<T: JsonSchema>() -> JsonObject {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = std::mem::take(schema.ensure_object());
    schema.remove("title");
    plain(&mut schema);
    schema
}

fn plain(schema: &mut JsonObject) {
    schema.retain(|name, value| name != "format" || !value.is_string());
    for (name, value) in schema.iter_mut() {
        match value {
            Value::Bool(true) if name == "items" => *value = Value::Object(JsonObject::new()),
            Value::Object(properties) if name == "properties" => properties.values_mut().for_each(|property| {
                if *property == Value::Bool(true) {
                    *property = Value::Object(JsonObject::new());
                }
            }),
            _ => {}
        }
        within(value);
    }
}

fn within(value: &mut Value) {
    match value {
        Value::Object(members) => plain(members),
        Value::Array(items) => items.iter_mut().for_each(within),
        _ => {}
    }
}

/// The schema of arguments, in the subset that strict function calling takes: one type a value, no null, typed items.
/// An argument that may be null may as well be left out.
pub(super) fn strict_schema_of<T: JsonSchema>() -> JsonObject {
    let mut schema = schema_of::<T>();
    strict(&mut schema);
    schema
}

fn strict(schema: &mut JsonObject) {
    if let Some(Value::Array(kinds)) = schema.get("type") {
        let kind = kinds.iter().find(|kind| *kind != "null").cloned();
        schema.extend(kind.map(|kind| ("type".to_owned(), kind)));
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    schema.retain(|name, value| name != "default" || !value.is_null());
    if let Some(Value::Array(choices)) = schema.remove("oneOf").or_else(|| schema.remove("anyOf")) {
        chosen(schema, choices);
    }
    if !["type", "enum", "anyOf"].iter().any(|name| schema.contains_key(*name)) {
        let scalars = ["string", "number", "boolean"].map(|kind| json!({"type": kind}));
        schema.insert("anyOf".to_owned(), scalars.into_iter().collect());
    }
    for (name, value) in schema.iter_mut() {
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(strict_value),
            ("anyOf", Value::Array(choices)) => choices.iter_mut().for_each(strict_value),
            ("items" | "additionalProperties", value @ Value::Object(_)) => strict_value(value),
            _ => {}
        }
    }
}

fn strict_value(value: &mut Value) {
    if let Value::Object(schema) = value {
        strict(schema);
    }
}

/// The names that a choice is one of, if it is made of names.
fn names_of(choice: &Value) -> Option<Vec<Value>> {
    let one = choice.get("const").map(|name| vec![name.clone()]);
    one.or_else(|| choice.get("enum")?.as_array().cloned())
}

/// Puts choices into a schema: names as one enum, a single one as the schema itself.
fn chosen(schema: &mut JsonObject, mut choices: Vec<Value>) {
    choices.retain(|choice| choice["type"] != "null");
    let names: Option<Vec<_>> = choices.iter().map(names_of).collect();
    match (names, choices.as_mut_slice()) {
        (Some(names), _) => {
            schema.extend([("type".to_owned(), json!("string")), ("enum".to_owned(), names.concat().into())]);
        }
        (None, [Value::Object(only)]) => {
            for (name, value) in std::mem::take(only) {
                schema.entry(name).or_insert(value);
            }
            strict(schema);
        }
        _ => schema.extend([("anyOf".to_owned(), choices.into())]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(schema: &Value, at: &str) {
        let kind = &schema["type"];
        assert!(kind.is_string() || (kind.is_null() && schema["anyOf"].is_array()), "{at}: {schema}");
        assert!(schema.get("oneOf").is_none() && schema.get("const").is_none(), "{at}: {schema}");
        assert!(schema["enum"].as_array().is_none_or(|values| values.iter().all(Value::is_string)), "{at}: {schema}");
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            hold(inner, &format!("{at}.{name}"));
        }
        for inner in schema["anyOf"].as_array().into_iter().flatten() {
            hold(inner, &format!("{at}|"));
        }
        if kind == "array" {
            hold(&schema["items"], &format!("{at}[]"));
        }
    }

    #[test]
    fn arguments_of_every_tool_keep_to_the_subset_of_strict_function_calling() {
        for row in crate::agents::tools::all() {
            hold(&Value::Object((*row.tool.input_schema).clone()), &row.tool.name);
        }
    }
}
