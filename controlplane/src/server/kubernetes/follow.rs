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
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::tolerant::Tolerant;
use super::{Cluster, said};
use crate::platform::resources::{Environment, Organization, Place};
use crate::server::kubernetes::organizations::Projected;
use crate::{App, Error, Result};

/// What waits is tried again this often.
const AGAIN: Duration = Duration::from_secs(2);

/// What a watch tells, whatever its kind.
enum News {
    Begins(Listing),
    /// Of an object: the list it is in, if it is from one, and what is to be done, if it could be read.
    Is(Option<Listing>, Subject, Option<Task>),
    Gone(Subject),
    Ends(Listing),
}

/// One watch: a kind, in a namespace or in all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Listing {
    kind: Kind,
    namespace: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    // Before what belongs to it.
    Organization,
    Environment,
}

/// A kind, and the uid of an object.
type Subject = (Kind, String);

#[derive(Debug, Clone)]
enum Task {
    Organization(Box<Organization>),
    Environment(Box<Environment>),
    /// It was not in a list: is it gone?
    Check(Place),
    Remove,
}

/// Follows until shutdown.
pub async fn follow(cluster: &Cluster, app: &App) {
    let mut mirror = Mirror { cluster, app, listed: HashSet::new(), waiting: BTreeMap::new() };
    let mut news = cluster.news();
    let mut again = tokio::time::interval(AGAIN);
    loop {
        tokio::select! {
            () = app.shutdown().cancelled() => return,
            Some(news) = news.next() => mirror.hear(news).await,
            _ = again.tick() => mirror.try_again().await,
        }
    }
}

impl Cluster {
    fn news(&self) -> impl futures::Stream<Item = News> + Unpin + use<> {
        let namespaces: Vec<Option<String>> =
            if self.watched.is_empty() { vec![None] } else { self.watched.iter().cloned().map(Some).collect() };
        select_all(namespaces.into_iter().flat_map(|namespace| {
            let organizations = self.watch(Kind::Organization, namespace.clone(), |object: &crds::Organization| {
                said::organization(object).map(|said| Task::Organization(Box::new(said)))
            });
            let environments = self.watch(Kind::Environment, namespace, |object: &crds::Environment| {
                said::environment(object).map(|said| Task::Environment(Box::new(said)))
            });
            [organizations, environments]
        }))
    }

    fn watch<K>(&self, kind: Kind, namespace: Option<String>, read: fn(&K) -> Result<Task>) -> BoxStream<'static, News>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + 'static,
    {
        let api: Api<Tolerant<K>> = match &namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        };
        let listing = Listing { kind, namespace };
        let told = move |event: watcher::Result<Event<Tolerant<K>>>| {
            let is = |listing: Option<&Listing>, object: &Tolerant<K>| {
                let subject = (kind, object.uid()?);
                Some(News::Is(listing.cloned(), subject, understood(object, read)))
            };
            let news = match event {
                Ok(Event::Init) => Some(News::Begins(listing.clone())),
                Ok(Event::InitApply(object)) => is(Some(&listing), &object),
                Ok(Event::Apply(object)) => is(None, &object),
                Ok(Event::InitDone) => Some(News::Ends(listing.clone())),
                Ok(Event::Delete(object)) => object.uid().map(|uid| News::Gone((kind, uid))),
                Err(error) => {
                    tracing::warn!(%error, ?kind, "the watch was broken: it is begun again");
                    None
                }
            };
            futures::future::ready(news)
        };
        watcher(api, watcher::Config::default()).default_backoff().filter_map(told).boxed()
    }
}

fn understood<K: Resource<DynamicType = ()>>(object: &Tolerant<K>, read: fn(&K) -> Result<Task>) -> Option<Task> {
    let why = match object {
        Tolerant::Read(object) => match read(object) {
            Ok(task) => return Some(task),
            Err(error) => error.with_sources(),
        },
        Tolerant::Unread { why, .. } => why.clone(),
    };
    tracing::warn!(object = object.name_any(), why, "an object cannot be read: its row stays as it was");
    None
}

struct Mirror<'a> {
    cluster: &'a Cluster,
    app: &'a App,
    /// What a list that is not at its end has shown so far.
    listed: HashSet<(Listing, String)>,
    /// What could not be done yet, by what it is about; newer takes the place of older.
    waiting: BTreeMap<Subject, Task>,
}

impl Mirror<'_> {
    async fn hear(&mut self, news: News) {
        match news {
            News::Begins(listing) => self.listed.retain(|(other, _)| *other != listing),
            News::Is(listing, subject, task) => {
                self.listed.extend(listing.map(|listing| (listing, subject.1.clone())));
                if let Some(task) = task {
                    self.attempt(subject, task).await;
                }
            }
            News::Gone(subject) => self.attempt(subject, Task::Remove).await,
            News::Ends(listing) => self.compare(&listing).await,
        }
    }

    /// Rows that a whole list does not show are looked for one by one.
    async fn compare(&mut self, listing: &Listing) {
        let known = match self.known(listing.kind).await {
            Ok(known) => known,
            // The next list finds them.
            Err(error) => return tracing::warn!(%error, "what was deleted meanwhile cannot be told"),
        };
        for (uid, place) in known {
            let covered = listing.namespace.as_ref().is_none_or(|namespace| *namespace == place.namespace);
            if covered && !self.listed.contains(&(listing.clone(), uid.clone())) {
                self.attempt((listing.kind, uid), Task::Check(place)).await;
            }
        }
        self.listed.retain(|(other, _)| other != listing);
    }

    async fn known(&self, kind: Kind) -> Result<Vec<(String, Place)>> {
        Ok(match kind {
            Kind::Organization => owned(super::organizations::known(self.app).await?),
            Kind::Environment => owned(super::environments::known(self.app).await?),
        })
    }

    async fn attempt(&mut self, subject: Subject, task: Task) {
        self.waiting.remove(&subject);
        match self.perform(&subject, &task).await {
            Ok(Outcome::Done) => {}
            Ok(Outcome::Welcomes) => Box::pin(self.try_again()).await,
            Ok(Outcome::Waits) => {
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
        let waiting: Vec<(Subject, Task)> = self.waiting.iter().map(|(s, t)| (s.clone(), t.clone())).collect();
        for (subject, task) in waiting {
            self.attempt(subject, task).await;
        }
    }

    async fn perform(&self, subject: &Subject, task: &Task) -> Result<Outcome> {
        match task {
            Task::Organization(said) => Ok(match super::organizations::project(self.app, said).await? {
                Projected::Made => Outcome::Welcomes,
                Projected::Changed | Projected::Known => Outcome::Done,
            }),
            Task::Environment(said) => {
                let projected = super::environments::project(self.app, said).await?;
                Ok(if projected.is_some() { Outcome::Done } else { Outcome::Waits })
            }
            Task::Check(place) => {
                if self.cluster.is_there(subject, place).await? {
                    return Ok(Outcome::Done);
                }
                self.remove(subject).await
            }
            Task::Remove => self.remove(subject).await,
        }
    }

    async fn remove(&self, (kind, uid): &Subject) -> Result<Outcome> {
        match kind {
            Kind::Organization => super::organizations::removed(self.app, &OrgId::from(uid.as_str())).await?,
            Kind::Environment => super::environments::removed(self.app, &EnvId::from(uid.as_str())).await?,
        }
        Ok(Outcome::Done)
    }
}

enum Outcome {
    Done,
    /// Others may have waited for it.
    Welcomes,
    Waits,
}

impl Cluster {
    async fn is_there(&self, (kind, uid): &Subject, place: &Place) -> Result<bool> {
        let found = match kind {
            Kind::Organization => self.uid_at::<crds::Organization>(place).await?,
            Kind::Environment => self.uid_at::<crds::Environment>(place).await?,
        };
        Ok(found.as_ref() == Some(uid))
    }

    async fn uid_at<K>(&self, place: &Place) -> Result<Option<String>>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<Tolerant<K>> = Api::namespaced(self.client.clone(), &place.namespace);
        let found = self.asked(api.get_opt(&place.name)).await?;
        Ok(found.and_then(|object| object.uid()))
    }
}

fn owned<Id: Into<String>>(known: Vec<(Id, Place)>) -> Vec<(String, Place)> {
    known.into_iter().map(|(id, place)| (id.into(), place)).collect()
}
