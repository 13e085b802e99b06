//! The objects that a change of another concerns.

use std::sync::Arc;

use crds::{ApiKey, ConditionStatus, ConditionType, Organization};
use kube::ResourceExt;

use super::{Entry, Item, KnownEnvironment, KnownSecret, SecretOf, Stores, environment_of, priority};
use crate::cluster::queue::Priority;
use crate::conditions::find;
use crate::objects::namespaced_name::NamespacedName;

/// A change of a store: the entry before, and the entry now.
pub struct Change<'a, K, V> {
    pub old: Option<&'a Entry<K, V>>,
    pub new: Option<&'a Entry<K, V>>,
}

impl<K, V> Change<'_, K, V> {
    fn is_created_or_deleted(&self) -> bool {
        self.old.is_none() || self.new.is_none()
    }

    fn any(&self) -> Option<&Entry<K, V>> {
        self.new.or(self.old)
    }
}

/// The objects that are reconciled again, with their priorities.
pub type Woken = Vec<(Item, Priority)>;
/// Decides which objects a change wakes.
pub type Wake<K, V> = fn(&Stores, &Change<'_, K, V>) -> Woken;

fn all(items: Vec<Item>, priority: Priority) -> impl Iterator<Item = (Item, Priority)> {
    items.into_iter().map(move |item| (item, priority))
}

/// Its environments depend on its being there and active, its tier and whether it is suspended.
pub fn organization(stores: &Stores, change: &Change<'_, NamespacedName, Arc<Organization>>) -> Woken {
    let Some(entry) = change.any() else { return Vec::new() };
    let suspended = entry.value.spec.suspended;
    let own = priority(entry.value.meta_deleting(), false);
    let mut woken = vec![(Item::Organization(entry.key.clone()), own)];
    let matters = |entry: &Entry<NamespacedName, Arc<Organization>>| {
        let it = &entry.value;
        (it.spec.clone(), it.status.as_ref().and_then(|status| status.phase), it.meta_deleting())
    };
    if change.old.map(matters) != change.new.map(matters) {
        woken.extend(all(stores.environments_of(&entry.key), priority(false, suspended)));
    }
    if change.new.is_none() {
        // there may be another that has waited for its slug
        let others = stores.organizations.values().into_iter().filter(|it| it.spec.slug == entry.value.spec.slug);
        woken.extend(all(
            others.map(|it| Item::Organization(NamespacedName::of(it.as_ref()))).collect(),
            Priority::Normal,
        ));
    }
    woken
}

/// Its keys depend on its being there; when it goes, there is room for another of its organization,
/// and when it has moved with the fleet, or does not take part any more, for another to move.
pub fn environment(stores: &Stores, change: &Change<'_, NamespacedName, Arc<KnownEnvironment>>) -> Woken {
    let Some(entry) = change.any() else { return Vec::new() };
    let urgency = priority(entry.value.deleting, entry.value.suspended);
    let mut woken = vec![(Item::Environment(entry.key.clone()), urgency)];
    if change.is_created_or_deleted() {
        woken.extend(all(stores.keys_of(&entry.key), Priority::Normal));
        woken.extend(entry.group.clone().map(|it| (Item::Organization(it), Priority::Normal)));
    }
    if let (None, Some(organization)) = (change.new, &entry.group) {
        woken.extend(all(stores.environments_of(organization), Priority::Normal));
    }
    if let Some(left) = left_behind(change) {
        let behind = |other: &KnownEnvironment| other.version == left.version && other.source == left.source;
        let others = stores.environments.all().into_iter().filter(|(place, it)| *place != entry.key && behind(it));
        woken.extend(others.map(|(place, _)| (Item::Environment(place), Priority::Background)));
    }
    woken
}

/// As it was where others may wait for it: it has moved on from there, or moves no more.
fn left_behind<'a>(change: &Change<'a, NamespacedName, Arc<KnownEnvironment>>) -> Option<&'a KnownEnvironment> {
    let moves = |it: &&KnownEnvironment| it.follows && !it.suspended && !it.deleting;
    let known = |entry: Option<&'a Entry<_, Arc<KnownEnvironment>>>| entry.map(|it| &*it.value);
    let (old, new) = (known(change.old)?, known(change.new));
    let went_on = new.is_some_and(|it| it.version != old.version || it.source != old.source);
    let left = moves(&old) && !new.as_ref().is_some_and(moves);
    (old.version.is_some() && (went_on || left)).then_some(old)
}

/// A deletion of its environment waits for it; when it goes or takes another name, others may have waited for the
/// name, or for room in the tier.
pub fn api_key(stores: &Stores, change: &Change<'_, NamespacedName, Arc<ApiKey>>) -> Woken {
    let Some(entry) = change.any() else { return Vec::new() };
    let mut woken = vec![(Item::ApiKey(entry.key.clone()), priority(entry.value.meta_deleting(), false))];
    if change.new.is_none() {
        woken.push((Item::Environment(environment_of(&entry.value)), Priority::Normal));
    }
    if let Some(old) = change.old
        && change.new.is_none_or(|new| new.value.spec.name != old.value.spec.name)
    {
        let waits = |place: &NamespacedName| {
            *place != entry.key && stores.api_keys.get(place).is_some_and(|it| is_refused(&it))
        };
        let others = stores.api_keys.members(&environment_of(&old.value)).into_iter().filter(waits);
        woken.extend(all(others.map(Item::ApiKey).collect(), Priority::Normal));
    }
    woken
}

fn is_refused(key: &ApiKey) -> bool {
    let conditions = key.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    find(conditions, ConditionType::CredentialsSynced).is_some_and(|it| it.status == ConditionStatus::False)
}

/// A volume may have waited for its class to let it grow. Classes seldom change.
pub fn storage_class(stores: &Stores, change: &Change<'_, String, bool>) -> Woken {
    if change.old.map(|old| old.value) == change.new.map(|new| new.value) {
        return Vec::new();
    }
    all(stores.environments.keys().into_iter().map(Item::Environment).collect(), Priority::Background).collect()
}

/// A new authority signs anew for all that it has signed for.
pub fn secret(stores: &Stores, change: &Change<'_, NamespacedName, Arc<KnownSecret>>) -> Woken {
    let Some(entry) = change.any() else { return Vec::new() };
    let resigned = change.old.map(|old| &old.value.authority) != change.new.map(|new| &new.value.authority);
    match &entry.value.of {
        SecretOf::Environment(place) => vec![(Item::Environment(place.clone()), Priority::Normal)],
        SecretOf::ApiKey(place) => vec![(Item::ApiKey(place.clone()), Priority::Normal)],
        SecretOf::Organization(place) => {
            let mut woken = vec![(Item::Organization(place.clone()), Priority::Normal)];
            if resigned {
                woken.extend(all(stores.environments_of(place), Priority::Normal));
            }
            woken
        }
        SecretOf::Release => {
            let mut woken = vec![(Item::Release, Priority::Urgent)];
            if resigned {
                let everywhere = stores.environments.keys().into_iter().map(Item::Environment).collect();
                woken.extend(all(everywhere, Priority::Background));
            }
            woken
        }
    }
}

/// What belongs to an environment concerns that one.
pub fn belonging<K, V>(_: &Stores, change: &Change<'_, K, V>) -> Woken {
    let groups = [change.old, change.new].into_iter().flatten().filter_map(|entry| entry.group.clone());
    groups.map(|place| (Item::Environment(place), Priority::Normal)).collect()
}

trait Deleting {
    fn meta_deleting(&self) -> bool;
}

impl<K: ResourceExt> Deleting for K {
    fn meta_deleting(&self) -> bool {
        self.meta().deletion_timestamp.is_some()
    }
}

#[cfg(test)]
mod tests {
    use crds::Environment;
    use serde_json::json;

    use super::*;
    use crate::objects::source::Source;
    use crate::stores::{Dictionaries, organization_of};

    fn environment_entry(
        name: &str,
        version: Option<&str>,
        suspended: bool,
    ) -> Entry<NamespacedName, Arc<KnownEnvironment>> {
        let value: Environment = serde_json::from_value(json!({
            "metadata": { "name": name, "namespace": "n" },
            "spec": { "organizationRef": { "name": "acme" }, "slug": "x", "name": "x", "suspended": suspended },
            "status": { "version": version },
        }))
        .unwrap();
        let group = Some(organization_of(&value));
        let value = Arc::new(KnownEnvironment::new(&value, &Dictionaries::default()).unwrap());
        Entry { key: NamespacedName::new("n", name), group, resource_version: "1".to_owned(), value }
    }

    fn names(woken: &Woken) -> Vec<String> {
        let name = |item: &Item| match item {
            Item::Release => "release".to_owned(),
            Item::Organization(it) | Item::Environment(it) | Item::ApiKey(it) => it.name().to_owned(),
        };
        woken.iter().map(|(item, _)| name(item)).collect()
    }

    #[test]
    fn a_place_that_becomes_free_is_offered_to_the_others_of_the_organization() {
        let (stores, gone) = (Stores::default(), environment_entry("acme-a", None, false));
        stores.environments.put(environment_entry("acme-b", None, false));
        let woken = environment(&stores, &Change { old: Some(&gone), new: None });
        assert_eq!(names(&woken), ["acme-a", "acme", "acme-b"]);
        let woken = environment(&stores, &Change { old: Some(&gone), new: Some(&gone) });
        assert_eq!(names(&woken), ["acme-a"], "a change is its own affair");
    }

    #[test]
    fn one_that_has_arrived_at_its_version_lets_the_next_move_and_a_suspension_is_urgent() {
        let stores = Stores::default();
        stores.environments.put(environment_entry("acme-b", Some("1"), false));
        stores.environments.put(environment_entry("acme-c", Some("2"), false));
        let (old, new) = (environment_entry("acme-a", Some("1"), false), environment_entry("acme-a", Some("2"), true));
        let woken = environment(&stores, &Change { old: Some(&old), new: Some(&new) });
        assert_eq!(names(&woken), ["acme-a", "acme-b"]);
        assert_eq!(woken.iter().map(|(_, it)| *it).collect::<Vec<_>>(), [Priority::Urgent, Priority::Background]);
    }

    #[test]
    fn one_that_drops_out_of_the_fleet_lets_the_next_move() {
        let stores = Stores::default();
        stores.environments.put(environment_entry("acme-b", Some("1"), false));
        let follows = |name: &str, follows: bool| {
            let mut entry = environment_entry(name, Some("1"), false);
            Arc::get_mut(&mut entry.value).unwrap().follows = follows;
            entry
        };
        let (valid, invalid) = (follows("acme-a", true), follows("acme-a", false));
        let left = environment(&stores, &Change { old: Some(&valid), new: Some(&invalid) });
        assert_eq!(names(&left), ["acme-a", "acme-b"]);
        let joined = environment(&stores, &Change { old: Some(&invalid), new: Some(&valid) });
        assert_eq!(names(&joined), ["acme-a"]);
    }

    #[test]
    fn one_that_was_started_from_elsewhere_lets_the_next_move() {
        let from = |name: &str, image: &str| {
            let mut entry = environment_entry(name, Some("1"), false);
            let status = json!({"image": {"name": image, "pullPolicy": "Always"}});
            let source = Source::of_status(&serde_json::from_value(status).unwrap()).map(Box::new);
            Arc::get_mut(&mut entry.value).unwrap().source = source;
            entry
        };
        let stores = Stores::default();
        stores.environments.put(from("acme-b", "old"));
        stores.environments.put(from("acme-c", "new"));
        let (old, new) = (from("acme-a", "old"), from("acme-a", "new"));
        assert_eq!(names(&environment(&stores, &Change { old: Some(&old), new: Some(&new) })), ["acme-a", "acme-b"]);
        assert_eq!(names(&environment(&stores, &Change { old: Some(&new), new: Some(&new) })), ["acme-a"]);
    }

    fn key_entry(object: &str, name: &str, synced: &str) -> Entry<NamespacedName, Arc<ApiKey>> {
        let condition = json!({"type": "CredentialsSynced", "status": synced, "reason": "Invalid", "message": "",
                               "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let value: ApiKey = serde_json::from_value(json!({
            "metadata": {"name": object, "namespace": "n"},
            "spec": {"environmentRef": {"name": "acme-a"}, "name": name, "scopes": ["query:read"]},
            "status": {"conditions": [condition]},
        }))
        .unwrap();
        let group = Some(environment_of(&value));
        Entry { key: NamespacedName::new("n", object), group, resource_version: "1".to_owned(), value: Arc::new(value) }
    }

    #[test]
    fn a_name_that_becomes_free_is_offered_to_the_keys_that_were_refused() {
        let (stores, gone) = (Stores::default(), key_entry("first", "loader", "True"));
        stores.api_keys.put(key_entry("second", "loader", "False"));
        stores.api_keys.put(key_entry("other", "reader", "True"));
        let woken = api_key(&stores, &Change { old: Some(&gone), new: None });
        assert_eq!(names(&woken), ["first", "acme-a", "second"]);
        let renamed = key_entry("first", "writer", "True");
        assert_eq!(names(&api_key(&stores, &Change { old: Some(&gone), new: Some(&renamed) })), ["first", "second"]);
        assert_eq!(names(&api_key(&stores, &Change { old: Some(&gone), new: Some(&gone) })), ["first"]);
    }

    #[test]
    fn a_class_that_begins_to_let_volumes_grow_wakes_who_may_have_waited_for_it() {
        let stores = Stores::default();
        stores.environments.put(environment_entry("acme-a", None, false));
        let class =
            |grows: bool| Entry { key: "fast".to_owned(), group: None, resource_version: "1".to_owned(), value: grows };
        let (fixed, grows) = (class(false), class(true));
        assert_eq!(names(&storage_class(&stores, &Change { old: Some(&fixed), new: Some(&grows) })), ["acme-a"]);
        assert!(storage_class(&stores, &Change { old: Some(&grows), new: Some(&grows) }).is_empty());
    }

    #[test]
    fn an_object_that_changes_hands_concerns_both() {
        let stores = Stores::default();
        let of = |group: &str| Entry {
            key: "pod",
            group: Some(NamespacedName::new("n", group)),
            resource_version: "1".to_owned(),
            value: (),
        };
        let (old, new) = (of("a"), of("b"));
        assert_eq!(names(&belonging(&stores, &Change { old: Some(&old), new: Some(&new) })), ["a", "b"]);
    }
}
