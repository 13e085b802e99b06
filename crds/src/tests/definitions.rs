//! The definitions as they are printed and installed.

use kube_cel::apply_defaults;
use serde::Deserialize;
use serde_json::{Value, json};

use super::schema;
use crate::{EnvironmentSpec, VERSION, all, yaml};

/// The specification's numbers.
#[test]
fn limits_and_defaults_are_the_specifications() {
    let cases = [
        ("Environment", "settings/properties/queryTimeoutMs/default", json!(30_000)),
        ("Environment", "settings/properties/queryTimeoutMs/maximum", json!(300_000.0)),
        ("Environment", "settings/properties/maxConcurrentQueries/default", json!(100)),
        ("Environment", "slug/maxLength", json!(25)),
        ("Environment", "deletionPolicy/default", json!("Retain")),
        ("Environment", "dataPlane/properties/resources/properties/limits/maxProperties", json!(8)),
        ("ApiKey", "rotation/properties/gracePeriodHours/default", json!(72)),
        ("ApiKey", "rotation/properties/gracePeriodHours/maximum", json!(168.0)),
        ("ApiKey", "ipAllowlist/items/maxLength", json!(43)),
        ("Organization", "cloudRegion/default", json!("us-east-1")),
        ("Organization", "tier/enum", json!(["free", "cloud", "growth", "enterprise"])),
    ];
    for (kind, path, expected) in cases {
        let schema = schema(kind);
        let found = schema.pointer(&format!("/properties/spec/properties/{path}"));
        assert_eq!(found, Some(&expected), "{kind} {path}");
    }
}

#[test]
fn a_minimal_environment_is_filled_in_as_the_type_is() {
    let environment = json!({"spec": {"organizationRef": {"name": "acme"}, "slug": "prod", "name": "Production"}});
    let filled = apply_defaults(&schema("Environment"), &environment);
    let typed: EnvironmentSpec = serde_json::from_value(environment["spec"].clone()).unwrap();
    assert_eq!(filled["spec"], serde_json::to_value(typed).unwrap());
}

#[test]
fn environments_scale_and_every_kind_reports_its_status_apart() {
    for definition in all() {
        let kind = definition.spec.names.kind.clone();
        let subresources = definition.spec.versions[0].subresources.clone().unwrap();
        assert!(subresources.status.is_some(), "{kind}");
        assert_eq!(subresources.scale.is_some(), kind == "Environment", "{kind}");
        assert_eq!(definition.spec.names.categories.unwrap_or_default(), ["sluice"], "{kind}");
    }
}

#[test]
fn conditions_are_merged_by_type_and_each_says_of_which_generation() {
    for kind in ["Organization", "Environment", "ApiKey"] {
        let status = schema(kind).pointer("/properties/status/properties").unwrap().clone();
        let conditions = &status["conditions"];
        assert_eq!(conditions["x-kubernetes-list-type"], json!("map"), "{kind}");
        assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]), "{kind}");
        let required = conditions["items"]["required"].as_array().unwrap();
        assert!(required.contains(&json!("observedGeneration")), "{kind}");
        assert!(status["observedGeneration"].is_object(), "{kind}");
    }
}

/// The schema at a JSON path, its filters left out: `.status.conditions[].status`.
fn at<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|part| !part.is_empty()).try_fold(schema, |schema, part| {
        let (name, filter) = part.split_once('[').map_or((part, false), |(name, _)| (name, true));
        let name = name.trim_end_matches(']');
        let member = schema["properties"].get(name)?;
        Some(if filter { &member["items"] } else { member })
    })
}

/// A column of a field that is not there prints nothing, and nobody notices.
#[test]
fn columns_selectors_and_scales_name_fields_that_are_there() {
    for definition in all() {
        let kind = &definition.spec.names.kind;
        let version = serde_json::to_value(&definition.spec.versions[0]).unwrap();
        let schema = schema(kind);
        let listed = |key: &str| version[key].as_array().cloned().unwrap_or_default();
        let paths = listed("additionalPrinterColumns").into_iter().chain(listed("selectableFields"));
        let mut paths: Vec<_> = paths.map(|entry| entry["jsonPath"].as_str().unwrap().to_owned()).collect();
        let scale = version["subresources"]["scale"].as_object().cloned().unwrap_or_default();
        paths.extend(scale.values().map(|path| path.as_str().unwrap().to_owned()));
        for path in paths.iter().filter(|path| !path.starts_with(".metadata.")) {
            let path = path.replace(r#"[?(@.type=="Ready")]"#, "[]");
            assert!(at(&schema, &path).is_some(), "{kind}: {path}");
        }
    }
}

#[test]
fn the_one_stored_version_is_the_types() {
    for definition in all() {
        let stored: Vec<_> = definition.spec.versions.iter().filter(|version| version.storage).collect();
        assert_eq!(stored.iter().map(|version| version.name.as_str()).collect::<Vec<_>>(), [VERSION]);
        assert!(stored[0].served);
    }
}

#[test]
fn the_printed_definitions_are_the_types() {
    let printed = yaml().unwrap();
    let read = serde_yaml_ng::Deserializer::from_str(&printed).map(|document| {
        let yaml = serde_yaml_ng::Value::deserialize(document).unwrap();
        serde_json::to_value(yaml).unwrap().to_string()
    });
    let typed = all().into_iter().map(|crd| serde_json::to_value(crd).unwrap().to_string());
    assert_eq!(read.collect::<Vec<_>>(), typed.collect::<Vec<_>>());
}

#[test]
fn the_committed_definitions_are_what_crdgen_prints() {
    let committed = include_str!("../../crds.yaml");
    assert!(yaml().unwrap() == committed, "cargo run -p crds --bin crdgen > crds/crds.yaml");
}
