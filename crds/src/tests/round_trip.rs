//! Any object that the schema admits is read by the types, written back as it was, and read again as
//! the same; a field of a later version does no harm. What a second version must keep.

use proptest::prelude::*;
use proptest::string::string_regex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::schema;
use crate::{ApiKeySpec, ApiKeyStatus, EnvironmentSpec, EnvironmentStatus, OrganizationSpec, OrganizationStatus};

/// Values that a structural schema admits, by the schema itself.
fn admitted(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(values) = schema["enum"].as_array() {
        return proptest::sample::select(values.clone()).boxed();
    }
    let size = |key: &str, otherwise| whole(&schema[key]).map_or(otherwise, |size| usize::try_from(size).unwrap());
    match schema["type"].as_str().unwrap() {
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "integer" => {
            let (low, high) = (whole(&schema["minimum"]), whole(&schema["maximum"]));
            let most = if schema["format"] == "int32" { i64::from(i32::MAX) } else { i64::MAX };
            (low.unwrap_or(-most)..=high.unwrap_or(most)).prop_map(Value::from).boxed()
        }
        "string" => text(schema).prop_map(Value::from).boxed(),
        "array" => {
            let sizes = size("minItems", 0)..=size("maxItems", 3).min(3);
            prop::collection::vec(admitted(&schema["items"]), sizes).prop_map(Value::from).boxed()
        }
        "object" if schema["additionalProperties"].is_object() => {
            let entries = prop::collection::btree_map("[a-z]{1,8}", admitted(&schema["additionalProperties"]), 0..3);
            entries.prop_map(|entries| Value::Object(entries.into_iter().collect())).boxed()
        }
        "object" => object(schema),
        other => panic!("{other}"),
    }
}

/// A bound of a schema, where numbers are floating: `1.0`.
fn whole(bound: &Value) -> Option<i64> {
    let text = bound.as_number()?.to_string();
    Some(text.trim_end_matches(".0").parse().unwrap())
}

fn text(schema: &Value) -> BoxedStrategy<String> {
    let pattern = schema["pattern"].as_str().unwrap_or(".{1,16}").trim_start_matches('^').trim_end_matches('$');
    string_regex(pattern).unwrap().boxed()
}

/// Required members always, the others sometimes.
fn object(schema: &Value) -> BoxedStrategy<Value> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let members = schema["properties"].as_object().cloned().unwrap_or_default();
    let member = |(name, schema): (String, Value)| {
        let always = required.contains(&json!(name));
        let value = admitted(&schema);
        let value = if always { value.prop_map(Some).boxed() } else { proptest::option::of(value).boxed() };
        value.prop_map(move |value| value.map(|value| (name.clone(), value))).boxed()
    };
    let members: Vec<_> = members.into_iter().map(member).collect();
    members.prop_map(|members| Value::Object(members.into_iter().flatten().collect::<Map<_, _>>())).boxed()
}

/// Everything in `small` stands in `large`, `null` and absent being one.
fn holds(large: &Value, small: &Value) -> bool {
    match (large, small) {
        (_, Value::Null) => true,
        (Value::Object(large), Value::Object(small)) => small.iter().all(|(name, value)| {
            value.is_null() || value == &json!([]) || large.get(name).is_some_and(|found| holds(found, value))
        }),
        (Value::Array(large), Value::Array(small)) => {
            large.len() == small.len() && large.iter().zip(small).all(|(large, small)| holds(large, small))
        }
        _ => large == small,
    }
}

/// A member that no version has, in every object that has named members.
fn with_unknown(schema: &Value, value: &Value) -> Value {
    match value {
        Value::Object(members) if schema["properties"].is_object() => {
            let inner =
                |(name, value): (&String, &Value)| (name.clone(), with_unknown(&schema["properties"][name], value));
            let unknown = ("ofALaterVersion".to_owned(), json!({"x": 1}));
            Value::Object(members.iter().map(inner).chain([unknown]).collect())
        }
        Value::Array(items) => items.iter().map(|item| with_unknown(&schema["items"], item)).collect(),
        other => other.clone(),
    }
}

fn check<T>(kind: &str, part: &str)
where
    T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug,
{
    let schema = schema(kind)["properties"][part].clone();
    proptest!(ProptestConfig::with_cases(256), |(value in object(&schema))| {
        let read: T = serde_json::from_value(value.clone()).unwrap();
        let written = serde_json::to_value(&read).unwrap();
        prop_assert!(holds(&written, &value), "{value} became {written}");
        prop_assert_eq!(&serde_json::from_value::<T>(written).unwrap(), &read);
        prop_assert_eq!(&serde_json::from_value::<T>(with_unknown(&schema, &value)).unwrap(), &read);
    });
}

#[test]
fn any_organization_survives_the_round_trip() {
    check::<OrganizationSpec>("Organization", "spec");
    check::<OrganizationStatus>("Organization", "status");
}

#[test]
fn any_environment_survives_the_round_trip() {
    check::<EnvironmentSpec>("Environment", "spec");
    check::<EnvironmentStatus>("Environment", "status");
}

#[test]
fn any_api_key_survives_the_round_trip() {
    check::<ApiKeySpec>("ApiKey", "spec");
    check::<ApiKeyStatus>("ApiKey", "status");
}
