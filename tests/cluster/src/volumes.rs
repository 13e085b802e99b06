//! Volumes of the one node: a folder for each claim of the storage class `local`.
//!
//! Kubernetes has no provisioner for the kind `local`, which is the one that gives a folder to the
//! group of the pod (`hostPath` does not). So this one watches claims, makes the volume of each, and
//! removes what a deleted claim leaves. Claims are bound at once: the scheduler looks only once a second
//! whether a volume that waited for its first pod is bound, and of one node there is no choice.

use std::{fs, path::PathBuf};

use futures::TryStreamExt;
use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim},
    storage::v1::StorageClass,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
    runtime::{WatchStreamExt, watcher},
};
use serde_json::json;

use crate::{
    Error,
    dns::create,
    layout::{Layout, NODE_NAME},
};

const CLASS: &str = "local";

pub(crate) async fn class(client: &Client) -> Result<(), Error> {
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "Immediate", "allowVolumeExpansion": true,
    });
    create(&Api::<StorageClass>::all(client.clone()), class).await
}

/// Makes and removes volumes; it ends only when it fails.
pub(crate) async fn provision(layout: &Layout, client: &Client) -> Error {
    let made = claims(layout, client);
    let removed = released(layout, client);
    match tokio::try_join!(made, removed) {
        Err(error) => error,
        Ok(_) => Error::Ended("the watch of volumes ended".to_owned()),
    }
}

async fn claims(layout: &Layout, client: &Client) -> Result<(), Error> {
    let claims: Api<PersistentVolumeClaim> = Api::all(client.clone());
    let volumes: &Api<PersistentVolume> = &Api::all(client.clone());
    watch(claims)
        .try_for_each(|claim| async move {
            let ours = claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref()) == Some(CLASS);
            if ours && claim.metadata.deletion_timestamp.is_none() {
                provide(layout, volumes, &claim).await?;
            }
            Ok(())
        })
        .await
}

/// Applies the volume of a claim: again when the claim has grown, and nothing else can change.
async fn provide(layout: &Layout, volumes: &Api<PersistentVolume>, claim: &PersistentVolumeClaim) -> Result<(), Error> {
    let name = volume_name(claim);
    let path = layout.folder(&format!("volumes/{name}"))?;
    let requests =
        claim.spec.as_ref().and_then(|spec| spec.resources.as_ref()).and_then(|wanted| wanted.requests.as_ref());
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": requests.and_then(|requests| requests.get("storage"))},
            "accessModes": claim.spec.as_ref().and_then(|spec| spec.access_modes.as_ref()),
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": CLASS,
            "local": {"path": path},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": claim.namespace(), "name": claim.name_any(), "uid": claim.uid(),
            },
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE_NAME]},
            ]}]}},
        },
    });
    let parameters = PatchParams::apply("cluster").force();
    volumes.patch(&name, &parameters, &Patch::Apply(&volume)).await.map_err(Error::kube(name.clone()))?;
    Ok(())
}

fn volume_name(claim: &PersistentVolumeClaim) -> String {
    format!("local-{}", claim.uid().unwrap_or_default())
}

async fn released(layout: &Layout, client: &Client) -> Result<(), Error> {
    let volumes: &Api<PersistentVolume> = &Api::all(client.clone());
    watch(volumes.clone())
        .try_for_each(|volume| async move {
            let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
            let ours = volume.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref()) == Some(CLASS);
            if ours && phase == Some("Released") {
                remove(layout, volumes, &volume.name_any()).await?;
            }
            Ok(())
        })
        .await
}

async fn remove(layout: &Layout, volumes: &Api<PersistentVolume>, name: &str) -> Result<(), Error> {
    let path: PathBuf = layout.at("volumes").join(name);
    match volumes.delete(name, &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        deleted => drop(deleted.map_err(Error::kube(name))?),
    }
    if path.is_dir() {
        fs::remove_dir_all(&path).map_err(Error::at(&path))?;
    }
    Ok(())
}

fn watch<K>(api: Api<K>) -> impl futures::Stream<Item = Result<K, Error>>
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
{
    watcher(api, watcher::Config::default())
        .default_backoff()
        .applied_objects()
        .map_err(|error| Error::Refused(format!("watch: {error}")))
}
