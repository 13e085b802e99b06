//! Own writes that the stores have not seen yet.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Item, Stores};
use crate::objects::child::Kind;
use crate::objects::namespaced_name::NamespacedName;

/// Own writes that must be seen before the next decision: a store that is older than the last write would
/// have it made twice.
#[derive(Debug, Default)]
pub struct Expected(Mutex<HashMap<Item, Vec<Awaited>>>);

/// An object by the store that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenObject {
    /// The item itself.
    Itself,
    Child(Kind, NamespacedName),
    Secret(NamespacedName),
}

#[derive(Debug, Clone)]
struct Awaited {
    written: WrittenObject,
    version: u64,
    until: Instant,
}

/// A watch that is slower than this is believed to have nothing to say.
const PATIENCE: Duration = Duration::from_secs(10);

impl Expected {
    fn all(&self) -> MutexGuard<'_, HashMap<Item, Vec<Awaited>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This version was answered to a write of ours.
    pub fn note(&self, item: &Item, written: WrittenObject, resource_version: Option<&str>) {
        let Some(version) = resource_version.and_then(number) else { return };
        let mut all = self.all();
        let awaited = all.entry(item.clone()).or_default();
        awaited.retain(|other| other.written != written);
        awaited.push(Awaited { written, version, until: Instant::now() + PATIENCE });
    }

    /// Not all of it has been seen yet.
    pub fn awaits(&self, item: &Item, stores: &Stores, now: Instant) -> bool {
        let mut all = self.all();
        let Some(awaited) = all.get_mut(item) else { return false };
        awaited.retain(|it| now < it.until && seen(item, &it.written, stores).is_none_or(|seen| seen < it.version));
        let waits = !awaited.is_empty();
        if !waits {
            all.remove(item);
        }
        waits
    }
}

fn number(resource_version: &str) -> Option<u64> {
    resource_version.parse().ok()
}

fn seen(item: &Item, written: &WrittenObject, stores: &Stores) -> Option<u64> {
    let version = match (written, item) {
        (WrittenObject::Child(kind, place), _) => stores.children.resource_version(&(*kind, place.clone())),
        (WrittenObject::Secret(place), _) => stores.secrets.resource_version(place),
        (WrittenObject::Itself, Item::Organization(place)) => stores.organizations.resource_version(place),
        (WrittenObject::Itself, Item::Environment(place)) => stores.environments.resource_version(place),
        (WrittenObject::Itself, Item::ApiKey(place)) => stores.api_keys.resource_version(place),
        (WrittenObject::Itself, Item::Release) => None,
    };
    version.as_deref().and_then(number)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;

    use super::*;

    fn stored(stores: &Stores, version: &str) {
        let mut object = Secret::default();
        object.metadata.name = Some("a".to_owned());
        object.metadata.namespace = Some("n".to_owned());
        object.metadata.resource_version = Some(version.to_owned());
        let entry = crate::stores::secret::secret(object);
        stores.secrets.put(entry.and_then(|seen| seen.known(&stores.dictionaries).ok()).unwrap());
    }

    #[test]
    fn nothing_is_decided_on_a_store_that_is_older_than_our_own_write() {
        let (expected, stores) = (Expected::default(), Stores::default());
        let now = Instant::now();
        let (item, place) = (Item::Release, NamespacedName::new("n", "a"));
        stored(&stores, "6");
        expected.note(&item, WrittenObject::Secret(place.clone()), Some("7"));
        assert!(expected.awaits(&item, &stores, now));
        assert!(!expected.awaits(&Item::Environment(place.clone()), &stores, now), "another object");
        stored(&stores, "10");
        assert!(!expected.awaits(&item, &stores, now), "numbers, not texts");
        expected.note(&item, WrittenObject::Secret(place), Some("11"));
        let later = Instant::now() + PATIENCE;
        assert!(!expected.awaits(&item, &stores, later), "it was deleted before anybody saw it");
    }
}
