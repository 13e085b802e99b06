//! What the watches brought: every object that a reconcile looks at, found by the one it belongs to.
//!
//! One watch a kind (and namespace), shared by all controllers. Objects are kept without what
//! nobody reads: managed fields, the values of Secrets, all of a pod but why it does not run.
//! A standby keeps the same stores, so a take-over lists nothing.

mod guard;
mod index;
mod misfit;
mod packed;
pub(crate) mod read;
mod wake;
mod watch;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crds::{ApiKey, Environment, Organization};
use kube::ResourceExt;

pub use guard::Guarded;
pub use index::{Entry, Index};
pub use misfit::{Misfit, Misfits};
pub use packed::Packed;
pub use read::{KEY_TEXT, KnownSecret, SecretOf, label};
pub use watch::{Synced, Watches};

use crate::environment::child::Kind;
use crate::environment::observed::PodFacts;
use crate::queue::Priority;

/// An object by name and namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub namespace: String,
    pub name: String,
}

impl Place {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    pub fn of<K: ResourceExt>(object: &K) -> Self {
        Self { namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
    }
}

/// What can be looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    /// What the release itself needs: its authority, the control plane's identity.
    Release,
    Organization(Place),
    Environment(Place),
    ApiKey(Place),
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
    pub organizations: Index<Place, Arc<Organization>>,
    /// By organization.
    pub environments: Index<Place, Arc<Environment>>,
    /// By environment.
    pub api_keys: Index<Place, Arc<ApiKey>>,
    /// Those of an environment by environment; others by themselves.
    pub secrets: Index<Place, KnownSecret>,
    /// By environment.
    pub children: Index<(Kind, Place), Packed>,
    /// By environment.
    pub pods: Index<Place, PodFacts>,
    /// Whether volumes of the class may grow.
    pub storage_classes: Index<String, bool>,
    /// Of the kinds that a cluster may lack, those that it serves.
    pub served: Mutex<BTreeSet<Kind>>,
    pub misfits: Misfits,
}

/// What is going away, or is told to, comes before what is wanted to come up.
pub fn priority(deleting: bool, suspended: bool) -> Priority {
    if deleting || suspended { Priority::Urgent } else { Priority::Normal }
}

/// The organization that an environment belongs to.
pub fn organization_of(environment: &Environment) -> Place {
    let namespace = environment.namespace().unwrap_or_default();
    Place { namespace, name: environment.spec.organization_ref.name.clone() }
}

/// The environment that a key opens.
pub fn environment_of(key: &ApiKey) -> Place {
    let namespace = key.namespace().unwrap_or_default();
    Place { namespace, name: key.spec.environment_ref.name.clone() }
}

impl Stores {
    pub fn environments_of(&self, organization: &Place) -> Vec<Item> {
        self.environments.group(organization).iter().map(|it| Item::Environment(Place::of(it.as_ref()))).collect()
    }

    pub fn keys_of(&self, environment: &Place) -> Vec<Item> {
        self.api_keys.group(environment).iter().map(|it| Item::ApiKey(Place::of(it.as_ref()))).collect()
    }

    /// The cluster has the kind or, `false`, lacks it.
    pub fn serves(&self, kind: Kind, does: bool) {
        let mut kinds = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        if does {
            kinds.insert(kind);
        } else {
            kinds.remove(&kind);
        }
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
