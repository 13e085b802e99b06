//! One watch that runs: its objects go into its store, and wake the objects they concern.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::watcher;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::OwnedSemaphorePermit;

use super::watch::{Scope, Watches};
use super::{Entry, Index, Item, Stores, wake};
use crate::cluster::backoff;
use crate::cluster::queue::Priority;

/// A kind that the cluster may lack is looked for again this often.
const ABSENT: Duration = Duration::from_mins(10);

/// An object as a watch brings it.
pub enum WatchedObject<O> {
    Applied(O),
    /// As it was last.
    Deleted(O),
}

impl<O> WatchedObject<O> {
    pub fn object(self) -> O {
        match self {
            Self::Applied(object) | Self::Deleted(object) => object,
        }
    }
}

/// One watch that runs.
pub struct Follow<K, V> {
    watches: Watches,
    scope: Scope,
    index: fn(&Stores) -> &Index<K, V>,
    wake: wake::Wake<K, V>,
    /// What the list that is being read holds so far.
    listed: BTreeSet<K>,
    /// The turn to list.
    turn: Option<OwnedSemaphorePermit>,
    failures: u32,
}

impl<K: Clone + Ord, V: Clone> Follow<K, V> {
    pub fn new(watches: Watches, scope: Scope, index: fn(&Stores) -> &Index<K, V>, wake: wake::Wake<K, V>) -> Self {
        Self { watches, scope, index, wake, listed: BTreeSet::new(), turn: None, failures: 0 }
    }

    pub async fn run<O>(
        mut self,
        api: Api<O>,
        config: watcher::Config,
        read: impl Fn(WatchedObject<O>) -> Option<Entry<K, V>>,
        holds: impl Fn(&Scope, &K) -> bool,
    ) where
        O: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        // not kube's own backoff: the beginning of a list that then fails resets it
        let mut events = pin!(watcher::watcher(api, config));
        while let Some(event) = events.next().await {
            match event {
                Ok(watcher::Event::Init) => self.list_begins().await,
                Ok(watcher::Event::InitApply(object)) => {
                    if let Some(entry) = read(WatchedObject::Applied(object)) {
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
                    if let Some(entry) = read(WatchedObject::Applied(object)) {
                        self.put(&entry);
                    }
                }
                Ok(watcher::Event::Delete(object)) => {
                    if let Some(entry) = read(WatchedObject::Deleted(object)) {
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

    /// It is asked for when this returns.
    async fn list_begins(&mut self) {
        self.listed.clear();
        self.turn = None;
        // nobody closes it
        self.turn = Arc::clone(&self.watches.lists).acquire_owned().await.ok();
    }

    fn list_ends(&mut self, holds: impl Fn(&Scope, &K) -> bool) {
        self.turn = None;
        let listed = std::mem::take(&mut self.listed);
        for gone in self.index().retain(&listed, |key| holds(&self.scope, key)) {
            self.woken(&wake::Change { old: Some(&gone), new: None });
        }
        self.served(true);
        self.watches.synced.done(&self.scope.name);
    }

    /// An environment may have waited for a kind, or must be told that it has gone.
    fn served(&self, is: bool) {
        let stores = &self.watches.stores;
        if self.scope.kind.is_some_and(|kind| stores.serves(kind, is)) {
            for place in stores.environments.keys() {
                self.watches.queue.wake(Item::Environment(place), Priority::Background);
            }
        }
    }

    fn woken(&self, change: &wake::Change<'_, K, V>) {
        for (item, priority) in (self.wake)(&self.watches.stores, change) {
            self.watches.queue.wake(item, priority);
        }
    }

    async fn failed(&mut self, error: &watcher::Error) {
        self.turn = None;
        self.watches.metrics.watch_restarted(&self.scope.name);
        if self.scope.optional && is_absent(error) {
            self.served(false);
            self.watches.synced.done(&self.scope.name);
            tokio::time::sleep(ABSENT).await;
        } else {
            tracing::warn!(kind = self.scope.name, %error, "a watch broke");
            let wait = backoff::SERVER.wait(self.failures, &self.watches.entropy);
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
