//! The `VolumeSnapshot` of a volume before its deletion. It has no owner, so that it outlives the environment.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DynamicObject;
use serde_json::json;

use crate::objects::child::Kind;

/// Of the claim, under a name that no other deletion uses. The labels are those of the claim.
pub fn volume_snapshot(claim: &ObjectMeta, name: &str) -> DynamicObject {
    let source = json!({ "persistentVolumeClaimName": claim.name });
    let mut object =
        DynamicObject::new(name, &Kind::VolumeSnapshot.resource()).data(json!({ "spec": { "source": source } }));
    object.metadata.namespace.clone_from(&claim.namespace);
    object.metadata.labels.clone_from(&claim.labels);
    object
}
