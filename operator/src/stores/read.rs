//! The fields that are kept of each kind of object, and the owner of the object.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DynamicObject;

use super::secret::{SeenSecret, secret};
use super::trimmed::Trim;
use super::{ChildText, Entry};
use crate::objects::child::{Child, Kind};
use crate::objects::names::label;
use crate::objects::namespaced_name::NamespacedName;
use crate::objects::observed::PodFacts;

/// The name under which the value of an `ApiKey` stands in its Secret.
pub const KEY_TEXT: &str = "key";

pub(super) fn labelled(metadata: &ObjectMeta, label: &str) -> Option<NamespacedName> {
    let name = metadata.labels.as_ref()?.get(label)?;
    Some(NamespacedName::new(metadata.namespace.as_deref().unwrap_or_default(), name))
}

pub(super) fn version(metadata: &ObjectMeta) -> String {
    metadata.resource_version.clone().unwrap_or_default()
}

/// A child of an environment, whole but for its managed fields. Nothing: it cannot be kept, and the log
/// says so.
pub type SeenChild = Option<Entry<(Kind, NamespacedName), ChildText>>;

fn child(value: &Child) -> SeenChild {
    let metadata = value.metadata();
    let text = ChildText::new(value);
    Some(Entry {
        key: (value.kind(), NamespacedName::of_metadata(metadata)),
        group: labelled(metadata, label::INSTANCE),
        resource_version: version(metadata),
        value: text.inspect_err(|error| tracing::error!(%error, child = %value.key(), "it cannot be kept")).ok()?,
    })
}

/// A kind of which every object is kept as a child.
pub trait Owned: Trim<Kept = SeenChild> {
    const KIND: Kind;
}

macro_rules! owned {
    ($($kind:ident),+ $(,)?) => {$(
        impl Trim for $kind {
            type Kept = SeenChild;

            fn trim(self) -> SeenChild {
                child(&Child::$kind(Arc::new(self)))
            }
        }

        impl Owned for $kind {
            const KIND: Kind = Kind::$kind;
        }
    )+};
}

owned!(ServiceAccount, PersistentVolumeClaim, ConfigMap, Service, NetworkPolicy, PodDisruptionBudget, Deployment);

impl Trim for Secret {
    type Kept = Entry<NamespacedName, SeenSecret>;

    fn trim(self) -> Self::Kept {
        secret(self)
    }
}

impl Trim for Pod {
    type Kept = Entry<NamespacedName, PodFacts>;

    fn trim(self) -> Self::Kept {
        pod(self)
    }
}

/// Of kinds that others define.
pub fn foreign(kind: Kind, mut object: DynamicObject) -> SeenChild {
    object.metadata.managed_fields = None;
    let value = match kind {
        Kind::Certificate => Child::Certificate(Arc::new(object)),
        Kind::VolumeSnapshot => Child::VolumeSnapshot(Arc::new(object)),
        _ => return None,
    };
    child(&value)
}

pub fn pod(object: Pod) -> Entry<NamespacedName, PodFacts> {
    let metadata = object.metadata;
    let status = object.status.unwrap_or_default();
    let condition = |kind: &str| status.conditions.iter().flatten().find(|condition| condition.type_ == kind);
    let waiting = status.container_statuses.iter().flatten().find_map(|container| {
        let reason = container.state.as_ref()?.waiting.as_ref()?.reason.as_deref()?;
        // the kubelet says one while it tries and the other while it waits: a status must not turn with it
        let reason = if reason == "ErrImagePull" { "ImagePullBackOff" } else { reason };
        (reason != "ContainerCreating").then(|| reason.to_owned())
    });
    let scheduled = condition("PodScheduled").filter(|condition| condition.reason.as_deref() == Some("Unschedulable"));
    let facts = PodFacts {
        name: metadata.name.clone().unwrap_or_default(),
        ready: condition("Ready").is_some_and(|condition| condition.status == "True"),
        ending: metadata.deletion_timestamp.is_some(),
        waiting,
        unschedulable: scheduled.map(|condition| condition.message.clone().unwrap_or_default()),
    };
    Entry {
        key: NamespacedName::of_metadata(&metadata),
        group: labelled(&metadata, label::INSTANCE),
        resource_version: version(&metadata),
        value: facts,
    }
}

pub fn storage_class(object: &StorageClass) -> Entry<String, bool> {
    Entry {
        key: object.metadata.name.clone().unwrap_or_default(),
        group: None,
        resource_version: version(&object.metadata),
        value: object.allow_volume_expansion.unwrap_or(false),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn an_image_that_cannot_be_pulled_is_one_trouble_whether_the_kubelet_tries_or_waits() {
        for (said, known) in [
            ("ErrImagePull", Some("ImagePullBackOff")),
            ("ImagePullBackOff", Some("ImagePullBackOff")),
            ("ErrImageNeverPull", Some("ErrImageNeverPull")),
            ("CrashLoopBackOff", Some("CrashLoopBackOff")),
            ("ContainerCreating", None),
        ] {
            let container = json!({
                "name": "dataplane", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
                "state": {"waiting": {"reason": said}},
            });
            let object = json!({"metadata": {"name": "p"}, "status": {"containerStatuses": [container]}});
            assert_eq!(pod(from_value(object).unwrap()).value.waiting.as_deref(), known, "{said}");
        }
    }
}
