//! The watch over Organizations and Environments: what anybody writes becomes rows.
//!
//! Every replica may follow; a projection is idempotent. What cannot be done now, because the
//! database is away or an environment came before its organization, waits and is tried again.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::time::Duration;

use contract::{EnvId, OrgId};
use futures::stream::{BoxStream, StreamExt, select_all};
use kube::api::Api;
use kube::core::DeserializeGuard;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Resource, ResourceExt};
use platform::resources::{EnvironmentResource, NamespacedName, OrganizationResource};
use platform::{App, Error, Result};
use serde::de::DeserializeOwned;

use super::{Cluster, said};
use crate::server::kubernetes::organizations::Projected;

/// What waits is tried again this often.
const AGAIN: Duration = Duration::from_secs(2);

/// An event of a watch, whatever its kind.
enum WatchEvent {
    Begins(Watch),
    /// Of an object: the list it is in, if it is from one, and what is to be done, if it could be read.
    Is(Option<Watch>, ObjectKey, Option<SyncTask>),
    Gone(ObjectKey),
    Ends(Watch),
}

/// One watch: a kind, in a namespace or in all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Watch {
    kind: WatchedKind,
    namespace: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum WatchedKind {
    // Before what belongs to it.
    Organization,
    Environment,
}

/// A kind, and the uid of an object.
type ObjectKey = (WatchedKind, String);

#[derive(Debug, Clone)]
enum SyncTask {
    Organization(Box<OrganizationResource>),
    Environment(Box<EnvironmentResource>),
    /// It was not in a list: is it gone?
    Check(NamespacedName),
    Remove,
}

/// Follows until shutdown.
pub async fn follow(cluster: &Cluster, app: &App) {
    let mut follower = ResourceFollower { cluster, app, listed: HashSet::new(), waiting: BTreeMap::new() };
    let mut watch_events = cluster.watch_events();
    let mut again = tokio::time::interval(AGAIN);
    loop {
        tokio::select! {
            () = app.shutdown().cancelled() => return,
            Some(watch_event) = watch_events.next() => follower.hear(watch_event).await,
            _ = again.tick() => follower.try_again().await,
        }
    }
}

impl Cluster {
    fn watch_events(&self) -> impl futures::Stream<Item = WatchEvent> + Unpin + use<> {
        let namespaces: Vec<Option<String>> =
            if self.watched.is_empty() { vec![None] } else { self.watched.iter().cloned().map(Some).collect() };
        select_all(namespaces.into_iter().flat_map(|namespace| {
            let organizations =
                self.watch(WatchedKind::Organization, namespace.clone(), |object: &crds::Organization| {
                    said::organization(object).map(|said| SyncTask::Organization(Box::new(said)))
                });
            let environments = self.watch(WatchedKind::Environment, namespace, |object: &crds::Environment| {
                said::environment(object).map(|said| SyncTask::Environment(Box::new(said)))
            });
            [organizations, environments]
        }))
    }

    fn watch<K>(
        &self,
        kind: WatchedKind,
        namespace: Option<String>,
        read: fn(&K) -> Result<SyncTask>,
    ) -> BoxStream<'static, WatchEvent>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + 'static,
    {
        // One that cannot be read must not stop the watch of all the others.
        let api: Api<DeserializeGuard<K>> = match &namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        };
        let listing = Watch { kind, namespace };
        let told = move |event: watcher::Result<Event<DeserializeGuard<K>>>| {
            let is = |listing: Option<&Watch>, object: &DeserializeGuard<K>| {
                let subject = (kind, object.uid()?);
                Some(WatchEvent::Is(listing.cloned(), subject, understood(object, read)))
            };
            let watch_event = match event {
                Ok(Event::Init) => Some(WatchEvent::Begins(listing.clone())),
                Ok(Event::InitApply(object)) => is(Some(&listing), &object),
                Ok(Event::Apply(object)) => is(None, &object),
                Ok(Event::InitDone) => Some(WatchEvent::Ends(listing.clone())),
                Ok(Event::Delete(object)) => object.uid().map(|uid| WatchEvent::Gone((kind, uid))),
                Err(error) => {
                    tracing::warn!(%error, ?kind, "the watch was broken: it is begun again");
                    None
                }
            };
            futures::future::ready(watch_event)
        };
        watcher(api, watcher::Config::default()).default_backoff().filter_map(told).boxed()
    }
}

fn understood<K: Resource<DynamicType = ()>>(
    object: &DeserializeGuard<K>,
    read: fn(&K) -> Result<SyncTask>,
) -> Option<SyncTask> {
    let why = match &object.0 {
        Ok(object) => match read(object) {
            Ok(task) => return Some(task),
            Err(error) => error.with_sources(),
        },
        Err(unread) => unread.error.clone(),
    };
    tracing::warn!(object = object.name_any(), why, "an object cannot be read: its row stays as it was");
    None
}

struct ResourceFollower<'a> {
    cluster: &'a Cluster,
    app: &'a App,
    /// What a list that is not at its end has shown so far.
    listed: HashSet<(Watch, String)>,
    /// What could not be done yet, by what it is about; newer takes the place of older.
    waiting: BTreeMap<ObjectKey, SyncTask>,
}

impl ResourceFollower<'_> {
    async fn hear(&mut self, watch_event: WatchEvent) {
        match watch_event {
            WatchEvent::Begins(listing) => self.listed.retain(|(other, _)| *other != listing),
            WatchEvent::Is(listing, subject, task) => {
                self.listed.extend(listing.map(|listing| (listing, subject.1.clone())));
                if let Some(task) = task {
                    self.attempt(subject, task).await;
                }
            }
            WatchEvent::Gone(subject) => self.attempt(subject, SyncTask::Remove).await,
            WatchEvent::Ends(listing) => self.compare(&listing).await,
        }
    }

    /// Rows that a whole list does not show are looked for one by one.
    async fn compare(&mut self, listing: &Watch) {
        let known = match self.known(listing.kind).await {
            Ok(known) => known,
            // The next list finds them.
            Err(error) => return tracing::warn!(%error, "what was deleted meanwhile cannot be told"),
        };
        for (uid, place) in known {
            let covered = listing.namespace.as_ref().is_none_or(|namespace| *namespace == place.namespace);
            if covered && !self.listed.contains(&(listing.clone(), uid.clone())) {
                self.attempt((listing.kind, uid), SyncTask::Check(place)).await;
            }
        }
        self.listed.retain(|(other, _)| other != listing);
    }

    async fn known(&self, kind: WatchedKind) -> Result<Vec<(String, NamespacedName)>> {
        Ok(match kind {
            WatchedKind::Organization => owned(super::organizations::known(self.app).await?),
            WatchedKind::Environment => owned(super::environments::known(self.app).await?),
        })
    }

    async fn attempt(&mut self, subject: ObjectKey, task: SyncTask) {
        self.waiting.remove(&subject);
        match self.perform(&subject, &task).await {
            Ok(SyncOutcome::Done) => {}
            Ok(SyncOutcome::Welcomes) => Box::pin(self.try_again()).await,
            Ok(SyncOutcome::Waits) => {
                self.waiting.insert(subject, task);
            }
            Err(error @ Error::Conflict { .. }) => {
                tracing::warn!(%error, ?subject, "a resource contradicts another: it is not served");
            }
            Err(error) => {
                tracing::warn!(
                    error = error.with_sources(),
                    ?subject,
                    "a resource could not be followed: it is tried again"
                );
                self.waiting.insert(subject, task);
            }
        }
    }

    async fn try_again(&mut self) {
        let waiting: Vec<(ObjectKey, SyncTask)> = self.waiting.iter().map(|(s, t)| (s.clone(), t.clone())).collect();
        for (subject, task) in waiting {
            self.attempt(subject, task).await;
        }
    }

    async fn perform(&self, subject: &ObjectKey, task: &SyncTask) -> Result<SyncOutcome> {
        match task {
            SyncTask::Organization(said) => Ok(match super::organizations::project(self.app, said).await? {
                Projected::Made => SyncOutcome::Welcomes,
                Projected::Changed | Projected::Known => SyncOutcome::Done,
            }),
            SyncTask::Environment(said) => {
                let projected = super::environments::project(self.app, said).await?;
                Ok(if projected.is_some() { SyncOutcome::Done } else { SyncOutcome::Waits })
            }
            SyncTask::Check(place) => {
                if self.cluster.is_there(subject, place).await? {
                    return Ok(SyncOutcome::Done);
                }
                self.remove(subject).await
            }
            SyncTask::Remove => self.remove(subject).await,
        }
    }

    async fn remove(&self, (kind, uid): &ObjectKey) -> Result<SyncOutcome> {
        match kind {
            WatchedKind::Organization => super::organizations::removed(self.app, &OrgId::from(uid.as_str())).await?,
            WatchedKind::Environment => super::environments::removed(self.app, &EnvId::from(uid.as_str())).await?,
        }
        Ok(SyncOutcome::Done)
    }
}

enum SyncOutcome {
    Done,
    /// Others may have waited for it.
    Welcomes,
    Waits,
}

impl Cluster {
    async fn is_there(&self, (kind, uid): &ObjectKey, place: &NamespacedName) -> Result<bool> {
        let found = match kind {
            WatchedKind::Organization => self.uid_at::<crds::Organization>(place).await?,
            WatchedKind::Environment => self.uid_at::<crds::Environment>(place).await?,
        };
        Ok(found.as_ref() == Some(uid))
    }

    async fn uid_at<K>(&self, place: &NamespacedName) -> Result<Option<String>>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<DeserializeGuard<K>> = Api::namespaced(self.client.clone(), &place.namespace);
        let found = self.asked(api.get_opt(&place.name)).await?;
        Ok(found.and_then(|object| object.uid()))
    }
}

fn owned<Id: Into<String>>(known: Vec<(Id, NamespacedName)>) -> Vec<(String, NamespacedName)> {
    known.into_iter().map(|(id, place)| (id.into(), place)).collect()
}

#[cfg(test)]
mod tests;
