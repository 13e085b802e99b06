//! The Secret that a key's text is put into, once.

use std::collections::BTreeMap;

use crds::ApiKey;
use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};

use super::plan::{self, SecretState};
use crate::Error;
use crate::context::Context;
use crate::control_plane::proto::Key;
use crate::objects::names::label;
use crate::objects::namespaced_name::NamespacedName;
use crate::objects::secret_metadata::{secret_metadata, texts};
use crate::stores::{Item, KEY_TEXT, SecretOf};

fn place(key: &ApiKey) -> Option<NamespacedName> {
    let name = &key.spec.secret_ref.as_ref()?.name;
    Some(NamespacedName::new(&key.namespace().unwrap_or_default(), name))
}

/// What the store knows of it.
pub fn state(context: &Context, key: &ApiKey) -> SecretState {
    let Some(place) = place(key) else { return SecretState::NotAsked };
    let Some(known) = context.stores.secrets.get(&place) else { return SecretState::Unseen };
    let Some(facts) = known.facts() else { return SecretState::Unseen };
    let ours = facts.labels.get(label::API_KEY).map(String::as_str) == key.uid().as_deref()
        && matches!(known.of, SecretOf::ApiKey(_));
    if !ours {
        return SecretState::Taken;
    }
    if !known.holds_key {
        return SecretState::Empty;
    }
    SecretState::Holds { rotation: known.annotations.get(label::ROTATION).cloned().unwrap_or_default() }
}

/// A Secret that is not ours stands there: what somebody keeps in it is not overwritten.
pub async fn is_taken(context: &Context, key: &ApiKey) -> Result<bool, Error> {
    let Some(place) = place(key) else { return Ok(false) };
    let found = context.secrets.read(&place).await?;
    Ok(found.is_some_and(|secret| secret.labels().get(label::API_KEY).map(String::as_str) != key.uid().as_deref()))
}

/// Puts the text there.
pub async fn store(context: &Context, item: &Item, key: &ApiKey, answer: &Key, text: &str) -> Result<(), Error> {
    let Some(place) = place(key) else { return Ok(()) };
    let uid = key.uid().unwrap_or_default();
    let labels = [(label::API_KEY, uid.as_str()), (label::COMPONENT, "api-key")];
    let rotation = plan::rotation(key).unwrap_or_default();
    let name = key.name_any();
    let annotations = [
        (label::API_KEY_NAME, name.as_str()),
        (label::ROTATION, rotation.as_str()),
        ("sluice.dev/key-id", answer.key_id.as_str()),
    ];
    let metadata = ObjectMeta {
        annotations: Some(texts(&annotations)),
        ..secret_metadata(&place, &labels, key.controller_owner_ref(&()))
    };
    let data = BTreeMap::from([(KEY_TEXT.to_owned(), ByteString(text.as_bytes().to_vec()))]);
    context.secrets.store(item, &metadata, "Opaque", &data).await.map(|_| ())
}
