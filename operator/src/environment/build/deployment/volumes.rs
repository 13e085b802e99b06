//! What the pod mounts: its data, its two certificates, and a place for temporary files. The root
//! of the container is read-only.

use k8s_openapi::api::core::v1::{
    EmptyDirVolumeSource, PersistentVolumeClaimVolumeSource, SecretVolumeSource, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::super::config_map::{IDENTITY, STATE, TLS};
use crate::environment::validate::{Desired, Storage, Tls};

const TEMPORARY: &str = "/tmp";
const TEMPORARY_SIZE: &str = "256Mi";
/// Octal 0440: the pod's group reads, nobody writes.
const READ_BY_GROUP: i32 = 0o440;

pub fn volumes(desired: &Desired) -> Vec<Volume> {
    let tls = match &desired.tls {
        Tls::Given { secret } => secret.clone(),
        Tls::SelfSigned | Tls::CertManager { .. } => desired.name.tls(),
    };
    vec![
        state(desired),
        secret("identity", desired.name.identity()),
        secret("tls", tls),
        Volume { empty_dir: Some(scratch(TEMPORARY_SIZE)), ..named("tmp") },
    ]
}

pub fn mounts() -> Vec<VolumeMount> {
    [("state", STATE, None), ("identity", IDENTITY, Some(true)), ("tls", TLS, Some(true)), ("tmp", TEMPORARY, None)]
        .map(|(name, path, read_only)| VolumeMount {
            name: name.to_owned(),
            mount_path: path.to_owned(),
            read_only,
            ..VolumeMount::default()
        })
        .into()
}

/// A lake keeps its data in the object store; what it has here may go with the pod.
fn state(desired: &Desired) -> Volume {
    match &desired.storage {
        Storage::Native { .. } => Volume {
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: desired.name.volume(),
                read_only: None,
            }),
            ..named("state")
        },
        Storage::Lake { scratch: size, .. } => Volume { empty_dir: Some(scratch(size)), ..named("state") },
    }
}

fn secret(name: &str, secret: String) -> Volume {
    let source = SecretVolumeSource {
        secret_name: Some(secret),
        default_mode: Some(READ_BY_GROUP),
        ..SecretVolumeSource::default()
    };
    Volume { secret: Some(source), ..named(name) }
}

fn scratch(size: &str) -> EmptyDirVolumeSource {
    EmptyDirVolumeSource { size_limit: Some(Quantity(size.to_owned())), medium: None }
}

fn named(name: &str) -> Volume {
    Volume { name: name.to_owned(), ..Volume::default() }
}
