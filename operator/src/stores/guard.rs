//! A resource that may not fit its type: one bad object must not stop the watch of all others.
//!
//! kube's own guard buffers through a value that does not know numbers of arbitrary precision.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

use super::trimmed::of_kind;

/// An object without its managed fields, or the error of reading it.
#[derive(Debug, Clone)]
pub struct Guarded<K> {
    pub read: Result<K, String>,
    pub metadata: ObjectMeta,
}

#[derive(Deserialize)]
struct OnlyMetadata {
    metadata: ObjectMeta,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = serde_json::Value::deserialize(deserializer)?;
        // nobody reads them, and in a list they are most of it
        if let Some(metadata) = value.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let only = OnlyMetadata::deserialize(&value).map_err(D::Error::custom)?;
        let read = serde_json::from_value(value).map_err(|error| error.to_string());
        Ok(Self { read, metadata: only.metadata })
    }
}

of_kind!(Guarded<K: Resource>);

#[cfg(test)]
mod tests {
    use crds::Organization;

    use super::*;

    #[test]
    fn an_object_that_does_not_fit_its_type_still_has_a_name_and_the_rest_is_read() {
        let list = r#"[{"metadata": {"name": "good", "generation": 7, "managedFields": [{"manager": "m"}]},
                        "spec": {"slug": "good", "name": "G", "billingEmail": "a@b", "quotas": {"maxUsers": 9}}},
                       {"metadata": {"name": "bad"}, "spec": {"slug": 7}}]"#;
        let list: Vec<Guarded<Organization>> = serde_json::from_str(list).unwrap();
        let good = list[0].read.as_ref().unwrap();
        assert_eq!((good.metadata.generation, good.spec.quotas.max_users), (Some(7), Some(9)));
        assert_eq!(good.metadata.managed_fields, None);
        assert_eq!(list[1].meta().name.as_deref(), Some("bad"));
        assert!(list[1].read.as_ref().unwrap_err().contains("expected a string"));
    }
}
