//! The watches: one for each kind and namespace, each filling its store and waking what it concerns.

use std::fmt::Debug;
use std::sync::Arc;

use contract::Entropy;
use crds::{ApiKey, Environment, Organization};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::core::DynamicObject;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::follow::{Follow, WatchedObject};
use super::read::{self, Owned, SeenChild};
use super::secret::SeenSecret;
use super::{
    Entry, Guarded, Index, Item, KnownEnvironment, PackedChild, Stores, Synced, Trimmed, environment_of,
    organization_of, wake,
};
use crate::cluster::events::Events;
use crate::cluster::queue::Queue;
use crate::metrics::Metrics;
use crate::objects::child::Kind;
use crate::objects::names::label;
use crate::objects::namespaced_name::NamespacedName;

/// The watches of all kinds, with their clients and stores.
#[derive(Clone)]
pub struct Watches {
    pub client: Client,
    /// Empty: all.
    pub namespaces: Vec<String>,
    pub release_namespace: String,
    pub stores: Arc<Stores>,
    pub queue: Arc<Queue<Item>>,
    pub synced: Arc<Synced>,
    pub metrics: Metrics,
    pub events: Events,
    pub entropy: Entropy,
    /// [`LISTS`] of them.
    pub lists: Arc<Semaphore>,
    pub tracker: TaskTracker,
    pub stop: CancellationToken,
}

/// A watch in one namespace, or in all.
pub struct Scope {
    pub name: String,
    namespace: Option<String>,
    /// The cluster may lack the kind, or keep it from us.
    pub optional: bool,
    pub kind: Option<Kind>,
}

impl Scope {
    fn holds(&self, place: &NamespacedName) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| namespace == place.namespace())
    }
}

/// Objects of a page of a list. Each comes with its managed fields: the text of a page is most of the
/// memory that an operator ever needs at once.
const PAGE: u32 = 100;

/// Lists that are read at the same time.
pub const LISTS: usize = 3;

fn ours() -> watcher::Config {
    watcher::Config::default().page_size(PAGE).labels(&format!("{}={}", label::MANAGED_BY, label::OPERATOR))
}

impl Watches {
    /// Starts every watch; they end with `stop`.
    pub fn start(&self) {
        self.resources();
        self.owned::<ServiceAccount>();
        self.owned::<PersistentVolumeClaim>();
        self.owned::<ConfigMap>();
        self.owned::<Service>();
        self.owned::<NetworkPolicy>();
        self.owned::<PodDisruptionBudget>();
        self.owned::<Deployment>();
        self.foreign(Kind::Certificate);
        self.foreign(Kind::VolumeSnapshot);
        self.secrets();
        self.pods();
        self.storage_classes();
    }

    fn scopes(&self, kind: &str, foreign: Option<Kind>) -> Vec<Scope> {
        let optional = foreign.is_some();
        let name = |namespace: &str| format!("{kind} {namespace}").trim_end().to_owned();
        if self.namespaces.is_empty() {
            return vec![Scope { name: name(""), namespace: None, optional, kind: foreign }];
        }
        let one = |namespace: &String| Scope {
            name: name(namespace),
            namespace: Some(namespace.clone()),
            optional,
            kind: foreign,
        };
        self.namespaces.iter().map(one).collect()
    }

    fn api<O: Resource<Scope = NamespaceResourceScope>>(&self, scope: &Scope) -> Api<O>
    where
        O::DynamicType: Default,
    {
        match &scope.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }

    fn resources(&self) {
        for scope in self.scopes("Organization", None) {
            let api = self.api::<Guarded<Organization>>(&scope);
            let keep = |_: &Stores, it: Organization| Some(Arc::new(it));
            self.guarded(scope, api, |stores| &stores.organizations, |_| None, keep, wake::organization);
        }
        for scope in self.scopes("Environment", None) {
            let api = self.api::<Guarded<Environment>>(&scope);
            let group = |it: &Environment| Some(organization_of(it));
            let keep = |stores: &Stores, it: Environment| known(stores, &it);
            self.guarded(scope, api, |stores| &stores.environments, group, keep, wake::environment);
        }
        for scope in self.scopes("ApiKey", None) {
            let api = self.api::<Guarded<ApiKey>>(&scope);
            let group = |it: &ApiKey| Some(environment_of(it));
            let keep = |_: &Stores, it: ApiKey| Some(Arc::new(it));
            self.guarded(scope, api, |stores| &stores.api_keys, group, keep, wake::api_key);
        }
    }

    fn guarded<O, V>(
        &self,
        scope: Scope,
        api: Api<Guarded<O>>,
        index: fn(&Stores) -> &Index<NamespacedName, V>,
        group: fn(&O) -> Option<NamespacedName>,
        keep: fn(&Stores, O) -> Option<V>,
        wake: wake::Wake<NamespacedName, V>,
    ) where
        O: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
        V: Clone + Send + Sync + 'static,
    {
        let (stores, events) = (Arc::clone(&self.stores), self.events.clone());
        let read = move |watched: WatchedObject<Guarded<O>>| {
            let object = match watched {
                WatchedObject::Applied(object) => {
                    if let Some(invalid) = stores.invalid_objects.saw(&object) {
                        events.invalid(invalid.about, &invalid.error);
                    }
                    object
                }
                WatchedObject::Deleted(object) => {
                    stores.invalid_objects.gone(&object);
                    object
                }
            };
            let object = object.read.ok()?;
            let resource_version = object.meta().resource_version.clone().unwrap_or_default();
            let (key, group) = (NamespacedName::of(&object), group(&object));
            Some(Entry { key, group, resource_version, value: keep(&stores, object)? })
        };
        let config = watcher::Config::default().page_size(PAGE);
        self.spawn(scope, api, config, index, Scope::holds, read, wake);
    }

    fn owned<O>(&self)
    where
        O: Owned + Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        O: Clone + Debug + Send + 'static,
    {
        for scope in self.scopes(&O::KIND.to_string(), None) {
            let api = self.api::<Trimmed<O>>(&scope);
            let holds = |scope: &Scope, key: &(Kind, NamespacedName)| key.0 == O::KIND && scope.holds(&key.1);
            let stores = Arc::clone(&self.stores);
            let read = move |watched: WatchedObject<Trimmed<O>>| packed(&stores, watched.object().kept);
            self.spawn(scope, api, ours(), |it| &it.children, holds, read, wake::belonging);
        }
    }

    fn foreign(&self, kind: Kind) {
        let resource = kind.resource();
        for scope in self.scopes(&kind.to_string(), Some(kind)) {
            let api: Api<DynamicObject> = match &scope.namespace {
                Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
                None => Api::all_with(self.client.clone(), &resource),
            };
            let holds = move |scope: &Scope, key: &(Kind, NamespacedName)| key.0 == kind && scope.holds(&key.1);
            let stores = Arc::clone(&self.stores);
            let read =
                move |watched: WatchedObject<DynamicObject>| packed(&stores, read::foreign(kind, watched.object()));
            self.spawn(scope, api, ours(), |it| &it.children, holds, read, wake::belonging);
        }
    }

    fn secrets(&self) {
        let mut scopes = self.scopes("Secret", None);
        if !scopes.iter().any(|scope| scope.holds(&NamespacedName::new(&self.release_namespace, ""))) {
            let namespace = self.release_namespace.clone();
            scopes.push(Scope {
                name: format!("Secret {namespace}"),
                namespace: Some(namespace),
                optional: false,
                kind: None,
            });
        }
        for scope in scopes {
            let api = self.api::<Trimmed<Secret>>(&scope);
            let stores = Arc::clone(&self.stores);
            let read = move |watched: WatchedObject<Trimmed<Secret>>| {
                let known = |seen: SeenSecret| logged(seen.known(&stores.dictionaries));
                watched.object().kept.and_then(known)
            };
            self.spawn(scope, api, ours(), |it| &it.secrets, Scope::holds, read, wake::secret);
        }
    }

    fn pods(&self) {
        for scope in self.scopes("Pod", None) {
            let api = self.api::<Trimmed<Pod>>(&scope);
            let read = |watched: WatchedObject<Trimmed<Pod>>| Some(watched.object().kept);
            self.spawn(scope, api, ours(), |it| &it.pods, Scope::holds, read, wake::belonging);
        }
    }

    fn storage_classes(&self) {
        let scope = Scope { name: "StorageClass".to_owned(), namespace: None, optional: true, kind: None };
        let api: Api<StorageClass> = Api::all(self.client.clone());
        let read = |watched: WatchedObject<StorageClass>| Some(read::storage_class(&watched.object()));
        let config = watcher::Config::default();
        self.spawn(scope, api, config, |it| &it.storage_classes, |_, _: &String| true, read, wake::storage_class);
    }

    #[expect(clippy::too_many_arguments, reason = "one for each thing in which the watches differ")]
    fn spawn<O, K, V>(
        &self,
        scope: Scope,
        api: Api<O>,
        config: watcher::Config,
        index: fn(&Stores) -> &Index<K, V>,
        holds: impl Fn(&Scope, &K) -> bool + Send + 'static,
        read: impl Fn(WatchedObject<O>) -> Option<Entry<K, V>> + Send + 'static,
        wake: wake::Wake<K, V>,
    ) where
        O: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        O::DynamicType: Send,
        K: Clone + Ord + Send + Sync + 'static,
        V: Clone + Send + Sync + 'static,
    {
        self.synced.expect(&scope.name);
        let this = self.clone();
        self.tracker.spawn(async move {
            let stop = this.stop.clone();
            let follow = Follow::new(this, scope, index, wake);
            tokio::select! {
                () = stop.cancelled() => {}
                () = follow.run(api, config, read, holds) => {}
            }
        });
    }
}

fn known(stores: &Stores, environment: &Environment) -> Option<Arc<KnownEnvironment>> {
    logged(KnownEnvironment::new(environment, &stores.dictionaries)).map(Arc::new)
}

fn packed(stores: &Stores, seen: SeenChild) -> Option<Entry<(Kind, NamespacedName), PackedChild>> {
    seen?.and_then(|text| Some(text.packed(&stores.dictionaries)))
}

/// To write plain fields down does not fail.
fn logged<T>(kept: Result<T, serde_json::Error>) -> Option<T> {
    kept.inspect_err(|error| tracing::error!(%error, "an object cannot be kept")).ok()
}
