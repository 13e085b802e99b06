//! Every rule of the schemas, both sides, with no cluster: the CEL rules by an evaluator of the same
//! language and libraries that the API server has, the defaults as it fills them in.

use kube_cel::{Validator, apply_defaults};
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;

fn schema(kind: &str) -> Value {
    let definition = all().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap();
    let version = serde_json::to_value(&definition.spec.versions[0]).unwrap();
    version["schema"]["openAPIV3Schema"].clone()
}

/// The first message with which the API server would refuse this object, or this change.
fn refusal(kind: &str, old: Option<&Value>, new: &Value) -> Option<String> {
    let schema = schema(kind);
    let complete = |object: &Value| apply_defaults(&schema, object);
    let old = old.map(complete);
    let errors = Validator::new().validate(&schema, &complete(new), old.as_ref()).err()?;
    Some(errors.first()?.message.clone())
}

/// `object` with the member at a JSON pointer set to `value`; `null` removes it.
fn with(object: &Value, pointer: &str, value: &Value) -> Value {
    let mut changed = object.clone();
    let (parents, name) = pointer.rsplit_once('/').unwrap();
    let mut parent = &mut changed;
    for part in parents.split('/').skip(1) {
        parent = &mut parent[part];
    }
    if value.is_null() {
        parent.as_object_mut().unwrap().remove(name);
    } else {
        parent[name] = value.clone();
    }
    changed
}

fn organization() -> Value {
    json!({
        "metadata": {"name": "acme"},
        "spec": {"slug": "acme", "name": "Acme", "billingEmail": "billing@acme.example"},
    })
}

fn environment() -> Value {
    json!({
        "metadata": {"name": "acme-prod"},
        "spec": {"organizationRef": {"name": "acme"}, "slug": "prod", "name": "Production"},
    })
}

fn api_key() -> Value {
    json!({
        "metadata": {"name": "ci"},
        "spec": {
            "environmentRef": {"name": "acme-prod"}, "name": "ci", "scopes": ["query:read"],
            "secretRef": {"name": "ci-key"},
        },
    })
}

/// Changes of one member of an object that is accepted as it is: what the refusal says, or that
/// there is none.
fn check(kind: &str, object: &Value, cases: &[(&str, Value, Option<&str>)]) {
    assert_eq!(refusal(kind, None, object), None, "{kind} as it is");
    for (pointer, value, expected) in cases {
        let said = refusal(kind, None, &with(object, pointer, value));
        assert_eq!(said.as_deref(), *expected, "{kind} with {pointer} = {value}");
    }
}

/// The same for a change of an object that exists.
fn check_change(kind: &str, old: &Value, cases: &[(&str, Value, Option<&str>)]) {
    for (pointer, value, expected) in cases {
        let said = refusal(kind, Some(old), &with(old, pointer, value));
        assert_eq!(said.as_deref(), *expected, "{kind}: {pointer} becomes {value}");
    }
}

/// A pattern of the schema, as the API server matches it.
fn regex(pattern: &str) -> impl Fn(&str) -> bool {
    let schema =
        json!({"type": "string", "x-kubernetes-validations": [{"rule": format!("self.matches(r'{pattern}')")}]});
    move |text| Validator::new().validate(&schema, &json!(text), None).is_ok()
}

const CIDR: Option<&str> = Some("each entry must be a CIDR range, such as 10.0.0.0/8");

#[test]
fn an_organization_is_named_by_its_slug() {
    let refused = Some("metadata.name must be spec.slug");
    check("Organization", &organization(), &[("/metadata/name", json!("other"), refused)]);
}

#[test]
fn an_environment_is_named_by_its_organization_and_slug() {
    let refused = Some("metadata.name must be <organizationRef.name>-<slug>");
    check("Environment", &environment(), &[("/metadata/name", json!("prod"), refused)]);
}

#[test]
fn a_native_environment_has_one_replica_and_no_object_store() {
    let replicas = Some("more than one replica needs storage.format lake: a native file has one writer");
    let store = Some("objectStore is required by format lake, and used by no other");
    let lake = json!({"format": "lake", "objectStore": {"url": "s3://bucket/acme"}});
    check(
        "Environment",
        &environment(),
        &[
            ("/spec/dataPlane", json!({"replicas": 2}), replicas),
            ("/spec/dataPlane", json!({"replicas": 0}), None),
            ("/spec/storage", lake.clone(), None),
            ("/spec/storage", json!({"format": "lake"}), store),
            ("/spec/storage", json!({"objectStore": {"url": "s3://bucket"}}), store),
        ],
    );
    let lake = with(&environment(), "/spec/storage", &lake);
    check("Environment", &lake, &[("/spec/dataPlane", json!({"replicas": 5}), None)]);
}

#[test]
fn quantities_and_ranges_are_what_kubernetes_takes_for_such() {
    let size = Some("size must be a quantity above zero, such as 10Gi");
    let limit = Some("each limit must be a quantity, such as 500m or 2Gi");
    let request = Some("each request must be a quantity, such as 500m or 2Gi");
    check(
        "Environment",
        &environment(),
        &[
            ("/spec/storage", json!({"size": "20Gi"}), None),
            ("/spec/storage", json!({"size": "much"}), size),
            ("/spec/storage", json!({"size": "0"}), size),
            ("/spec/dataPlane", json!({"resources": {"limits": {"memory": "2Gi", "cpu": "500m"}}}), None),
            ("/spec/dataPlane", json!({"resources": {"limits": {"memory": "2 GB"}}}), limit),
            ("/spec/dataPlane", json!({"resources": {"requests": {"cpu": "two"}}}), request),
            ("/spec/network", json!({"allowedCidrs": ["10.0.0.0/8", "2001:db8::/32"]}), None),
            ("/spec/network", json!({"allowedCidrs": ["10.0.0.1"]}), CIDR),
        ],
    );
}

#[test]
fn a_certificate_source_names_what_it_needs_and_nothing_else() {
    let issuer = Some("issuerRef is required by mode CertManager, and used by no other");
    let secret = Some("secretRef is required by mode Secret, and used by no other");
    check(
        "Environment",
        &environment(),
        &[
            ("/spec/tls", json!({"mode": "CertManager", "issuerRef": {"name": "ca"}}), None),
            ("/spec/tls", json!({"mode": "CertManager"}), issuer),
            ("/spec/tls", json!({"issuerRef": {"name": "ca"}}), issuer),
            ("/spec/tls", json!({"mode": "Secret", "secretRef": {"name": "tls"}}), None),
            ("/spec/tls", json!({"mode": "Secret"}), secret),
            ("/spec/tls", json!({"secretRef": {"name": "tls"}}), secret),
        ],
    );
}

#[test]
fn a_key_has_a_place_to_go_and_ranges_that_are_ranges() {
    let place = Some("secretRef is required: it names the Secret that the key is put into");
    check(
        "ApiKey",
        &api_key(),
        &[
            ("/spec/secretRef", Value::Null, place),
            ("/spec/ipAllowlist", json!(["192.0.2.0/24"]), None),
            ("/spec/ipAllowlist", json!(["192.0.2.0/33"]), CIDR),
            ("/spec/ipAllowlist", json!(["everywhere"]), CIDR),
        ],
    );
    let made_by_rest = with(&with(&api_key(), "/spec/secretRef", &Value::Null), "/spec/keyId", &json!("key_1"));
    assert_eq!(refusal("ApiKey", None, &made_by_rest), None);
}

#[test]
fn what_an_organization_was_created_with_stays() {
    check_change(
        "Organization",
        &organization(),
        &[
            ("/spec/cloudRegion", json!("eu-west-1"), Some("cloudRegion is immutable")),
            ("/spec/cloudRegion", json!("us-east-1"), None),
            ("/spec/tier", json!("enterprise"), None),
        ],
    );
    let renamed = json!({"metadata": {"name": "b"}, "spec": with(&organization(), "/spec/slug", &json!("b"))["spec"]});
    let said = refusal("Organization", Some(&organization()), &renamed);
    assert_eq!(said.as_deref(), Some("slug is immutable"));
}

#[test]
fn what_an_environment_was_created_with_stays() {
    let bootstrap = Some("bootstrap is immutable");
    check_change(
        "Environment",
        &environment(),
        &[
            ("/spec/suspended", json!(true), None),
            ("/spec/storage", json!({"size": "11Gi"}), None),
            ("/spec/storage", json!({"size": "9Gi"}), Some("size may only grow")),
            ("/spec/storage", json!({"storageClassName": "fast"}), Some("storageClassName is immutable")),
            ("/spec/bootstrap", json!({"fromSnapshot": "monday"}), bootstrap),
        ],
    );
    let lake = json!({"format": "lake", "objectStore": {"url": "s3://bucket"}});
    check_change("Environment", &environment(), &[("/spec/storage", lake, Some("format is immutable"))]);
    let restored = with(&environment(), "/spec/bootstrap", &json!({"fromSnapshot": "monday"}));
    check_change(
        "Environment",
        &restored,
        &[
            ("/spec/bootstrap", json!({"fromSnapshot": "tuesday"}), bootstrap),
            ("/spec/bootstrap", Value::Null, bootstrap),
            ("/spec/name", json!("Restored"), None),
        ],
    );
    let mut moved = with(&environment(), "/spec/organizationRef/name", &json!("b"));
    moved["metadata"]["name"] = json!("b-prod");
    let said = refusal("Environment", Some(&environment()), &moved);
    assert_eq!(said.as_deref(), Some("organizationRef.name is immutable"));
    moved = with(&environment(), "/spec/slug", &json!("b"));
    moved["metadata"]["name"] = json!("acme-b");
    let said = refusal("Environment", Some(&environment()), &moved);
    assert_eq!(said.as_deref(), Some("slug is immutable"));
}

#[test]
fn a_key_stays_the_key_of_its_environment() {
    check_change(
        "ApiKey",
        &api_key(),
        &[
            ("/spec/environmentRef/name", json!("acme-dev"), Some("environmentRef.name is immutable")),
            ("/spec/name", json!("cd"), Some("name is immutable")),
            ("/spec/keyId", json!("key_1"), None),
            ("/spec/rotation", json!({"id": "2026-11"}), None),
        ],
    );
    let known = with(&api_key(), "/spec/keyId", &json!("key_1"));
    let refused = Some("keyId is immutable once set");
    check_change("ApiKey", &known, &[("/spec/keyId", json!("key_2"), refused), ("/spec/keyId", Value::Null, refused)]);
}

/// What plain schema says, and CEL need not: limits, patterns, closed lists, defaults.
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
fn a_scope_is_one_of_the_specification_or_a_whole_family() {
    let schema = schema("ApiKey");
    let pattern = schema.pointer("/properties/spec/properties/scopes/items/pattern").unwrap();
    let pattern = regex(pattern.as_str().unwrap());
    for scope in ["query:read", "policy:*", "agent:*", "audit:read", "billing:write"] {
        assert!(pattern(scope), "{scope}");
    }
    for scope in ["query", "query:admin", "audit:write", "agent:read", "*", "query:read "] {
        assert!(!pattern(scope), "{scope}");
    }
}

#[test]
fn a_minimal_environment_is_filled_in_as_the_type_is() {
    let filled = apply_defaults(&schema("Environment"), &environment());
    let typed: EnvironmentSpec = serde_json::from_value(environment()["spec"].clone()).unwrap();
    assert_eq!(filled["spec"], serde_json::to_value(typed).unwrap());
}

#[test]
fn every_rule_of_every_kind_compiles() {
    for definition in all() {
        let kind = definition.spec.names.kind;
        let compiled = kube_cel::compile_schema(&schema(&kind));
        assert!(compiled.compilation_errors().is_empty(), "{kind}: {:?}", compiled.compilation_errors());
    }
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
fn conditions_are_merged_by_type() {
    for kind in ["Organization", "Environment", "ApiKey"] {
        let conditions = schema(kind).pointer("/properties/status/properties/conditions").unwrap().clone();
        assert_eq!(conditions["x-kubernetes-list-type"], json!("map"), "{kind}");
        assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]), "{kind}");
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
    let committed = include_str!("../crds.yaml");
    assert!(yaml().unwrap() == committed, "cargo run -p crds --bin crdgen > crds/crds.yaml");
}
