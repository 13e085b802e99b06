//! The namespace and the name of an object.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;

/// The namespace and name of an object, as one text: every store, queue and map that names an object holds
/// the same, and a copy of it costs nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespacedName(Arc<str>);

impl NamespacedName {
    pub fn new(namespace: &str, name: &str) -> Self {
        // no name of Kubernetes holds a slash
        Self(format!("{namespace}/{name}").into())
    }

    pub fn of<K: ResourceExt>(object: &K) -> Self {
        Self::of_metadata(object.meta())
    }

    pub fn of_metadata(metadata: &ObjectMeta) -> Self {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        Self::new(&text(&metadata.namespace), &text(&metadata.name))
    }

    fn parts(&self) -> (&str, &str) {
        self.0.split_once('/').unwrap_or_default()
    }

    pub fn namespace(&self) -> &str {
        self.parts().0
    }

    pub fn name(&self) -> &str {
        self.parts().1
    }
}

impl fmt::Debug for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_apart_by_both_its_parts() {
        let place = NamespacedName::new("tenants", "acme-sales");
        assert_eq!((place.namespace(), place.name()), ("tenants", "acme-sales"));
        assert_eq!(format!("{place:?}"), "tenants/acme-sales");
        for other in [
            NamespacedName::new("tenant", "acme-sales"),
            NamespacedName::new("tenants", "acme"),
            NamespacedName::new("", "acme-sales"),
        ] {
            assert_ne!(place, other);
        }
        let nowhere = NamespacedName::new("", "standard");
        assert_eq!((nowhere.namespace(), nowhere.name()), ("", "standard"));
    }
}
