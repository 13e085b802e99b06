//! Each kind of change, in the direction that breaks and in the one that does not.

use serde_json::{Value, json};

use super::breaks;

/// A definition whose one version has this schema for its spec.
fn with_spec(spec: &Value) -> Value {
    json!({
        "metadata": {"name": "xs.sluice.dev"},
        "spec": {
            "group": "sluice.dev", "scope": "Namespaced", "names": {"kind": "X", "plural": "xs"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "selectableFields": [{"jsonPath": ".spec.a"}],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            }],
        },
    })
}

fn spec(before: &Value, after: &Value) -> Vec<String> {
    breaks(&[with_spec(before)], &[with_spec(after)])
}

/// A change of one field `a`: tightened one way, free the other.
#[test]
fn what_is_tightened_breaks_and_what_is_loosened_does_not() {
    let cases = [
        (json!({"type": "integer"}), json!({"type": "string"}), "type was integer, is string"),
        (json!({"type": "number"}), json!({"type": "integer"}), "type was number, is integer"),
        (json!({"format": "int64"}), json!({"format": "int32"}), r#"format was "int64", is "int32""#),
        (json!({}), json!({"format": "date-time"}), r#"format was null, is "date-time""#),
        (json!({}), json!({"pattern": "^a$"}), r#"pattern was null, is "^a$""#),
        (json!({}), json!({"enum": ["a"]}), "a closed list of values now"),
        (json!({"enum": ["a", "b"]}), json!({"enum": ["a"]}), r#""b" is not accepted any more"#),
        (json!({}), json!({"minimum": 1}), "minimum is 1 now"),
        (json!({"minimum": 1}), json!({"minimum": 2}), "minimum was 1, is 2"),
        (json!({"maximum": 9.0}), json!({"maximum": 8}), "maximum was 9, is 8"),
        (json!({"maxLength": 25}), json!({"maxLength": 24}), "maxLength was 25, is 24"),
        (json!({"minItems": 0}), json!({"minItems": 1}), "minItems was 0, is 1"),
        (json!({}), json!({"maxProperties": 8}), "maxProperties is 8 now"),
        (json!({}), json!({"exclusiveMinimum": true}), "exclusiveMinimum now"),
        (json!({"nullable": true}), json!({}), "null is not accepted any more"),
        (json!({"x-kubernetes-preserve-unknown-fields": true}), json!({}), "unknown fields are not kept any more"),
        (json!({}), json!({"x-kubernetes-validations": [{"rule": "self > 0", "message": "m"}]}), "new rule: m"),
    ];
    for (loose, tight, says) in cases {
        let of = |field: &Value| json!({"properties": {"a": field}});
        assert_eq!(spec(&of(&loose), &of(&tight)), [format!("xs.sluice.dev: v1: spec.a: {says}")]);
        let back = spec(&of(&tight), &of(&loose));
        let both_ways = says.starts_with("type was integer") || says.contains("int64\", is");
        if !both_ways {
            assert_eq!(back, Vec::<String>::new(), "{tight} to {loose}");
        }
    }
}

#[test]
fn a_number_may_become_wider() {
    let of = |field: Value| json!({"properties": {"a": field}});
    assert!(
        spec(&of(json!({"type": "integer", "format": "int32"})), &of(json!({"type": "integer", "format": "int64"})))
            .is_empty()
    );
    assert!(spec(&of(json!({"type": "integer"})), &of(json!({"type": "number"}))).is_empty());
}

#[test]
fn what_a_manifest_leaves_out_keeps_its_meaning() {
    let of = |field: Value| json!({"properties": {"a": field}});
    let says = |what: &str| vec![format!("xs.sluice.dev: v1: spec.a: {what}")];
    assert_eq!(spec(&of(json!({"default": 1})), &of(json!({"default": 2}))), says("default was 1, is 2"));
    assert_eq!(spec(&of(json!({"default": 1})), &of(json!({}))), says("default was 1, is null"));
    assert!(spec(&of(json!({})), &of(json!({"default": 1}))).is_empty());
    let keys = |keys: Value| of(json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}));
    assert_eq!(
        spec(&keys(json!(["a"])), &keys(json!(["b"]))),
        says(r#"x-kubernetes-list-map-keys was ["a"], is ["b"]"#)
    );
}

#[test]
fn no_field_goes_at_any_depth() {
    let deep = |leaf: Value| json!({"properties": {"list": {"items": {"properties": {"map": {"additionalProperties": {"properties": leaf}}}}}}});
    let says = spec(&deep(json!({"a": {}, "b": {}})), &deep(json!({"a": {}})));
    assert_eq!(says, ["xs.sluice.dev: v1: spec.list.[].map.*.b: the field is gone"]);
    assert!(spec(&deep(json!({"a": {}})), &deep(json!({"a": {}, "b": {}}))).is_empty());
    let map = json!({"properties": {"a": {"additionalProperties": {"type": "string"}}}});
    let gone = spec(&map, &json!({"properties": {"a": {}}}));
    assert_eq!(gone, ["xs.sluice.dev: v1: spec.a: additionalProperties is gone"]);
}

#[test]
fn nothing_becomes_required_unless_it_is_filled_in() {
    let of = |field: Value, required: Value| json!({"properties": {"a": field}, "required": required});
    let says = spec(&of(json!({}), json!([])), &of(json!({}), json!(["a"])));
    assert_eq!(says, ["xs.sluice.dev: v1: spec.a: required now"]);
    assert!(spec(&of(json!({}), json!([])), &of(json!({"default": 1}), json!(["a"]))).is_empty());
    assert!(spec(&of(json!({}), json!(["a"])), &of(json!({}), json!([]))).is_empty());
    let new = spec(&json!({"properties": {}}), &of(json!({}), json!(["a"])));
    assert_eq!(new, ["xs.sluice.dev: v1: spec.a: required now"]);
}

#[test]
fn a_definition_keeps_its_names_versions_and_subresources() {
    let before = with_spec(&json!({}));
    let changed = |pointer: &str, value: Value| {
        let mut after = before.clone();
        *after.pointer_mut(pointer).unwrap() = value;
        breaks(std::slice::from_ref(&before), &[after])
    };
    assert_eq!(breaks(std::slice::from_ref(&before), &[]), ["xs.sluice.dev: the kind is gone"]);
    assert_eq!(breaks(&[], std::slice::from_ref(&before)), Vec::<String>::new());
    let cases = [
        ("/spec/scope", json!("Cluster"), "scope changed"),
        ("/spec/names/plural", json!("exes"), "names/plural changed"),
        ("/spec/versions/0/name", json!("v2"), "version v1 is gone"),
        ("/spec/versions/0/served", json!(false), "version v1 is not served any more"),
        ("/spec/versions/0/subresources", json!({}), "v1: subresource status changed or is gone"),
        ("/spec/versions/0/selectableFields", json!([]), "v1: .spec.a is not selectable any more"),
    ];
    for (pointer, value, says) in cases {
        assert_eq!(changed(pointer, value), [format!("xs.sluice.dev: {says}")]);
    }
    let mut more = before.clone();
    let second = json!({"name": "v2", "served": true, "storage": false});
    more["spec"]["versions"].as_array_mut().unwrap().push(second);
    assert!(breaks(&[before], &[more]).is_empty());
}

/// The committed definitions, with one thing made stricter: found where it is.
#[test]
fn a_tightened_field_of_ours_is_found() {
    let ours: Vec<Value> = crds::all().iter().map(|definition| serde_json::to_value(definition).unwrap()).collect();
    let mut tightened = ours.clone();
    let slug = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/slug/maxLength";
    *tightened[1].pointer_mut(slug).unwrap() = json!(20);
    let says = breaks(&ours, &tightened);
    assert_eq!(says, ["environments.sluice.dev: v1alpha1: spec.slug: maxLength was 25, is 20"]);
}
