//! An object that may be unlike its type. One that cannot be read must not stop the watch of all
//! the others.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

#[derive(Debug, Clone)]
pub enum Tolerant<K> {
    Read(Box<K>),
    Unread { metadata: Box<ObjectMeta>, why: String },
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Tolerant<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let metadata = value.get("metadata").cloned().unwrap_or_default();
        match serde_json::from_value(value) {
            Ok(object) => Ok(Self::Read(Box::new(object))),
            Err(error) => {
                let metadata = serde_json::from_value(metadata).map_err(D::Error::custom)?;
                Ok(Self::Unread { metadata: Box::new(metadata), why: error.to_string() })
            }
        }
    }
}

impl<K: Resource> Resource for Tolerant<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(dt)
    }

    fn group(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::group(dt)
    }

    fn version(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::version(dt)
    }

    fn plural(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(dt)
    }

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Read(object) => object.meta(),
            Self::Unread { metadata, .. } => metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Read(object) => object.meta_mut(),
            Self::Unread { metadata, .. } => metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tolerant;

    #[test]
    fn an_object_unlike_its_type_still_says_which_it_is() {
        let good = r#"{"metadata": {"uid": "a", "generation": 3}, "spec": {"organizationRef": {"name": "acme"},
            "slug": "dev", "name": "Dev", "settings": {"queryTimeoutMs": 7}}}"#;
        let Tolerant::Read(read) = serde_json::from_str::<Tolerant<crds::Environment>>(good).unwrap() else {
            panic!("not read");
        };
        assert_eq!((read.metadata.generation, read.spec.settings.query_timeout_ms), (Some(3), 7));
        let bad = good.replace('7', "\"soon\"");
        let Tolerant::Unread { metadata, why } = serde_json::from_str::<Tolerant<crds::Environment>>(&bad).unwrap()
        else {
            panic!("read");
        };
        assert_eq!(metadata.uid.as_deref(), Some("a"));
        assert!(why.contains("invalid type"), "{why}");
    }
}
