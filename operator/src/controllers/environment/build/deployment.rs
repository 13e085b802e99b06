//! The Deployment of an environment.
//!
//! A Deployment also for an environment that owns a file: the new pod starts beside the old one on
//! the node that has the volume, waits there until the old one has let go of the file, and takes it
//! over. Where it finds no place there, the old one ends first, and the environment is away meanwhile.
//! Nothing in the template depends on the operator's own version.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::{
    Affinity, LocalObjectReference, PodAffinity, PodAffinityTerm, PodSpec, PodTemplateSpec, Toleration,
    TopologySpreadConstraint,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::config_map::{DRAIN_SECS, ENDPOINT_GRACE_SECS, restart_hash};
use super::{labels, owned};
use crate::controllers::environment::validate::{Desired, Storage};
use crate::objects::names::{annotation, label, selector};
use crate::objects::pods;

mod container;
mod volumes;

/// After draining: to checkpoint, to flush the log, to end.
const CLOSING_SECS: u64 = 30;
/// After this the rollout counts as failed and stays where it is; old pods go on.
const PROGRESS_DEADLINE_SECS: i32 = 600;

pub fn deployment(desired: &Desired) -> Deployment {
    let mut metadata = owned(desired, desired.name.to_string());
    metadata.labels.get_or_insert_default().insert(label::VERSION.to_owned(), desired.version.clone());
    metadata.annotations = desired.source.pods.text().map(|text| BTreeMap::from([(annotation::PODS.to_owned(), text)]));
    Deployment {
        metadata,
        spec: Some(DeploymentSpec {
            replicas: Some(desired.replicas_now()),
            selector: ours(desired),
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateDeployment {
                    max_surge: Some(IntOrString::Int(i32::from(!desired.old_goes_first))),
                    max_unavailable: Some(IntOrString::Int(i32::from(desired.old_goes_first))),
                }),
            }),
            progress_deadline_seconds: Some(PROGRESS_DEADLINE_SECS),
            revision_history_limit: Some(2),
            // whoever pauses it has "sluice.dev/paused", which says so
            paused: Some(false),
            template: template(desired),
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

fn ours(desired: &Desired) -> LabelSelector {
    LabelSelector { match_labels: Some(selector(desired.name.as_str()).into()), match_expressions: None }
}

fn template(desired: &Desired) -> PodTemplateSpec {
    let added = &desired.source.pods;
    let mut labels: BTreeMap<_, _> = added.labels.clone().into_iter().chain(labels(desired)).collect();
    labels.insert(label::VERSION.to_owned(), desired.version.clone());
    let hash = (annotation::CONFIG_HASH.to_owned(), restart_hash(desired));
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels),
            annotations: Some(added.annotations.clone().into_iter().chain([hash]).collect()),
            ..ObjectMeta::default()
        }),
        spec: Some(pod(desired)),
    }
}

fn pod(desired: &Desired) -> PodSpec {
    let secrets = &desired.source.image.pull_secrets;
    let secrets: Vec<_> = secrets.iter().map(|name| LocalObjectReference { name: name.clone() }).collect();
    let scheduling = &desired.scheduling;
    PodSpec {
        containers: vec![container::container(desired)],
        volumes: Some(volumes::volumes(desired)),
        service_account_name: Some(desired.name.to_string()),
        automount_service_account_token: Some(false),
        // variables named after Services could be taken for settings
        enable_service_links: Some(false),
        security_context: Some(desired.source.pods.security_context.clone().unwrap_or_else(pods::security)),
        termination_grace_period_seconds: i64::try_from(DRAIN_SECS + ENDPOINT_GRACE_SECS + CLOSING_SECS).ok(),
        affinity: beside_the_volume(desired),
        topology_spread_constraints: spread(desired),
        node_selector: (!scheduling.node_selector.is_empty()).then(|| scheduling.node_selector.clone()),
        tolerations: tolerations(desired),
        priority_class_name: scheduling.priority_class_name.clone(),
        image_pull_secrets: (!secrets.is_empty()).then_some(secrets),
        ..PodSpec::default()
    }
}

/// The volume can be mounted on one node, so the successor must come up where the pod is that it
/// replaces. The first pod of all may go anywhere.
fn beside_the_volume(desired: &Desired) -> Option<Affinity> {
    let Storage::Native { .. } = desired.storage else { return None };
    let term = PodAffinityTerm {
        label_selector: Some(ours(desired)),
        topology_key: "kubernetes.io/hostname".to_owned(),
        ..PodAffinityTerm::default()
    };
    let pod_affinity =
        PodAffinity { required_during_scheduling_ignored_during_execution: Some(vec![term]), ..PodAffinity::default() };
    Some(Affinity { pod_affinity: Some(pod_affinity), ..Affinity::default() })
}

/// Over zones and hosts, where that is possible.
fn spread(desired: &Desired) -> Option<Vec<TopologySpreadConstraint>> {
    let Storage::Lake { .. } = desired.storage else { return None };
    let over = |key: &str| TopologySpreadConstraint {
        label_selector: Some(ours(desired)),
        max_skew: 1,
        topology_key: key.to_owned(),
        when_unsatisfiable: "ScheduleAnyway".to_owned(),
        ..TopologySpreadConstraint::default()
    };
    Some(vec![over("topology.kubernetes.io/zone"), over("kubernetes.io/hostname")])
}

fn tolerations(desired: &Desired) -> Option<Vec<Toleration>> {
    let given = &desired.scheduling.tolerations;
    let tolerations = given.iter().map(|it| Toleration {
        key: it.key.clone(),
        operator: it.operator.clone(),
        value: it.value.clone(),
        effect: it.effect.clone(),
        toleration_seconds: it.toleration_seconds,
    });
    (!given.is_empty()).then(|| tolerations.collect())
}
