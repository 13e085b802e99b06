//! The arguments of a tool as its own type, and the schema that says what they are.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

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
