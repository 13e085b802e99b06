//! Values to begin with.

use std::net::Ipv4Addr;
use std::sync::Arc;

use crds::{Environment, GivenSecrets, ImageSource, Organization};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::objects::dns::Dns;
use crate::objects::observed::{Authorities, AuthorityFacts, ClusterFacts, GivenCertificate, Observed, Release};
use crate::objects::pods::{Account, Pods};
use crate::objects::source::Source;

pub const UID: &str = "0c0ffee0-0000-4000-8000-000000000001";
pub const ORGANIZATION_UID: &str = "0c0ffee0-0000-4000-8000-00000000000a";

pub fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

/// `acme-sales` with this specification over the least there must be.
pub fn environment(spec: &Value) -> Environment {
    let mut whole = json!({"organizationRef": {"name": "acme"}, "slug": "sales", "name": "Sales"});
    for (name, value) in spec.as_object().unwrap() {
        whole[name] = value.clone();
    }
    serde_json::from_value(json!({
        "apiVersion": "sluice.dev/v1alpha1", "kind": "Environment",
        "metadata": {"name": "acme-sales", "namespace": "tenants", "uid": UID, "generation": 1,
                     "creationTimestamp": "2026-02-01T00:00:00Z"},
        "spec": whole,
    }))
    .unwrap()
}

pub fn organization() -> Organization {
    serde_json::from_value(json!({
        "apiVersion": "sluice.dev/v1alpha1", "kind": "Organization",
        "metadata": {"name": "acme", "namespace": "tenants", "uid": ORGANIZATION_UID, "generation": 1},
        "spec": {"slug": "acme", "name": "Acme", "billingEmail": "pay@acme.example", "tier": "cloud"},
        "status": {"phase": "active", "orgId": ORGANIZATION_UID},
    }))
    .unwrap()
}

pub fn release() -> Release {
    Release {
        namespace: "sluice".to_owned(),
        source: Source {
            image: ImageSource {
                name: "registry.example/sluice/dataplane".to_owned(),
                pull_policy: "IfNotPresent".to_owned(),
                pull_secrets: vec!["registry".to_owned()],
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
        serves_lake: true,
        collector: telemetry::Destination::default(),
        model: crate::model::Model::default(),
        storage: crate::objects::storage_reach::StorageReach::default(),
    }
}

/// An empty cluster that can do everything.
pub fn observed(environment: Environment) -> Observed {
    let authority = |id: &str| Some(AuthorityFacts { id: id.to_owned(), bundle: format!("{id}-bundle") });
    Observed {
        environment: Arc::new(environment),
        organization: Some(Arc::new(organization())),
        siblings: Vec::new(),
        children: Vec::new(),
        secrets: Vec::new(),
        given_certificate: GivenCertificate::Unseen,
        pods: Vec::new(),
        keys: Vec::new(),
        authorities: Authorities { internal: authority("internal"), organization: authority("organization") },
        cluster: ClusterFacts { volume_may_grow: Some(true), has_volume_snapshots: true, has_cert_manager: true },
        release: Arc::new(release()),
        may_move: false,
        agreed: None,
        contests: Arc::default(),
        now: now(),
    }
}
