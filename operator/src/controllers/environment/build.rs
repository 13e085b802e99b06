//! The children of an environment: one file for each kind, with one pure function.
//!
//! Only the fields that we decide are set. A field that the API server would fill in, or that is
//! someone else's to change, is left out: server-side apply would fight over it.

mod certificate;
mod config_map;
mod deployment;
mod network_policy;
mod persistent_volume_claim;
mod pod_disruption_budget;
mod secret;
mod service;
mod service_account;
#[cfg(test)]
mod tests;
mod volume_snapshot;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub use config_map::{SETTINGS, Setting, TakesEffect};
pub use volume_snapshot::volume_snapshot;

use super::validate::{Desired, Storage, Tls};
use crate::objects::child::Child;
use crate::objects::names::{label, selector};
use crate::objects::plan::Write;

/// Every child there should be, in the order in which they are applied: the workload last, so that
/// it does not start before what it mounts.
pub fn children(desired: &Desired) -> Vec<Write> {
    let apply = |child| Some(Write::Apply(child));
    let native = matches!(desired.storage, Storage::Native { .. });
    let self_signed = desired.tls == Tls::SelfSigned;
    let several = desired.replicas >= 2;
    [
        apply(Child::ServiceAccount(Arc::new(service_account::service_account(desired)))),
        persistent_volume_claim::persistent_volume_claim(desired)
            .filter(|_| native)
            .and_then(|claim| apply(Child::PersistentVolumeClaim(Arc::new(claim)))),
        apply(Child::ConfigMap(Arc::new(config_map::config_map(desired)))),
        Some(Write::Issue(secret::identity(desired))),
        Some(Write::Issue(secret::server(desired))).filter(|_| self_signed),
        certificate::certificate(desired).and_then(|it| apply(Child::Certificate(Arc::new(it)))),
        apply(Child::Service(Arc::new(service::service(desired)))),
        apply(Child::NetworkPolicy(Arc::new(network_policy::network_policy(desired)))),
        several
            .then(|| pod_disruption_budget::pod_disruption_budget(desired))
            .and_then(|budget| apply(Child::PodDisruptionBudget(Arc::new(budget)))),
        apply(Child::Deployment(Arc::new(deployment::deployment(desired)))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Name, place, labels, and the environment as the owner: the child goes with it.
fn owned(desired: &Desired, name: String) -> ObjectMeta {
    ObjectMeta { owner_references: Some(vec![desired.owner.clone()]), ..unowned(desired, name) }
}

/// The same for what outlives the environment.
fn unowned(desired: &Desired, name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: Some(desired.namespace.clone()),
        labels: Some(labels(desired)),
        ..ObjectMeta::default()
    }
}

/// Labels by which an object is found to be ours.
pub const OURS: [&str; 3] = [label::MANAGED_BY, label::INSTANCE, label::ORGANIZATION];

/// Labels of every child. The operator's own version is not among them: an operator that is
/// upgraded must not change a single data plane.
fn labels(desired: &Desired) -> BTreeMap<String, String> {
    let fixed = [
        (label::COMPONENT, "data-plane"),
        (label::PART_OF, "sluice"),
        (label::MANAGED_BY, label::OPERATOR),
        (label::ORGANIZATION, desired.organization.as_str()),
    ];
    let fixed = fixed.map(|(name, value)| (name.to_owned(), value.to_owned()));
    selector(desired.name.as_str()).into_iter().chain(fixed).collect()
}

/// A map of texts as Kubernetes' own type for amounts.
fn amounts(
    texts: &BTreeMap<String, String>,
) -> Option<BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity>> {
    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
    let map: BTreeMap<_, _> = texts.iter().map(|(name, text)| (name.clone(), Quantity(text.clone()))).collect();
    (!map.is_empty()).then_some(map)
}
