//! The watches: one for each kind and namespace, each filling its store and waking what it concerns.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::Entropy;
use crds::{ApiKey, Environment, Organization};
use futures::StreamExt;
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
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::read::{self, Owned, label};
use super::{Entry, Guarded, Index, Item, Place, Stores, environment_of, organization_of, wake};
use crate::backoff;
use crate::environment::child::Kind;
use crate::events::Events;
use crate::metrics::Metrics;
use crate::queue::Queue;

/// A kind that the cluster may lack is looked for again this often.
const ABSENT: Duration = Duration::from_mins(10);

/// Which stores are not complete yet.
#[derive(Debug)]
pub struct Synced {
    waiting: Mutex<BTreeSet<String>>,
    left: tokio::sync::watch::Sender<usize>,
}

impl Default for Synced {
    fn default() -> Self {
        Self { waiting: Mutex::default(), left: tokio::sync::watch::Sender::new(0) }
    }
}

impl Synced {
    fn change(&self, change: impl FnOnce(&mut BTreeSet<String>)) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut waiting);
        self.left.send_replace(waiting.len());
    }

    fn expect(&self, name: &str) {
        self.change(|waiting| {
            waiting.insert(name.to_owned());
        });
    }

    fn done(&self, name: &str) {
        self.change(|waiting| {
            waiting.remove(name);
        });
    }

    /// Empty: complete.
    pub fn missing(&self) -> Vec<String> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    pub async fn wait(&self) {
        let mut left = self.left.subscribe();
        // the sender is ours: it cannot be gone
        let _ = left.wait_for(|left| *left == 0).await;
    }
}

/// What every watch needs.
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
    pub tracker: TaskTracker,
    pub stop: CancellationToken,
}

/// A watch in one namespace, or in all.
struct Scope {
    name: String,
    namespace: Option<String>,
    /// The cluster may lack the kind, or keep it from us.
    optional: bool,
    kind: Option<Kind>,
}

impl Scope {
    fn holds(&self, place: &Place) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| *namespace == place.namespace)
    }
}

/// Objects of a page of a list. Each comes with its managed fields: a page is most of the memory that an
/// operator ever needs at once.
const PAGE: u32 = 100;

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
            self.guarded(scope, api, |stores| &stores.organizations, |_| None, wake::organization);
        }
        for scope in self.scopes("Environment", None) {
            let api = self.api::<Guarded<Environment>>(&scope);
            let group = |it: &Environment| Some(organization_of(it));
            self.guarded(scope, api, |stores| &stores.environments, group, wake::environment);
        }
        for scope in self.scopes("ApiKey", None) {
            let api = self.api::<Guarded<ApiKey>>(&scope);
            let group = |it: &ApiKey| Some(environment_of(it));
            self.guarded(scope, api, |stores| &stores.api_keys, group, wake::api_key);
        }
    }

    fn guarded<O>(
        &self,
        scope: Scope,
        api: Api<Guarded<O>>,
        index: fn(&Stores) -> &Index<Place, Arc<O>>,
        group: fn(&O) -> Option<Place>,
        wake: wake::Wake<Place, Arc<O>>,
    ) where
        O: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    {
        let (stores, events) = (Arc::clone(&self.stores), self.events.clone());
        let read = move |sight: Sight<Guarded<O>>| {
            let object = match sight {
                Sight::There(object) => {
                    if let Some(misfit) = stores.misfits.saw(&object) {
                        events.misfit(misfit);
                    }
                    object
                }
                Sight::Gone(object) => {
                    stores.misfits.gone(&object);
                    object
                }
            };
            let mut object = object.read.ok()?;
            object.meta_mut().managed_fields = None;
            let resource_version = object.meta().resource_version.clone().unwrap_or_default();
            let (key, group) = (Place::of(&object), group(&object));
            Some(Entry { key, group, resource_version, value: Arc::new(object) })
        };
        let config = watcher::Config::default().page_size(PAGE);
        self.spawn(scope, api, config, index, Scope::holds, read, wake);
    }

    fn owned<O>(&self)
    where
        O: Owned + Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        O: Clone + DeserializeOwned + Debug + Send + 'static,
    {
        for scope in self.scopes(&O::KIND.to_string(), None) {
            let api = self.api::<O>(&scope);
            let holds = |scope: &Scope, key: &(Kind, Place)| key.0 == O::KIND && scope.holds(&key.1);
            let read = |sight: Sight<O>| sight.object().read();
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
            let holds = move |scope: &Scope, key: &(Kind, Place)| key.0 == kind && scope.holds(&key.1);
            let read = move |sight: Sight<DynamicObject>| read::foreign(kind, sight.object());
            self.spawn(scope, api, ours(), |it| &it.children, holds, read, wake::belonging);
        }
    }

    fn secrets(&self) {
        let mut scopes = self.scopes("Secret", None);
        if !scopes.iter().any(|scope| scope.holds(&Place::new(&self.release_namespace, ""))) {
            let namespace = self.release_namespace.clone();
            scopes.push(Scope {
                name: format!("Secret {namespace}"),
                namespace: Some(namespace),
                optional: false,
                kind: None,
            });
        }
        for scope in scopes {
            let api = self.api::<Secret>(&scope);
            let read = |sight: Sight<Secret>| Some(read::secret(sight.object()));
            self.spawn(scope, api, ours(), |it| &it.secrets, Scope::holds, read, wake::secret);
        }
    }

    fn pods(&self) {
        for scope in self.scopes("Pod", None) {
            let api = self.api::<Pod>(&scope);
            let read = |sight: Sight<Pod>| Some(read::pod(sight.object()));
            self.spawn(scope, api, ours(), |it| &it.pods, Scope::holds, read, wake::belonging);
        }
    }

    fn storage_classes(&self) {
        let scope = Scope { name: "StorageClass".to_owned(), namespace: None, optional: true, kind: None };
        let api: Api<StorageClass> = Api::all(self.client.clone());
        let read = |sight: Sight<StorageClass>| Some(read::storage_class(&sight.object()));
        let config = watcher::Config::default();
        self.spawn(scope, api, config, |it| &it.storage_classes, |_, _: &String| true, read, |_, _| Vec::new());
    }

    #[expect(clippy::too_many_arguments, reason = "one for each thing in which the watches differ")]
    fn spawn<O, K, V>(
        &self,
        scope: Scope,
        api: Api<O>,
        config: watcher::Config,
        index: fn(&Stores) -> &Index<K, V>,
        holds: impl Fn(&Scope, &K) -> bool + Send + 'static,
        read: impl Fn(Sight<O>) -> Option<Entry<K, V>> + Send + 'static,
        wake: wake::Wake<K, V>,
    ) where
        O: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        O::DynamicType: Send,
        K: Clone + Eq + Ord + Hash + Send + Sync + 'static,
        V: Clone + Send + Sync + 'static,
    {
        self.synced.expect(&scope.name);
        let this = self.clone();
        self.tracker.spawn(async move {
            let stop = this.stop.clone();
            let follow = Follow { watches: this, scope, index, wake, listed: BTreeSet::new(), failures: 0 };
            tokio::select! {
                () = stop.cancelled() => {}
                () = follow.run(api, config, read, holds) => {}
            }
        });
    }
}

/// What a watch says of an object.
enum Sight<O> {
    There(O),
    /// As it was last.
    Gone(O),
}

impl<O> Sight<O> {
    fn object(self) -> O {
        match self {
            Self::There(object) | Self::Gone(object) => object,
        }
    }
}

/// One watch that runs.
struct Follow<K, V> {
    watches: Watches,
    scope: Scope,
    index: fn(&Stores) -> &Index<K, V>,
    wake: wake::Wake<K, V>,
    /// What the list that is being read holds so far.
    listed: BTreeSet<K>,
    failures: u32,
}

impl<K: Clone + Eq + Ord + Hash, V: Clone> Follow<K, V> {
    async fn run<O>(
        mut self,
        api: Api<O>,
        config: watcher::Config,
        read: impl Fn(Sight<O>) -> Option<Entry<K, V>>,
        holds: impl Fn(&Scope, &K) -> bool,
    ) where
        O: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        // not kube's own backoff: the beginning of a list that then fails resets it
        let mut events = pin!(watcher::watcher(api, config));
        while let Some(event) = events.next().await {
            match event {
                Ok(watcher::Event::Init) => self.listed.clear(),
                Ok(watcher::Event::InitApply(object)) => {
                    if let Some(entry) = read(Sight::There(object)) {
                        self.listed.insert(entry.key.clone());
                        self.put(&entry);
                    }
                }
                Ok(watcher::Event::InitDone) => {
                    self.failures = 0;
                    self.list_ends(&holds);
                }
                Ok(watcher::Event::Apply(object)) => {
                    self.failures = 0;
                    if let Some(entry) = read(Sight::There(object)) {
                        self.put(&entry);
                    }
                }
                Ok(watcher::Event::Delete(object)) => {
                    if let Some(entry) = read(Sight::Gone(object)) {
                        let old = self.index().remove(&entry.key);
                        self.woken(&wake::Change { old: old.as_ref(), new: None });
                    }
                }
                Err(error) => self.failed(&error).await,
            }
        }
    }

    fn index(&self) -> &Index<K, V> {
        (self.index)(&self.watches.stores)
    }

    fn put(&self, entry: &Entry<K, V>) {
        let old = self.index().put(entry.clone());
        // a list repeats what is known
        if old.as_ref().map(|old| &old.resource_version) != Some(&entry.resource_version) {
            self.woken(&wake::Change { old: old.as_ref(), new: Some(entry) });
        }
    }

    fn list_ends(&mut self, holds: impl Fn(&Scope, &K) -> bool) {
        let listed = std::mem::take(&mut self.listed);
        for gone in self.index().retain(&listed, |key| holds(&self.scope, key)) {
            self.woken(&wake::Change { old: Some(&gone), new: None });
        }
        if let Some(kind) = self.scope.kind {
            self.watches.stores.serves(kind, true);
        }
        self.watches.synced.done(&self.scope.name);
    }

    fn woken(&self, change: &wake::Change<'_, K, V>) {
        for (item, priority) in (self.wake)(&self.watches.stores, change) {
            self.watches.queue.wake(item, priority);
        }
    }

    async fn failed(&mut self, error: &watcher::Error) {
        self.watches.metrics.watch_restarted(&self.scope.name);
        if self.scope.optional && is_absent(error) {
            if let Some(kind) = self.scope.kind {
                self.watches.stores.serves(kind, false);
            }
            self.watches.synced.done(&self.scope.name);
            tokio::time::sleep(ABSENT).await;
        } else {
            tracing::warn!(kind = self.scope.name, %error, "a watch broke");
            let wait = backoff::WATCH.wait(self.failures, &self.watches.entropy);
            self.failures = self.failures.saturating_add(1);
            tokio::time::sleep(wait).await;
        }
    }
}

fn is_absent(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status)) => matches!(status.code, 403 | 404),
        _ => false,
    }
}
