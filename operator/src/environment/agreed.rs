//! What was found as it should be, so that it is not compared again: writing down a wanted child and
//! a live one as JSON is nearly all that a plan costs.
//!
//! A resource version is given once in a cluster. A child that still has the one at which it agreed
//! with what is wanted still agrees, as long as the same is wanted.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use super::child::{Child, Key};
use super::observed::ClusterFacts;
use super::validate::Desired;
use crate::stores::Place;

/// Children that agree with what is wanted.
#[derive(Debug, Clone)]
pub struct Agreed {
    desired: Desired,
    /// The size of a volume depends on them.
    cluster: ClusterFacts,
    versions: BTreeMap<Key, String>,
}

impl Agreed {
    pub(super) fn new(desired: &Desired, cluster: ClusterFacts) -> Self {
        Self { desired: desired.clone(), cluster, versions: BTreeMap::new() }
    }

    /// What is wanted is still the same.
    pub(super) fn is_of(&self, desired: &Desired, cluster: ClusterFacts) -> bool {
        self.desired == *desired && self.cluster == cluster
    }

    pub(super) fn holds(&self, key: &Key, live: &Child) -> bool {
        let version = live.metadata().resource_version.as_ref();
        version.is_some_and(|version| self.versions.get(key) == Some(version))
    }

    pub(super) fn note(&mut self, key: Key, live: &Child) {
        if let Some(version) = &live.metadata().resource_version {
            self.versions.insert(key, version.clone());
        }
    }
}

/// Of every environment. Forgetting one costs a comparison, no more.
#[derive(Debug, Default)]
pub struct Agreements(RwLock<HashMap<Place, Arc<Agreed>>>);

impl Agreements {
    pub fn get(&self, place: &Place) -> Option<Arc<Agreed>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(place).cloned()
    }

    /// Nothing: it is not to be carried out now.
    pub fn set(&self, place: &Place, agreed: Option<Arc<Agreed>>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match agreed {
            Some(agreed) => all.insert(place.clone(), agreed),
            None => all.remove(place),
        };
    }
}
