//! Objects of one kind, by key and by the object that they belong to.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::Place;

/// An object as a store holds it.
#[derive(Debug, Clone)]
pub struct Entry<K, V> {
    pub key: K,
    /// Whom it belongs to.
    pub group: Option<Place>,
    pub resource_version: String,
    pub value: V,
}

#[derive(Debug)]
struct Inner<K, V> {
    entries: HashMap<K, Entry<K, V>>,
    groups: HashMap<Place, BTreeSet<K>>,
}

/// A store that a watch fills and reconciles read.
#[derive(Debug)]
pub struct Index<K, V> {
    inner: RwLock<Inner<K, V>>,
}

impl<K, V> Default for Index<K, V> {
    fn default() -> Self {
        Self { inner: RwLock::new(Inner { entries: HashMap::new(), groups: HashMap::new() }) }
    }
}

impl<K: Clone + Eq + Ord + Hash, V: Clone> Index<K, V> {
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
        if let Some(group) = &entry.group {
            inner.groups.entry(group.clone()).or_default().insert(entry.key.clone());
        }
        inner.entries.insert(entry.key.clone(), entry);
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
        self.read().entries.get(key).map(|entry| entry.value.clone())
    }

    pub fn resource_version(&self, key: &K) -> Option<String> {
        self.read().entries.get(key).map(|entry| entry.resource_version.clone())
    }

    /// In the order of their keys.
    pub fn group(&self, group: &Place) -> Vec<V> {
        let inner = self.read();
        let keys = inner.groups.get(group).into_iter().flatten();
        keys.filter_map(|key| inner.entries.get(key)).map(|entry| entry.value.clone()).collect()
    }

    pub fn keys(&self) -> Vec<K> {
        self.read().entries.keys().cloned().collect()
    }

    pub fn values(&self) -> Vec<V> {
        self.read().entries.values().map(|entry| entry.value.clone()).collect()
    }
}

impl<K: Clone + Eq + Ord + Hash, V> Inner<K, V> {
    fn take(&mut self, key: &K) -> Option<Entry<K, V>> {
        let old = self.entries.remove(key)?;
        if let Some(group) = &old.group
            && let Some(members) = self.groups.get_mut(group)
        {
            members.remove(key);
            if members.is_empty() {
                self.groups.remove(group);
            }
        }
        Some(old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, group: &str, value: u32) -> Entry<String, u32> {
        Entry { key: name.to_owned(), group: Some(Place::new("n", group)), resource_version: value.to_string(), value }
    }

    #[test]
    fn an_object_is_found_by_whom_it_belongs_to_also_after_it_moved() {
        let index = Index::default();
        index.put(entry("b", "one", 1));
        index.put(entry("a", "one", 2));
        assert_eq!(index.group(&Place::new("n", "one")), [2, 1]);
        index.put(entry("b", "two", 3));
        assert_eq!(index.group(&Place::new("n", "one")), [2]);
        assert_eq!(index.group(&Place::new("n", "two")), [3]);
        index.remove(&"b".to_owned());
        assert!(index.group(&Place::new("n", "two")).is_empty());
    }

    #[test]
    fn what_a_list_no_longer_holds_is_removed_within_its_scope_and_reported() {
        let index = Index::default();
        for name in ["a1", "a2", "b1"] {
            index.put(entry(name, "one", 1));
        }
        let gone = index.retain(&["a1".to_owned()].into(), |key| key.starts_with('a'));
        assert_eq!(gone.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["a2"]);
        assert_eq!(index.group(&Place::new("n", "one")).len(), 2);
    }
}
