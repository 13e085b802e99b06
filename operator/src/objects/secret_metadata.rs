//! The metadata of Secrets that the operator keeps beside those of an environment.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::names::label;
use super::namespaced_name::NamespacedName;
use super::pods::Texts;

/// Metadata with these labels besides those that every Secret of the operator has.
pub fn secret_metadata(place: &NamespacedName, labels: &[(&str, &str)], owner: Option<OwnerReference>) -> ObjectMeta {
    let ours = [(label::MANAGED_BY, label::OPERATOR), (label::PART_OF, "sluice")];
    ObjectMeta {
        name: Some(place.name().to_owned()),
        namespace: Some(place.namespace().to_owned()),
        labels: Some(texts(&ours).into_iter().chain(texts(labels)).collect()),
        owner_references: owner.map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

/// Labels or annotations of their own.
pub fn texts(pairs: &[(&str, &str)]) -> Texts {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
