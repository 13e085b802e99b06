//! The children of three environments, as YAML, byte for byte.
//!
//! `UPDATE_GOLDEN=1 cargo test -p operator golden` writes the files anew; read the difference.

use std::collections::BTreeSet;
use std::path::PathBuf;

use contract::wire::setting;
use serde_json::{Value, json};

use super::{SETTINGS, TakesEffect, children};
use crate::environment::plan::{CertificateOrder, Write};
use crate::environment::tests::{environment, observed};
use crate::environment::validate::{Desired, validate};

fn specifications() -> [(&'static str, Value); 3] {
    let everything = json!({
        "storage": {"format": "lake", "size": "20Gi",
                    "objectStore": {"url": "s3://acme-sales/lake", "secretName": "lake-credentials"}},
        "settings": {"queryTimeoutMs": 60000, "maxConcurrentQueries": 500, "cacheEnabled": false},
        "dataPlane": {
            "version": "0.2.0", "replicas": 3,
            "resources": {"requests": {"cpu": "1500m", "memory": "4Gi"}, "limits": {"cpu": "4", "memory": "8Gi"}},
            "scheduling": {
                "nodeSelector": {"disk": "fast"}, "priorityClassName": "tenants",
                "tolerations": [{"key": "tenants", "operator": "Equal", "value": "yes", "effect": "NoSchedule"},
                                {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
            },
        },
        "network": {"allowedCidrs": ["10.0.0.0/8", "2001:db8::/32"]},
        "tls": {"mode": "Secret", "secretRef": {"name": "own-certificate"}},
        "deletionPolicy": "Delete",
    });
    let cert_manager = json!({
        "storage": {"size": "50Gi", "storageClassName": "fast"},
        "bootstrap": {"fromSnapshot": "sales-2025"},
        "tls": {"mode": "CertManager", "issuerRef": {"name": "internal-ca"}},
    });
    [("default", json!({})), ("lake-everything", everything), ("cert-manager", cert_manager)]
}

fn desired(spec: &Value) -> Desired {
    validate(&observed(environment(spec))).unwrap()
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/environment/build/golden"))
}

fn order(order: &CertificateOrder) -> Value {
    json!({
        "order": "certificate", "metadata": order.metadata, "authority": format!("{:?}", order.authority),
        "dnsNames": order.dns_names, "lifetimeSeconds": order.lifetime.as_secs(),
    })
}

fn yaml(desired: &Desired) -> String {
    let documents = children(desired).into_iter().map(|write| match write {
        Write::Apply(child) => child.hashed().1,
        Write::Issue(it) => order(&it),
        Write::Scale { .. } => panic!("no child is a change of scale"),
    });
    // by way of text: only there is a number of arbitrary precision a number
    let document = |json: Value| {
        let value: serde_yaml_ng::Value = serde_yaml_ng::from_str(&json.to_string()).unwrap();
        format!("---\n{}", serde_yaml_ng::to_string(&value).unwrap())
    };
    documents.map(document).collect()
}

#[test]
fn golden_children_are_what_they_were() {
    for (name, spec) in specifications() {
        let path = folder().join(format!("{name}.yaml"));
        let actual = yaml(&desired(&spec));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &actual).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(expected == actual, "{} is not what is built now:\n{actual}", path.display());
    }
}

#[test]
fn golden_files_are_all_compared() {
    let names: BTreeSet<String> = specifications().iter().map(|(name, _)| format!("{name}.yaml")).collect();
    let files = std::fs::read_dir(folder()).unwrap();
    let found: BTreeSet<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(found, names);
}

#[test]
fn every_setting_is_written_down_with_what_a_change_of_it_costs() {
    let next_start = SETTINGS.iter().filter(|it| it.takes_effect == TakesEffect::NextStart).map(|it| it.name);
    let expected = [setting::ENGINE_TEMP_BYTES, setting::DRAIN_SECS, setting::ENDPOINT_GRACE_SECS];
    assert_eq!(next_start.collect::<Vec<_>>(), expected);
}

/// What of the pod template differs when this specification replaces the first.
fn restarts(before: &Value, after: &Value) -> bool {
    let template = |spec| super::deployment::deployment(&desired(spec)).spec.unwrap().template;
    template(before) != template(after)
}

#[test]
fn only_what_needs_a_restart_changes_the_pods() {
    let cases = [
        (json!({"name": "Other"}), false),
        (json!({"settings": {"queryTimeoutMs": 1000}}), false),
        (json!({"settings": {"cacheEnabled": false}}), false),
        (json!({"settings": {"maxConcurrentQueries": 250}}), false),
        (json!({"settings": {"maxConcurrentQueries": 1000}}), true),
        (json!({"storage": {"size": "20Gi"}}), false),
        (json!({"network": {"allowedCidrs": ["10.0.0.0/8"]}}), false),
        (json!({"suspended": true}), false),
        (json!({"deletionPolicy": "Delete"}), false),
        (json!({"dataPlane": {"version": "0.9.0"}}), true),
        (json!({"dataPlane": {"resources": {"limits": {"memory": "4Gi"}}}}), true),
        (json!({"dataPlane": {"scheduling": {"nodeSelector": {"disk": "fast"}}}}), true),
        (json!({"tls": {"mode": "Secret", "secretRef": {"name": "other"}}}), true),
    ];
    for (spec, expected) in cases {
        assert_eq!(restarts(&json!({}), &spec), expected, "{spec}");
    }
}

#[test]
fn the_engine_leaves_memory_to_its_parent() {
    let mib = |amount: u64| amount << 20;
    for (memory, engine) in [("512Mi", mib(256)), ("1Gi", mib(768)), ("4Gi", mib(3072)), ("384Mi", mib(128))] {
        let spec = json!({"dataPlane": {"resources": {"requests": {"memory": memory}}}});
        assert_eq!(desired(&spec).resources.engine_memory_bytes, engine, "{memory}");
    }
}

#[test]
fn a_pod_may_take_as_long_to_end_as_the_longest_statement() {
    let desired = desired(&json!({}));
    let pod = super::deployment::deployment(&desired).spec.unwrap().template.spec.unwrap();
    assert_eq!(pod.termination_grace_period_seconds, Some(300 + 10 + 30));
}
