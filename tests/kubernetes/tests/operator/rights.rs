//! Every right that the operator has is used: one that is not is one that it should not have.
//!
//! Lives of environments in which each verb on each kind of the table happens, as the API server's
//! audit log tells it; the kinds that a cluster may lack are defined for it. What is asked for beyond
//! the table is refused by the roles, and seen here as a 403.

use std::collections::BTreeSet;

use crds::{ApiKey, Environment, Organization};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Resource, ResourceExt};
use kubernetes::audit::Audit;
use kubernetes::process::Process;
use kubernetes::{absent, definitions, until};
use operator::objects::child::Kind;
use operator::rbac::RULES;
use serde_json::{Value, json};

use super::bench::{ACCOUNT, Bench, eventually};

/// As far as an operator uses it: any content.
fn definition(kind: Kind) -> CustomResourceDefinition {
    let resource = kind.resource();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version =
        json!({"name": resource.version, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let whole = json!({
        "metadata": {
            "name": format!("{}.{}", resource.plural, resource.group),
            // the API server asks for it below k8s.io
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": resource.group, "scope": "Namespaced", "versions": [version],
            "names": {"plural": resource.plural, "singular": kind.to_string().to_lowercase(), "kind": resource.kind},
        },
    });
    serde_json::from_value(whole).unwrap()
}

/// Verbs by kind, as rules write them; an apply that made an object needed `create` as well.
fn used(bench: &Bench, audit: &Audit) -> BTreeSet<(String, String)> {
    let mut used = BTreeSet::new();
    for it in audit.of(&bench.user(ACCOUNT)) {
        if it.verb == "patch" && it.code == 201 {
            used.insert((it.resource.clone(), "create".to_owned()));
        }
        used.insert((it.resource, it.verb));
    }
    used
}

#[tokio::test]
async fn every_right_of_the_table_is_used_and_none_is_missing() {
    let bench = Bench::new("rights").await;
    for kind in [Kind::Certificate, Kind::VolumeSnapshot] {
        definitions::define(&bench.world.client, &definition(kind)).await;
    }
    let audit = Audit::begin();
    let operator = Process::start(&bench, "one", &bench.token, &["--serves-lake"]).await;
    operator.ready().await;
    bench.organization("acme").await;
    confirmed_to_the_end(&bench).await;
    several_replicas(&bench).await;
    signed_by_cert_manager(&bench).await;
    bench.delete_organization("acme").await;
    absent(&bench.world.api::<Organization>(), "acme").await;
    operator.stop().await;

    let table: Vec<(String, String)> = RULES
        .iter()
        .flat_map(|rule| rule.verbs.iter().map(|verb| (rule.resource.to_owned(), (*verb).to_owned())))
        .collect();
    // a watch is in the log when it has ended
    let watches = table.iter().filter(|(_, verb)| verb == "watch").cloned().collect::<BTreeSet<_>>();
    eventually("the watches are in the log", async || used(&bench, &audit).is_superset(&watches)).await;
    let used = used(&bench, &audit);
    let unused: Vec<_> = table.iter().filter(|right| !used.contains(right)).collect();
    assert!(unused.is_empty(), "never used: {unused:?}");
    let refused: Vec<_> = audit.of(&bench.user(ACCOUNT)).into_iter().filter(|it| it.code == 403).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

/// Suspended and resumed, cleared of what is not wanted, and deleted with its volume, of which a
/// snapshot is kept.
async fn confirmed_to_the_end(bench: &Bench) {
    let name = bench.environment("acme", "prod", json!({"deletionPolicy": "Snapshot"})).await;
    let environment = bench.settled(&name).await;
    for kind in [
        Kind::ServiceAccount,
        Kind::ConfigMap,
        Kind::Secret,
        Kind::Service,
        Kind::NetworkPolicy,
        Kind::PodDisruptionBudget,
    ] {
        bench.world.apply(unwanted(kind, &environment)).await;
        absent(&bench.children(kind), "unwanted").await;
    }
    let environments = bench.world.api::<Environment>();
    for suspended in [true, false, true, false] {
        bench.merge::<Environment>(&name, json!({"spec": {"suspended": suspended}})).await;
        until(&environments, &name, "said to be so", |it| kubernetes::wait::says(it, "Suspended") == suspended).await;
    }
    let key = json!({"environmentRef": {"name": name}, "name": "reader", "scopes": ["query:read"], "secretRef": {"name": "reader"}});
    bench
        .world
        .apply(
            json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "ApiKey", "metadata": {"name": "reader"}, "spec": key}),
        )
        .await;
    let keys = bench.world.api::<ApiKey>();
    until(&keys, "reader", "looked at", |it: &ApiKey| it.status.is_some() && !it.finalizers().is_empty()).await;

    bench
        .merge::<Environment>(&name, json!({"metadata": {"annotations": {"sluice.dev/confirm-delete": "prod"}}}))
        .await;
    bench.delete_environment(&name).await;
    until(&keys, "reader", "on its way out", |it: &ApiKey| it.meta().deletion_timestamp.is_some()).await;
    // there is no control plane that would say that it is revoked
    bench.merge::<ApiKey>("reader", json!({"metadata": {"finalizers": null}})).await;
    let snapshots = bench.children(Kind::VolumeSnapshot);
    let taken = async || snapshots.list(&kube::api::ListParams::default()).await.unwrap().items.pop();
    eventually("a snapshot is asked for", async || taken().await.is_some()).await;
    let snapshot = taken().await.unwrap().name_any();
    let done = kube::api::Patch::Merge(json!({"status": {"readyToUse": true}}));
    snapshots.patch(&snapshot, &kube::api::PatchParams::default(), &done).await.unwrap();
    absent(&environments, &name).await;
}

/// What carries our labels, belongs to the environment, and is no part of it.
fn unwanted(kind: Kind, environment: &Environment) -> Value {
    let labels = json!({
        "app.kubernetes.io/managed-by": "sluice-operator", "app.kubernetes.io/instance": environment.name_any(),
    });
    let owner = json!({
        "apiVersion": "sluice.dev/v1alpha1", "kind": "Environment",
        "name": environment.name_any(), "uid": environment.uid().unwrap(),
    });
    let mut object = json!({
        "apiVersion": kind.resource().api_version, "kind": kind.to_string(),
        "metadata": {"name": "unwanted", "labels": labels, "ownerReferences": [owner]},
    });
    let spec = match kind {
        Kind::Service => json!({"ports": [{"port": 1}]}),
        Kind::NetworkPolicy => json!({"podSelector": {}}),
        Kind::PodDisruptionBudget => json!({"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}),
        _ => return object,
    };
    object["spec"] = spec;
    object
}

async fn several_replicas(bench: &Bench) {
    let storage = json!({"format": "lake", "size": "1Gi", "objectStore": {"url": "s3://bucket/prefix"}});
    let name = bench.environment("acme", "lake", json!({"storage": storage, "dataPlane": {"replicas": 2}})).await;
    bench.settled(&name).await;
    until(&bench.children(Kind::PodDisruptionBudget), &name, "there", |_| true).await;
    bench.delete_environment(&name).await;
    absent(&bench.world.api::<Environment>(), &name).await;
}

async fn signed_by_cert_manager(bench: &Bench) {
    let tls = json!({"mode": "CertManager", "issuerRef": {"name": "issuer"}});
    let name = bench.environment("acme", "signed", json!({"tls": tls})).await;
    bench.settled(&name).await;
    bench.delete_environment(&name).await;
    absent(&bench.world.api::<Environment>(), &name).await;
}
