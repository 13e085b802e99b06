//! The children that were found in agreement, so that they are not compared again: to serialize a wanted and a
//! live child is nearly all that a plan costs.
//!
//! A resource version is given once in a cluster. A child that still has the one at which it agreed
//! with what is wanted still agrees, as long as the same is wanted. Of both only a digest is kept: every
//! environment has one of these, always.

use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::io::Write as _;
use std::sync::{Arc, PoisonError, RwLock};

use sha2::{Digest as _, Sha256};

use super::child::{Child, Key};
use super::namespaced_name::NamespacedName;

/// Half a SHA-256.
type Digest = [u8; 16];

fn digest(text: Arguments<'_>) -> Option<Digest> {
    let mut hash = Sha256::new();
    hash.write_fmt(text).ok()?;
    hash.finalize().first_chunk().copied()
}

/// Children that agree with what is wanted.
#[derive(Debug, Clone)]
pub struct Agreed {
    wanted: Option<Digest>,
    /// Version by key.
    versions: Vec<(Digest, Digest)>,
}

impl Agreed {
    /// Of no child yet; `wanted` is all that children are made of, as text.
    pub(crate) fn new(wanted: Arguments<'_>) -> Self {
        Self { wanted: digest(wanted), versions: Vec::new() }
    }

    /// The same is wanted.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        self.wanted.is_some() && self.wanted == other.wanted
    }

    pub(crate) fn holds(&self, key: &Key, live: &Child) -> bool {
        pair(key, live).is_some_and(|pair| self.versions.contains(&pair))
    }

    pub(crate) fn note(&mut self, key: &Key, live: &Child) {
        if let Some(pair) = pair(key, live) {
            self.versions.retain(|(known, _)| *known != pair.0);
            self.versions.push(pair);
        }
    }
}

fn pair(key: &Key, live: &Child) -> Option<(Digest, Digest)> {
    let version = live.metadata().resource_version.as_deref()?;
    Some((digest(format_args!("{key}"))?, digest(format_args!("{version}"))?))
}

/// The agreement of every environment. To forget one costs a comparison, no more.
#[derive(Debug, Default)]
pub struct Agreements(RwLock<BTreeMap<NamespacedName, Arc<Agreed>>>);

impl Agreements {
    pub fn get(&self, place: &NamespacedName) -> Option<Arc<Agreed>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(place).cloned()
    }

    /// Nothing: it is not to be carried out now.
    pub fn set(&self, place: &NamespacedName, agreed: Option<Arc<Agreed>>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match agreed {
            Some(agreed) => all.insert(place.clone(), agreed),
            None => all.remove(place),
        };
    }
}
