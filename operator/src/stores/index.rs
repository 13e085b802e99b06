//! Objects of one kind, by key and by the object that they belong to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::objects::namespaced_name::NamespacedName;

/// An object as it is put into a store and comes out of it.
#[derive(Debug, Clone)]
pub struct Entry<K, V> {
    pub key: K,
    /// Whom it belongs to.
    pub group: Option<NamespacedName>,
    pub resource_version: String,
    pub value: V,
}

impl<K, V> Entry<K, V> {
    /// The same with what becomes of its value; nothing, if nothing does.
    pub fn and_then<W>(self, becomes: impl FnOnce(V) -> Option<W>) -> Option<Entry<K, W>> {
        let Self { key, group, resource_version, value } = self;
        becomes(value).map(|value| Entry { key, group, resource_version, value })
    }
}

#[derive(Debug)]
struct Stored<V> {
    group: Option<NamespacedName>,
    resource_version: Box<str>,
    value: V,
}

/// Trees and sorted lists: a table of thousands is half empty whenever it has just grown.
#[derive(Debug)]
struct Inner<K, V> {
    entries: BTreeMap<K, Stored<V>>,
    groups: BTreeMap<NamespacedName, Vec<K>>,
}

/// A store that a watch fills and reconciles read.
#[derive(Debug)]
pub struct Index<K, V> {
    inner: RwLock<Inner<K, V>>,
}

impl<K, V> Default for Index<K, V> {
    fn default() -> Self {
        Self { inner: RwLock::new(Inner { entries: BTreeMap::new(), groups: BTreeMap::new() }) }
    }
}

impl<K: Clone + Ord, V: Clone> Index<K, V> {
    fn read(&self) -> RwLockReadGuard<'_, Inner<K, V>> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner<K, V>> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What stood there before.
    pub fn put(&self, entry: Entry<K, V>) -> Option<Entry<K, V>> {
        let mut inner = self.write();
        let old = inner.take(&entry.key);
        inner.put(entry);
        old
    }

    pub fn remove(&self, key: &K) -> Option<Entry<K, V>> {
        self.write().take(key)
    }

    /// Removes what a whole list no longer held, and returns it: what was deleted while nobody
    /// watched.
    pub fn retain(&self, listed: &BTreeSet<K>, in_scope: impl Fn(&K) -> bool) -> Vec<Entry<K, V>> {
        let mut inner = self.write();
        let gone: Vec<K> = inner.entries.keys().filter(|key| in_scope(key) && !listed.contains(key)).cloned().collect();
        gone.iter().filter_map(|key| inner.take(key)).collect()
    }

    pub fn get(&self, key: &K) -> Option<V> {
        self.read().entries.get(key).map(|stored| stored.value.clone())
    }

    pub fn resource_version(&self, key: &K) -> Option<String> {
        self.read().entries.get(key).map(|stored| stored.resource_version.to_string())
    }

    /// In the order of their keys.
    pub fn group(&self, group: &NamespacedName) -> Vec<V> {
        let inner = self.read();
        let keys = inner.groups.get(group).into_iter().flatten();
        keys.filter_map(|key| inner.entries.get(key)).map(|stored| stored.value.clone()).collect()
    }

    /// The keys of [`Self::group`].
    pub fn members(&self, group: &NamespacedName) -> Vec<K> {
        self.read().groups.get(group).cloned().unwrap_or_default()
    }

    pub fn keys(&self) -> Vec<K> {
        self.read().entries.keys().cloned().collect()
    }

    pub fn values(&self) -> Vec<V> {
        self.read().entries.values().map(|stored| stored.value.clone()).collect()
    }

    /// Everything, by key.
    pub fn all(&self) -> Vec<(K, V)> {
        self.read().entries.iter().map(|(key, stored)| (key.clone(), stored.value.clone())).collect()
    }
}

impl<K: Clone + Ord, V> Inner<K, V> {
    fn put(&mut self, entry: Entry<K, V>) {
        let Entry { key, mut group, resource_version, value } = entry;
        if let Some(name) = &mut group {
            // all members name their group by one text
            if let Some((known, _)) = self.groups.get_key_value(name) {
                *name = known.clone();
            }
            let members = self.groups.entry(name.clone()).or_default();
            if let Err(place) = members.binary_search(&key) {
                members.insert(place, key.clone());
            }
        }
        self.entries.insert(key, Stored { group, resource_version: resource_version.into(), value });
    }

    fn take(&mut self, key: &K) -> Option<Entry<K, V>> {
        let (key, Stored { group, resource_version, value }) = self.entries.remove_entry(key)?;
        if let Some(group) = &group
            && let Some(members) = self.groups.get_mut(group)
        {
            if let Ok(place) = members.binary_search(&key) {
                members.remove(place);
            }
            if members.is_empty() {
                self.groups.remove(group);
            }
        }
        Some(Entry { key, group, resource_version: resource_version.into(), value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, group: &str, value: u32) -> Entry<String, u32> {
        Entry {
            key: name.to_owned(),
            group: Some(NamespacedName::new("n", group)),
            resource_version: value.to_string(),
            value,
        }
    }

    #[test]
    fn an_object_is_found_by_whom_it_belongs_to_also_after_it_moved() {
        let index = Index::default();
        index.put(entry("b", "one", 1));
        index.put(entry("a", "one", 2));
        assert_eq!(index.group(&NamespacedName::new("n", "one")), [2, 1]);
        assert_eq!(index.members(&NamespacedName::new("n", "one")), ["a", "b"]);
        index.put(entry("b", "one", 4));
        assert_eq!(index.group(&NamespacedName::new("n", "one")), [2, 4]);
        index.put(entry("b", "two", 3));
        assert_eq!(index.group(&NamespacedName::new("n", "one")), [2]);
        assert_eq!(index.group(&NamespacedName::new("n", "two")), [3]);
        index.remove(&"b".to_owned());
        assert!(index.group(&NamespacedName::new("n", "two")).is_empty());
    }

    #[test]
    fn what_a_list_no_longer_holds_is_removed_within_its_scope_and_reported() {
        let index = Index::default();
        for name in ["a1", "a2", "b1"] {
            index.put(entry(name, "one", 1));
        }
        let gone = index.retain(&["a1".to_owned()].into(), |key| key.starts_with('a'));
        assert_eq!(gone.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["a2"]);
        assert_eq!(index.group(&NamespacedName::new("n", "one")).len(), 2);
    }
}
