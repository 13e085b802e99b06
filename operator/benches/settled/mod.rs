//! Environments to measure with: new ones, and settled ones with all that belongs to them.

use std::net::Ipv4Addr;
use std::sync::Arc;

use crds::{Environment, GivenSecrets, ImageSource, Organization};
use jiff::{SignedDuration, Timestamp};
use operator::controllers::environment::plan::plan;
use operator::objects::child::Child;
use operator::objects::dns::Dns;
use operator::objects::observed::{
    Authorities, AuthorityFacts, CertificateFacts, ClusterFacts, GivenCertificate, Observed, Release, SecretFacts,
};
use operator::objects::plan::{Authority, CertificateOrder, Finalizer, Write};
use operator::objects::pods::{Account, Pods};
use operator::objects::source::Source;
use serde_json::json;
use sha2::{Digest, Sha256};

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

/// As an API server gives one: nobody else's, and nothing in it repeats.
pub fn uid(of: &str) -> String {
    let hash = hex::encode(Sha256::digest(of));
    [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &hash[part]).join("-")
}

/// An environment that nobody has looked at.
pub fn new(organization: &str, slug: &str) -> Observed {
    let name = format!("{organization}-{slug}");
    let environment: Environment = serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "tenants", "uid": uid(&name),
                     "generation": 1, "creationTimestamp": "2026-02-01T00:00:00Z"},
        "spec": {"organizationRef": {"name": organization}, "slug": slug, "name": slug},
    }))
    .unwrap();
    let organization: Organization = serde_json::from_value(json!({
        "metadata": {"name": organization, "namespace": "tenants", "uid": uid(organization)},
        "spec": {"slug": organization, "name": organization, "billingEmail": "pay@acme.example", "tier": "cloud"},
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
        given_certificate: GivenCertificate::Unseen,
        pods: Vec::new(),
        keys: Vec::new(),
        authorities: Authorities { internal: authority("internal"), organization: authority("organization") },
        cluster: ClusterFacts::default(),
        release: Arc::new(release()),
        may_move: false,
        agreed: None,
        contests: Arc::default(),
        now: now(),
    }
}

fn release() -> Release {
    Release {
        namespace: "sluice".to_owned(),
        source: Source {
            image: ImageSource {
                name: "registry.example/sluice/dataplane".to_owned(),
                pull_policy: "IfNotPresent".to_owned(),
                pull_secrets: Vec::new(),
            },
            secrets: GivenSecrets::default(),
            pods: Pods::default(),
        },
        version: "0.1.0".to_owned(),
        control_plane: "sluice-controlplane.sluice.svc:8081".to_owned(),
        cluster_domain: "cluster.local".to_owned(),
        listen: Ipv4Addr::UNSPECIFIED.into(),
        http_idle_secs: 75,
        tool_result_bytes: contract::wire::TOOL_RESULT_BYTES,
        plans: contract::plan_bounds::PlanBounds::DEFAULT,
        account: Account::default(),
        dns: Dns::default(),
        serves_lake: false,
        model: operator::model::Model::default(),
        collector: telemetry::Destination::default(),
        storage: operator::objects::storage_reach::StorageReach::default(),
    }
}

/// As a watch would hand it over.
fn stored(mut child: Child) -> Child {
    let key = child.key().to_string();
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
    metadata.uid = Some(uid(&key));
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
pub fn settled(organization: &str, slug: &str) -> Observed {
    let mut observed = new(organization, slug);
    for _ in 0..4 {
        let plan = plan(&observed);
        for write in &plan.writes {
            match write {
                Write::Apply(child) => observed.children.push(stored(child.clone())),
                Write::Issue(order) => observed.secrets.push(signed(order, &observed)),
                Write::Strip { .. } | Write::Disown { .. } | Write::Scale { .. } => {}
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
