//! The fields that are kept of a Secret, all but its values, and the owner of the Secret.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::read::{KEY_TEXT, labelled, version};
use super::{Dictionaries, Entry, Packed, Shape};
use crate::authority::{self, secret};
use crate::objects::names::label;
use crate::objects::namespaced_name::NamespacedName;
use crate::objects::observed::{AuthorityFacts, SecretFacts};

/// The object that a Secret belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretOf {
    Environment(NamespacedName),
    Organization(NamespacedName),
    ApiKey(NamespacedName),
    /// The release's own, or nobody's.
    Release,
}

/// A Secret without its values, as a watch brought it.
#[derive(Debug, Clone)]
pub struct SeenSecret {
    facts: SecretFacts,
    of: SecretOf,
    annotations: BTreeMap<String, String>,
    holds_key: bool,
    authority: Option<AuthorityFacts>,
}

/// A Secret without its values, as its store keeps it.
#[derive(Debug)]
pub struct KnownSecret {
    pub of: SecretOf,
    /// Of an environment's nobody reads any.
    pub annotations: BTreeMap<String, String>,
    /// There is a value under `key`.
    pub holds_key: bool,
    /// It is an authority.
    pub authority: Option<AuthorityFacts>,
    facts: Packed,
}

impl KnownSecret {
    /// Nothing: what the store keeps cannot be read, and the log says so.
    pub fn facts(&self) -> Option<SecretFacts> {
        self.facts.read().inspect_err(|error| tracing::error!(%error, of = ?self.of, "a Secret is not known")).ok()
    }
}

impl SeenSecret {
    pub fn known(self, dictionaries: &Dictionaries) -> Result<Arc<KnownSecret>, serde_json::Error> {
        let Self { facts, of, annotations, holds_key, authority } = self;
        let facts = dictionaries.pack(Shape::Secret, &facts)?;
        Ok(Arc::new(KnownSecret { of, annotations, holds_key, authority, facts }))
    }
}

fn secret_of(metadata: &ObjectMeta) -> SecretOf {
    let annotated = |name: &str| metadata.annotations.as_ref().and_then(|all| all.get(name));
    if let Some(environment) = labelled(metadata, label::INSTANCE) {
        SecretOf::Environment(environment)
    } else if let Some(organization) = labelled(metadata, label::ORGANIZATION) {
        SecretOf::Organization(organization)
    } else if let (Some(_), Some(name)) = (labelled(metadata, label::API_KEY), annotated(label::API_KEY_NAME)) {
        SecretOf::ApiKey(NamespacedName::new(NamespacedName::of_metadata(metadata).namespace(), name))
    } else {
        SecretOf::Release
    }
}

pub fn secret(object: Secret) -> Entry<NamespacedName, SeenSecret> {
    let metadata = object.metadata;
    let (key, of) = (NamespacedName::of_metadata(&metadata), secret_of(&metadata));
    let data = object.data.unwrap_or_default();
    let resource_version = version(&metadata);
    let group = match &of {
        SecretOf::Environment(environment) => Some(environment.clone()),
        _ => None,
    };
    let seen = SeenSecret {
        authority: if group.is_some() { None } else { secret::authority(&data) },
        holds_key: data.get(KEY_TEXT).is_some_and(|text| !text.0.is_empty()),
        annotations: metadata.annotations.filter(|_| group.is_none()).unwrap_or_default(),
        facts: SecretFacts {
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            resource_version: resource_version.clone(),
            labels: metadata.labels.unwrap_or_default(),
            owners: metadata.owner_references.into_iter().flatten().map(|owner| owner.uid).collect(),
            deleting: metadata.deletion_timestamp.is_some(),
            certificate: authority::secret::certificate(&data),
        },
        of,
    };
    Entry { key, group, resource_version, value: seen }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn seen(metadata: &Value) -> Entry<NamespacedName, SeenSecret> {
        secret(from_value(json!({"metadata": metadata, "data": {"key": "c2VjcmV0"}})).unwrap())
    }

    #[test]
    fn a_secret_is_known_by_its_owner_and_without_its_values() {
        let place = |name: &str| NamespacedName::new("n", name);
        let annotations = json!({"sluice.dev/api-key-name": "reader"});
        for (labels, of) in [
            (json!({"app.kubernetes.io/instance": "acme-sales"}), SecretOf::Environment(place("acme-sales"))),
            (json!({"sluice.dev/organization": "acme"}), SecretOf::Organization(place("acme"))),
            (json!({"sluice.dev/api-key": "u"}), SecretOf::ApiKey(place("reader"))),
            (json!({}), SecretOf::Release),
        ] {
            let metadata = json!({"name": "s", "namespace": "n", "uid": "u", "resourceVersion": "7",
                                  "labels": labels, "annotations": annotations});
            let entry = seen(&metadata);
            let environments = matches!(of, SecretOf::Environment(_));
            assert_eq!(entry.group.is_some(), environments);
            let known = entry.value.known(&Dictionaries::default()).unwrap();
            let facts = known.facts().unwrap();
            assert_eq!((&known.of, facts.name.as_str(), facts.resource_version.as_str()), (&of, "s", "7"));
            assert_eq!((known.holds_key, known.annotations.is_empty()), (true, environments));
            assert!(!format!("{known:?} {facts:?}").contains("c2VjcmV0"));
        }
    }
}
