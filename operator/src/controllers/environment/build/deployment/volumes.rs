//! The volumes of the pod: its data, its two certificates, the authority of a collector that has one of its
//! own, and an `emptyDir` for temporary files. The root of the container is read-only.

use k8s_openapi::api::core::v1::{
    EmptyDirVolumeSource, KeyToPath, PersistentVolumeClaimVolumeSource, SecretVolumeSource, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::super::config_map::{COLLECTOR, IDENTITY, STATE, TLS};
use crate::controllers::environment::validate::{Desired, Storage, Tls};
use crate::objects::source::COLLECTOR_VOLUME;

const TEMPORARY: &str = "/tmp";
const TEMPORARY_SIZE: &str = "256Mi";
/// Octal 0440: the pod's group reads, nobody writes.
const READ_BY_GROUP: i32 = 0o440;

pub fn volumes(desired: &Desired) -> Vec<Volume> {
    let tls = match &desired.tls {
        Tls::Given { secret } => secret.clone(),
        Tls::SelfSigned | Tls::CertManager { .. } => desired.name.tls(),
    };
    let always = [
        state(desired),
        secret("identity", desired.name.identity()),
        secret("tls", tls),
        Volume { empty_dir: Some(scratch(TEMPORARY_SIZE)), ..named("tmp") },
    ];
    always.into_iter().chain(collector(desired)).collect()
}

pub fn mounts(desired: &Desired) -> Vec<VolumeMount> {
    let always = [
        ("state", STATE, None),
        ("identity", IDENTITY, Some(true)),
        ("tls", TLS, Some(true)),
        ("tmp", TEMPORARY, None),
    ];
    let collector = desired.source.collector_ca().map(|_| (COLLECTOR_VOLUME, COLLECTOR, Some(true)));
    let mount = |(name, path, read_only): (&str, &str, _)| VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only,
        ..VolumeMount::default()
    };
    always.into_iter().chain(collector).map(mount).collect()
}

/// Of the collector's Secret the authority alone: its headers are a credential, and no file.
fn collector(desired: &Desired) -> Option<Volume> {
    let (name, key) = desired.source.collector_ca()?;
    let authority = KeyToPath { key: key.to_owned(), path: "ca.crt".to_owned(), mode: None };
    let mut volume = secret(COLLECTOR_VOLUME, name.to_owned());
    if let Some(source) = &mut volume.secret {
        source.items = Some(vec![authority]);
    }
    Some(volume)
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
