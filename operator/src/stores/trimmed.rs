//! An object of which a store keeps a part: the rest is dropped as soon as it is read, before the next object of
//! its list.
//!
//! A page of a list is most of what an operator ever needs at once, and most of a page are managed
//! fields.

use std::borrow::Cow;
use std::fmt::Debug;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

/// A kind of which only a part is kept.
pub trait Trim: Resource + DeserializeOwned {
    type Kept: Clone + Debug + Send + 'static;

    /// It comes without its managed fields.
    fn trim(self) -> Self::Kept;
}

#[derive(Debug, Clone)]
pub struct Trimmed<O: Trim> {
    pub kept: O::Kept,
    /// What a watch goes by, and nothing else.
    metadata: ObjectMeta,
}

impl<'de, O: Trim> Deserialize<'de> for Trimmed<O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = O::deserialize(deserializer)?;
        let whole = object.meta_mut();
        whole.managed_fields = None;
        let metadata = ObjectMeta { resource_version: whole.resource_version.clone(), ..ObjectMeta::default() };
        Ok(Self { kept: object.trim(), metadata })
    }
}

impl<O: Trim> Resource for Trimmed<O> {
    type DynamicType = O::DynamicType;
    type Scope = O::Scope;

    fn kind(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        O::kind(dynamic)
    }

    fn group(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        O::group(dynamic)
    }

    fn version(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        O::version(dynamic)
    }

    fn plural(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        O::plural(dynamic)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
