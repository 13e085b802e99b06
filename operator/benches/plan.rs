//! What a look at an environment costs: a new one, a settled one, and a settled one of which nothing
//! is remembered, as after a restart.

#![expect(clippy::unwrap_used, reason = "a bench fails loudly")]

use std::sync::Arc;

use crds::{Environment, Organization};
use jiff::{SignedDuration, Timestamp};
use operator::environment::child::Child;
use operator::environment::observed::{
    Authorities, AuthorityFacts, CertificateFacts, ClusterFacts, Given, Observed, Release, SecretFacts,
};
use operator::environment::plan::{Authority, CertificateOrder, Finalizer, Write, plan};
use serde_json::json;

fn main() {
    divan::main();
}

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn new() -> Observed {
    let environment: Environment = serde_json::from_value(json!({
        "metadata": {"name": "acme-sales", "namespace": "tenants", "uid": "0c0ffee0-0000-4000-8000-000000000001",
                     "generation": 1, "creationTimestamp": "2026-02-01T00:00:00Z"},
        "spec": {"organizationRef": {"name": "acme"}, "slug": "sales", "name": "Sales"},
    }))
    .unwrap();
    let organization: Organization = serde_json::from_value(json!({
        "metadata": {"name": "acme", "namespace": "tenants", "uid": "0c0ffee0-0000-4000-8000-00000000000a"},
        "spec": {"slug": "acme", "name": "Acme", "billingEmail": "pay@acme.example", "tier": "cloud"},
        "status": {"phase": "active"},
    }))
    .unwrap();
    let authority = |id: &str| Some(AuthorityFacts { id: id.to_owned(), bundle: format!("{id}-bundle") });
    Observed {
        environment: Arc::new(environment),
        organization: Some(Arc::new(organization)),
        siblings: Vec::new(),
        children: Vec::new(),
        secrets: Vec::new(),
        given_certificate: Given::Unseen,
        pods: Vec::new(),
        keys: Vec::new(),
        authorities: Authorities { internal: authority("internal"), organization: authority("organization") },
        cluster: ClusterFacts::default(),
        release: Arc::new(release()),
        may_move: false,
        agreed: None,
        now: now(),
    }
}

fn release() -> Release {
    Release {
        namespace: "sluice".to_owned(),
        image: "registry.example/sluice/dataplane".to_owned(),
        version: "0.1.0".to_owned(),
        pull_policy: "IfNotPresent".to_owned(),
        pull_secrets: Vec::new(),
        control_plane: "sluice-controlplane.sluice.svc:8081".to_owned(),
        cluster_domain: "cluster.local".to_owned(),
        serves_lake: false,
    }
}

/// As a watch would hand it over.
fn stored(mut child: Child) -> Child {
    let metadata = match &mut child {
        Child::ServiceAccount(it) => &mut Arc::make_mut(it).metadata,
        Child::PersistentVolumeClaim(it) => &mut Arc::make_mut(it).metadata,
        Child::ConfigMap(it) => &mut Arc::make_mut(it).metadata,
        Child::Service(it) => &mut Arc::make_mut(it).metadata,
        Child::NetworkPolicy(it) => &mut Arc::make_mut(it).metadata,
        Child::PodDisruptionBudget(it) => &mut Arc::make_mut(it).metadata,
        Child::Deployment(it) => &mut Arc::make_mut(it).metadata,
        Child::Certificate(it) | Child::VolumeSnapshot(it) => &mut Arc::make_mut(it).metadata,
    };
    metadata.uid = Some("0c0ffee0-0000-4000-8000-00000000000c".to_owned());
    metadata.resource_version = Some("7".to_owned());
    child
}

fn signed(order: &CertificateOrder, observed: &Observed) -> SecretFacts {
    let authorities = &observed.authorities;
    let authority = match order.authority {
        Authority::Internal => authorities.internal.clone(),
        Authority::Organization(_) => authorities.organization.clone(),
    };
    let AuthorityFacts { id: issuer, bundle } = authority.unwrap();
    let lifetime = SignedDuration::try_from(order.lifetime).unwrap();
    let dns_names = order.dns_names.clone();
    let certificate = CertificateFacts { not_before: now(), not_after: now() + lifetime, dns_names, issuer, bundle };
    let metadata = order.metadata.clone();
    SecretFacts {
        name: metadata.name.unwrap(),
        uid: "0c0ffee0-0000-4000-8000-00000000000d".to_owned(),
        resource_version: "7".to_owned(),
        labels: metadata.labels.unwrap(),
        owners: metadata.owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect(),
        deleting: false,
        certificate: Some(certificate),
    }
}

/// Nothing is left to be done about it.
fn settled() -> Observed {
    let mut observed = new();
    for _ in 0..4 {
        let plan = plan(&observed);
        for write in &plan.writes {
            match write {
                Write::Apply(child) => observed.children.push(stored(child.clone())),
                Write::Issue(order) => observed.secrets.push(signed(order, &observed)),
                Write::Scale { .. } => {}
            }
        }
        let environment = Arc::make_mut(&mut observed.environment);
        if plan.finalizer == Finalizer::Add {
            environment.metadata.finalizers = Some(vec!["sluice.dev/finalizer".to_owned()]);
        }
        environment.status = Some(plan.status);
        observed.agreed = plan.agreed;
    }
    let last = plan(&observed);
    assert!(last.writes.is_empty() && last.deletes.is_empty(), "{:?}", last.writes);
    observed
}

#[divan::bench]
fn a_new_environment(bencher: divan::Bencher<'_, '_>) {
    let observed = new();
    bencher.bench(|| plan(divan::black_box(&observed)));
}

#[divan::bench]
fn a_settled_environment(bencher: divan::Bencher<'_, '_>) {
    let observed = settled();
    bencher.bench(|| plan(divan::black_box(&observed)));
}

#[divan::bench]
fn a_settled_environment_after_a_restart(bencher: divan::Bencher<'_, '_>) {
    let observed = Observed { agreed: None, ..settled() };
    bencher.bench(|| plan(divan::black_box(&observed)));
}
