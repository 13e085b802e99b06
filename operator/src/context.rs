//! The context of every reconcile: clients, stores, queue, clock and caches.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contract::Entropy;
use contract::clock::SharedClock;
use crds::EnvironmentPhase;
use jiff::Timestamp;
use kube::Client;
use tokio::time::Instant;

use crate::Error;
use crate::authority::Signers;
use crate::cluster::backoff::Range;
use crate::cluster::events::Events;
use crate::cluster::queue::Queue;
use crate::control_plane::ControlPlane;
use crate::metrics::Metrics;
use crate::objects::agreed::Agreements;
use crate::objects::contest::Contested;
use crate::objects::namespaced_name::NamespacedName;
use crate::objects::observed::Release;
use crate::objects::rollout::Rollout;
use crate::stores::{Expected, Item, KnownEnvironment, SecretClient, Stores};
use crate::time::timestamp;

pub struct Context {
    pub client: Client,
    pub release: Arc<Release>,
    pub rollout: Rollout,
    pub stores: Arc<Stores>,
    pub queue: Arc<Queue<Item>>,
    pub metrics: Metrics,
    pub events: Events,
    pub clock: SharedClock,
    pub entropy: Entropy,
    pub secrets: SecretClient,
    pub signers: Arc<Signers>,
    pub control_plane: ControlPlane,
    pub expected: Arc<Expected>,
    pub failures: Failures,
    /// Whether an object came up while this operator did not lead, and was not looked at.
    pub turned_away: AtomicBool,
    /// Of environments, what the last plan found as it should be.
    pub agreed: Agreements,
    /// Of environments, repairs that may be undone again and again.
    pub contested: Contested,
    /// Environments whose last change nobody has acted upon, since it was first noticed.
    pub behind: Mutex<HashMap<NamespacedName, (i64, Instant)>>,
}

impl Context {
    pub fn now(&self) -> Timestamp {
        timestamp(self.clock.now())
    }

    /// Asked before anything is gathered: what is gathered then is not older than our last write.
    pub fn seen_own_writes(&self, item: &Item) -> Result<(), Error> {
        if self.expected.awaits(item, &self.stores, Instant::now()) {
            return Err(Error::Waiting("the stores have not seen our own write yet"));
        }
        Ok(())
    }

    /// Measures from here to the end of the scope.
    pub fn step(&self, kind: &'static str, name: &'static str) -> StepTimer<'_> {
        StepTimer { metrics: &self.metrics, kind, name, start: Instant::now() }
    }

    /// Brings up to date what is measured only when somebody asks.
    pub fn measure(&self) {
        let (waiting, oldest) = self.queue.overdue();
        self.metrics.queue("all", waiting, oldest);
        for kind in ["Organization", "Environment", "ApiKey"] {
            self.metrics.unreadable(kind, self.stores.invalid_objects.count(kind));
        }
        let environments = self.stores.environments.all();
        let count = |phase| environments.iter().filter(|(_, it)| it.phase == Some(phase)).count();
        let phases = [
            ("provisioning", count(EnvironmentPhase::Provisioning)),
            ("active", count(EnvironmentPhase::Active)),
            ("suspended", count(EnvironmentPhase::Suspended)),
            ("decommissioning", count(EnvironmentPhase::Decommissioning)),
        ];
        self.metrics.environments(&phases, self.lag(&environments));
    }

    fn lag(&self, environments: &[(NamespacedName, Arc<KnownEnvironment>)]) -> Duration {
        let now = Instant::now();
        let mut behind = locked(&self.behind);
        let mut still = HashMap::new();
        for (place, environment) in environments.iter().filter(|(_, it)| it.is_behind()) {
            let generation = environment.generation;
            let since = behind.get(place).filter(|(of, _)| *of == generation).map_or(now, |(_, since)| *since);
            still.insert(place.clone(), (generation, since));
        }
        *behind = still;
        behind.values().map(|(_, since)| now.saturating_duration_since(*since)).max().unwrap_or_default()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A step of a reconcile, measured until it is dropped.
pub struct StepTimer<'a> {
    metrics: &'a Metrics,
    kind: &'static str,
    name: &'static str,
    start: Instant,
}

impl Drop for StepTimer<'_> {
    fn drop(&mut self) {
        self.metrics.took(self.kind, self.name, self.start.elapsed());
    }
}

/// How often each object has failed in a row.
#[derive(Debug, Default)]
pub struct Failures(Mutex<HashMap<Item, u32>>);

impl Failures {
    /// It failed again: how long to wait.
    pub fn failed(&self, item: &Item, waits: Range, entropy: &Entropy) -> Duration {
        let mut all = locked(&self.0);
        let failures = all.entry(item.clone()).or_default();
        let wait = waits.wait(*failures, entropy);
        *failures = failures.saturating_add(1);
        wait
    }

    pub fn succeeded(&self, item: &Item) {
        locked(&self.0).remove(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::backoff::OBJECT;

    #[test]
    fn waits_grow_with_each_failure_until_one_success() {
        let (failures, entropy, item) = (Failures::default(), Entropy::seeded(1), Item::Release);
        let waits: Vec<_> = (0..12).map(|_| failures.failed(&item, OBJECT, &entropy)).collect();
        assert!(waits[0] < Duration::from_millis(201) && waits[11] > Duration::from_secs(100));
        failures.succeeded(&item);
        assert!(failures.failed(&item, OBJECT, &entropy) < Duration::from_millis(201));
    }
}
