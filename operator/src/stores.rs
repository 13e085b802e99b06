//! The stores that watches fill: every object that a reconcile reads, found by the object it belongs to.
//!
//! One watch a kind (and namespace), shared by all controllers. Objects are kept without what
//! nobody reads: managed fields, the values of Secrets, all of a pod but why it does not run; and
//! what there are many of is kept packed. A standby keeps the same stores, so a take-over lists
//! nothing.

mod environment;
mod expected;
mod follow;
mod guard;
mod index;
mod invalid_object;
mod packed;
pub mod read;
pub mod secret;
mod secret_client;
mod synced;
mod trimmed;
mod wake;
mod watch;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crds::{ApiKey, Environment, Organization};
use kube::ResourceExt;

pub use environment::KnownEnvironment;
pub use expected::{Expected, WrittenObject};
pub use guard::Guarded;
pub use index::{Entry, Index};
pub use invalid_object::{InvalidObject, InvalidObjects};
pub use packed::{ChildText, Dictionaries, Packed, PackedChild, Shape, Unreadable};
pub use read::KEY_TEXT;
pub use secret::{KnownSecret, SecretOf};
pub use secret_client::SecretClient;
pub use synced::Synced;
pub use trimmed::Trimmed;
pub use watch::{LISTS, Watches};

use crate::cluster::queue::Priority;
use crate::objects::child::Kind;
use crate::objects::namespaced_name::NamespacedName;
use crate::objects::observed::PodFacts;

/// An object that is reconciled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    /// What the release itself needs: its authority, the control plane's identity.
    Release,
    Organization(NamespacedName),
    Environment(NamespacedName),
    ApiKey(NamespacedName),
}

impl Item {
    /// For metrics and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Release => "Release",
            Self::Organization(_) => "Organization",
            Self::Environment(_) => "Environment",
            Self::ApiKey(_) => "ApiKey",
        }
    }
}

/// All stores.
#[derive(Debug, Default)]
pub struct Stores {
    pub organizations: Index<NamespacedName, Arc<Organization>>,
    /// By organization.
    pub environments: Index<NamespacedName, Arc<KnownEnvironment>>,
    /// By environment.
    pub api_keys: Index<NamespacedName, Arc<ApiKey>>,
    /// Those of an environment by environment; others by themselves.
    pub secrets: Index<NamespacedName, Arc<KnownSecret>>,
    /// By environment.
    pub children: Index<(Kind, NamespacedName), PackedChild>,
    /// By environment.
    pub pods: Index<NamespacedName, PodFacts>,
    /// Whether volumes of the class may grow.
    pub storage_classes: Index<String, bool>,
    /// Of the kinds that a cluster may lack, those that it serves.
    pub served: Mutex<BTreeSet<Kind>>,
    pub invalid_objects: InvalidObjects,
    pub dictionaries: Dictionaries,
}

/// What is going away, or is told to, comes before what is wanted to come up.
pub fn priority(deleting: bool, suspended: bool) -> Priority {
    if deleting || suspended { Priority::Urgent } else { Priority::Normal }
}

/// The organization that an environment belongs to.
pub fn organization_of(environment: &Environment) -> NamespacedName {
    NamespacedName::new(&environment.namespace().unwrap_or_default(), &environment.spec.organization_ref.name)
}

/// The environment that a key opens.
pub fn environment_of(key: &ApiKey) -> NamespacedName {
    NamespacedName::new(&key.namespace().unwrap_or_default(), &key.spec.environment_ref.name)
}

impl Stores {
    pub fn environments_of(&self, organization: &NamespacedName) -> Vec<Item> {
        self.environments.members(organization).into_iter().map(Item::Environment).collect()
    }

    pub fn keys_of(&self, environment: &NamespacedName) -> Vec<Item> {
        self.api_keys.members(environment).into_iter().map(Item::ApiKey).collect()
    }

    /// The cluster has the kind or, `false`, lacks it. Whether that is another than it was.
    pub fn serves(&self, kind: Kind, does: bool) -> bool {
        let mut kinds = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        if does { kinds.insert(kind) } else { kinds.remove(&kind) }
    }

    pub fn is_served(&self, kind: Kind) -> bool {
        self.served.lock().unwrap_or_else(PoisonError::into_inner).contains(&kind)
    }

    /// Everything that there is to look at.
    pub fn everything(&self) -> Vec<Item> {
        let mut all = vec![Item::Release];
        all.extend(self.organizations.keys().into_iter().map(Item::Organization));
        all.extend(self.environments.keys().into_iter().map(Item::Environment));
        all.extend(self.api_keys.keys().into_iter().map(Item::ApiKey));
        all
    }
}
