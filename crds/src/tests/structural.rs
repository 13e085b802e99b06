//! The part of a schema that is not CEL, as the API server judges it and in its words: types apart,
//! which the round trip shows.

use serde_json::{Value, json};

/// Every message for `value` and all below it.
pub fn refusals(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = here(schema, value);
    for (name, member) in value.as_object().into_iter().flatten() {
        let below = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
        found.extend(refusals(below, member));
    }
    for item in value.as_array().into_iter().flatten() {
        found.extend(refusals(&schema["items"], item));
    }
    found
}

fn here(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut refuse = |broken: bool, says: String| {
        if broken {
            found.push(says);
        }
    };
    let bound = |key: &str| schema[key].as_f64();
    let below = |size: Option<f64>, key: &str| size.zip(bound(key)).is_some_and(|(size, least)| size < least);
    let above = |size: Option<f64>, key: &str| size.zip(bound(key)).is_some_and(|(size, most)| size > most);
    let number = value.as_f64();
    let size = |count: usize| f64::from(u32::try_from(count).unwrap());
    let length = value.as_str().map(|text| size(text.chars().count()));
    let entries = value.as_array().map(Vec::len).or(value.as_object().map(serde_json::Map::len)).map(size);
    refuse(below(number, "minimum"), format!("should be greater than or equal to {}", schema["minimum"]));
    refuse(above(number, "maximum"), format!("should be less than or equal to {}", schema["maximum"]));
    refuse(below(length, "minLength"), format!("should be at least {} chars long", schema["minLength"]));
    refuse(above(length, "maxLength"), format!("Too long: may not be more than {} bytes", schema["maxLength"]));
    refuse(below(entries, "minItems"), format!("should have at least {} items", schema["minItems"]));
    let many = above(entries, "maxItems") || above(entries, "maxProperties");
    refuse(many, "Too many: must have fewer items".to_owned());
    let listed = schema["enum"].as_array();
    refuse(listed.is_some_and(|values| !values.contains(value)), "Unsupported value".to_owned());
    if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), value.as_str()) {
        refuse(!matches(pattern, text), format!("should match '{pattern}'"));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter(|_| value.is_object()) {
        refuse(value.get(name.as_str().unwrap()).is_none(), format!("{name}: Required value"));
    }
    if let Some(items) = value.as_array().filter(|_| schema["x-kubernetes-list-type"] == "set") {
        let twice = items.iter().enumerate().any(|(index, item)| items[..index].contains(item));
        refuse(twice, "Duplicate value".to_owned());
    }
    found
}

/// A pattern as the API server matches it.
fn matches(pattern: &str, text: &str) -> bool {
    let rule = json!({"rule": format!("self.matches(r'{pattern}')")});
    kube_cel::validate(&json!({"type": "string", "x-kubernetes-validations": [rule]}), &json!(text), None).is_ok()
}
