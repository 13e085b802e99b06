//! The volume of a native environment. It has no owner: nothing but a deletion that was asked for
//! and confirmed takes it away.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, TypedLocalObjectReference, VolumeResourceRequirements,
};

use super::{amounts, unowned};
use crate::controllers::environment::validate::{Desired, Storage};
use crate::objects::names::label;

/// None for a lake, whose data is elsewhere.
pub fn persistent_volume_claim(desired: &Desired) -> Option<PersistentVolumeClaim> {
    let Storage::Native { size, class, from_snapshot } = &desired.storage else { return None };
    let mut metadata = unowned(desired, desired.name.volume());
    let labels = metadata.labels.get_or_insert_default();
    labels.insert(label::ORGANIZATION_ID.to_owned(), desired.organization_uid.clone());
    labels.insert(label::ENVIRONMENT_ID.to_owned(), desired.env_id.to_string());
    let data_source = from_snapshot.as_ref().map(|snapshot| TypedLocalObjectReference {
        api_group: Some("snapshot.storage.k8s.io".to_owned()),
        kind: "VolumeSnapshot".to_owned(),
        name: snapshot.clone(),
    });
    Some(PersistentVolumeClaim {
        metadata,
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            resources: Some(VolumeResourceRequirements {
                requests: amounts(&BTreeMap::from([("storage".to_owned(), size.clone())])),
                limits: None,
            }),
            storage_class_name: class.clone(),
            data_source,
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    })
}
