//! The one container of the pod.

use contract::wire::{port, probe, setting};
use k8s_openapi::api::core::v1::{
    ConfigMapEnvSource, Container, ContainerPort, EnvFromSource, EnvVar, EnvVarSource, HTTPGetAction, Probe,
    ResourceRequirements, SecretEnvSource, SecretKeySelector,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::super::amounts;
use super::volumes;
use crate::controllers::environment::validate::{Desired, Storage};
use crate::objects::pods;

const PROGRAM: &str = "/usr/local/bin/dataplane";
/// With three refusals in ten seconds each it has two minutes.
const STARTS_WITHIN_SECS: i32 = 90;

pub fn container(desired: &Desired) -> Container {
    let (image, added) = (&desired.source.image, &desired.source.pods);
    Container {
        name: "dataplane".to_owned(),
        image: Some(format!("{}:{}", image.name, desired.version)),
        image_pull_policy: Some(image.pull_policy.clone()),
        command: Some(vec![PROGRAM.to_owned()]),
        env_from: Some(environment(desired)),
        env: Some(variables(desired)).filter(|variables| !variables.is_empty()),
        ports: Some(ports()),
        resources: Some(ResourceRequirements {
            requests: amounts(&desired.resources.requests),
            limits: amounts(&desired.resources.limits),
            claims: None,
        }),
        // No startup probe: the kubelet would ask for readiness only when it looks again after that one has passed,
        // a second later. Opening a large file may take its time; after that, an answer is due.
        liveness_probe: Some(Probe { initial_delay_seconds: Some(STARTS_WITHIN_SECS), ..probe(probe::HEALTH, 10, 3) }),
        readiness_probe: Some(probe(probe::READY, 1, 2)),
        security_context: Some(added.container_security_context.clone().unwrap_or_else(pods::container_security)),
        volume_mounts: Some(volumes::mounts(desired)),
        ..Container::default()
    }
}

/// The settings, and for a lake the credentials of its object store.
fn environment(desired: &Desired) -> Vec<EnvFromSource> {
    let settings = ConfigMapEnvSource { name: desired.name.config(), optional: None };
    let mut sources = Vec::new();
    if let Storage::Lake { secret: Some(secret), .. } = &desired.storage {
        let secret = SecretEnvSource { name: secret.clone(), optional: None };
        sources.push(EnvFromSource { secret_ref: Some(secret), ..EnvFromSource::default() });
    }
    // last, and so stronger: no credential can replace a setting
    sources.push(EnvFromSource { config_map_ref: Some(settings), ..EnvFromSource::default() });
    sources
}

/// Credentials, and what the installation adds.
fn variables(desired: &Desired) -> Vec<EnvVar> {
    let added = desired.source.pods.env.iter().cloned();
    headers(desired).into_iter().chain(model_key(desired)).chain(added).collect()
}

/// A credential for the collector: from its Secret to the process, past everybody else.
fn headers(desired: &Desired) -> Option<EnvVar> {
    let (name, key) = desired.source.collector_headers()?;
    let selector = SecretKeySelector { name: name.to_owned(), key: key.to_owned(), optional: None };
    Some(EnvVar {
        name: setting::OTLP_HEADERS.to_owned(),
        value_from: Some(EnvVarSource { secret_key_ref: Some(selector), ..EnvVarSource::default() }),
        value: None,
    })
}

/// What the model endpoint wants. A data plane without the Secret asks without a key: it can do without a model.
fn model_key(desired: &Desired) -> Option<EnvVar> {
    let from = desired.source.secrets.model.as_ref()?;
    let secret = SecretKeySelector { name: from.name.clone(), key: from.key.clone(), optional: Some(true) };
    let from = EnvVarSource { secret_key_ref: Some(secret), ..EnvVarSource::default() };
    Some(EnvVar { name: setting::MODEL_KEY.to_owned(), value: None, value_from: Some(from) })
}

fn ports() -> Vec<ContainerPort> {
    let named =
        [("psql", port::PGWIRE), ("tools", port::TOOLS), ("http", port::INTERNAL_REST), ("probes", port::PROBES)];
    let port = |(name, number): (&str, u16)| ContainerPort {
        name: Some(name.to_owned()),
        container_port: i32::from(number),
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    };
    named.into_iter().map(port).collect()
}

fn probe(path: &str, period_seconds: i32, failure_threshold: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String("probes".to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period_seconds),
        timeout_seconds: Some(3),
        failure_threshold: Some(failure_threshold),
        ..Probe::default()
    }
}
