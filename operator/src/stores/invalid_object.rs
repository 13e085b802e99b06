//! Objects that do not fit their type: left alone, and told of by an Event.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use super::Guarded;
use crate::objects::namespaced_name::NamespacedName;

/// An object that does not fit its type.
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidObject {
    pub about: ObjectReference,
    pub error: String,
}

/// All invalid objects, by kind, namespace and name.
#[derive(Debug, Default)]
pub struct InvalidObjects(Mutex<BTreeMap<(String, NamespacedName), InvalidObject>>);

fn place(metadata: &ObjectMeta) -> NamespacedName {
    NamespacedName::new(metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}

impl InvalidObjects {
    fn all_of(&self) -> MutexGuard<'_, BTreeMap<(String, NamespacedName), InvalidObject>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an object as it is now. What should be said of it, if that is news.
    pub fn saw<O: Resource<DynamicType = ()>>(&self, object: &Guarded<O>) -> Option<InvalidObject> {
        let key = (O::kind(&()).into_owned(), place(&object.metadata));
        let Err(error) = &object.read else {
            self.all_of().remove(&key);
            return None;
        };
        let invalid = InvalidObject { about: object.object_ref(&()), error: error.clone() };
        let before = self.all_of().insert(key, invalid.clone());
        (before.as_ref().map(|it| &it.error) != Some(error)).then_some(invalid)
    }

    /// It is deleted.
    pub fn gone<O: Resource<DynamicType = ()>>(&self, object: &Guarded<O>) {
        self.all_of().remove(&(O::kind(&()).into_owned(), place(&object.metadata)));
    }

    pub fn count(&self, kind: &str) -> usize {
        self.all_of().keys().filter(|(of, _)| of == kind).count()
    }

    pub fn all(&self) -> Vec<InvalidObject> {
        self.all_of().values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use crds::Organization;

    use super::*;

    fn object(slug: &str) -> Guarded<Organization> {
        let text = format!(
            r#"{{"metadata": {{"name": "a", "namespace": "n", "uid": "u"}},
                "spec": {{"slug": {slug}, "name": "A", "billingEmail": "a@b"}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn it_is_news_once_until_it_fits_or_is_gone() {
        let invalid = InvalidObjects::default();
        let said = invalid.saw(&object("7")).unwrap();
        assert_eq!((said.about.kind.as_deref(), said.about.uid.as_deref()), (Some("Organization"), Some("u")));
        assert_eq!((invalid.saw(&object("7")), invalid.count("Organization")), (None, 1));
        assert!(invalid.saw(&object("\"a\"")).is_none());
        assert_eq!(invalid.count("Organization"), 0);
        assert!(invalid.saw(&object("7")).is_some());
        invalid.gone(&object("7"));
        assert!(invalid.all().is_empty());
    }
}
