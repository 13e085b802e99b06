//! An object of which a store keeps a part: the rest is dropped as soon as it is read, before the next object of
//! its list.
//!
//! A page of a list is most of what an operator ever needs at once, and most of a page are managed
//! fields.

use std::fmt::Debug;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

/// Makes a wrapper with the metadata of an object a resource of the object's kind.
macro_rules! of_kind {
    ($wrapper:ident<$object:ident: $bound:ident>) => {
        impl<$object: $bound> Resource for $wrapper<$object> {
            type DynamicType = $object::DynamicType;
            type Scope = $object::Scope;

            fn kind(dynamic: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
                $object::kind(dynamic)
            }

            fn group(dynamic: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
                $object::group(dynamic)
            }

            fn version(dynamic: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
                $object::version(dynamic)
            }

            fn plural(dynamic: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
                $object::plural(dynamic)
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
pub(super) use of_kind;

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

of_kind!(Trimmed<O: Trim>);
