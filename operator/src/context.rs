//! What every reconcile works with.

use std::collections::HashMap;
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
use crate::cluster::backoff;
use crate::cluster::control_plane::ControlPlane;
use crate::cluster::events::Events;
use crate::cluster::queue::Queue;
use crate::metrics::Metrics;
use crate::objects::agreed::Agreements;
use crate::objects::child::Kind;
use crate::objects::contest::Contested;
use crate::objects::observed::Release;
use crate::objects::place::Place;
use crate::objects::rollout::Rollout;
use crate::stores::{Item, KnownEnvironment, Stores};
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
    pub signers: Signers,
    pub control_plane: ControlPlane,
    pub expected: Expected,
    pub failures: Failures,
    /// Of environments, what the last plan found as it should be.
    pub agreed: Agreements,
    /// Of environments, repairs that may be undone again and again.
    pub contested: Contested,
    /// Environments whose last change nobody has acted upon, since it was first noticed.
    pub behind: Mutex<HashMap<Place, (i64, Instant)>>,
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
    pub fn step(&self, kind: &'static str, name: &'static str) -> Step<'_> {
        Step { metrics: &self.metrics, kind, name, start: Instant::now() }
    }

    /// Brings up to date what is measured only when somebody asks.
    pub fn measure(&self) {
        let (waiting, oldest) = self.queue.overdue();
        self.metrics.queue("all", waiting, oldest);
        for kind in ["Organization", "Environment", "ApiKey"] {
            self.metrics.unreadable(kind, self.stores.misfits.count(kind));
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

    fn lag(&self, environments: &[(Place, Arc<KnownEnvironment>)]) -> Duration {
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
pub struct Step<'a> {
    metrics: &'a Metrics,
    kind: &'static str,
    name: &'static str,
    start: Instant,
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        self.metrics.took(self.kind, self.name, self.start.elapsed());
    }
}

/// What was written and must be seen before the next decision: a store that is older than our own
/// last write would have it written twice.
#[derive(Debug, Default)]
pub struct Expected(Mutex<HashMap<Item, Vec<Awaited>>>);

/// An object by the store that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// The item itself.
    Itself,
    Child(Kind, Place),
    Secret(Place),
}

#[derive(Debug, Clone)]
struct Awaited {
    written: Written,
    version: u64,
    until: Instant,
}

/// A watch that is slower than this is believed to have nothing to say.
const PATIENCE: Duration = Duration::from_secs(10);

impl Expected {
    /// This version was answered to a write of ours.
    pub fn note(&self, item: &Item, written: Written, resource_version: Option<&str>) {
        let Some(version) = resource_version.and_then(number) else { return };
        let mut all = locked(&self.0);
        let awaited = all.entry(item.clone()).or_default();
        awaited.retain(|other| other.written != written);
        awaited.push(Awaited { written, version, until: Instant::now() + PATIENCE });
    }

    /// Not all of it has been seen yet.
    pub fn awaits(&self, item: &Item, stores: &Stores, now: Instant) -> bool {
        let mut all = locked(&self.0);
        let Some(awaited) = all.get_mut(item) else { return false };
        awaited.retain(|it| now < it.until && seen(item, &it.written, stores).is_none_or(|seen| seen < it.version));
        let waits = !awaited.is_empty();
        if !waits {
            all.remove(item);
        }
        waits
    }
}

fn number(resource_version: &str) -> Option<u64> {
    resource_version.parse().ok()
}

fn seen(item: &Item, written: &Written, stores: &Stores) -> Option<u64> {
    let version = match (written, item) {
        (Written::Child(kind, place), _) => stores.children.resource_version(&(*kind, place.clone())),
        (Written::Secret(place), _) => stores.secrets.resource_version(place),
        (Written::Itself, Item::Organization(place)) => stores.organizations.resource_version(place),
        (Written::Itself, Item::Environment(place)) => stores.environments.resource_version(place),
        (Written::Itself, Item::ApiKey(place)) => stores.api_keys.resource_version(place),
        (Written::Itself, Item::Release) => None,
    };
    version.as_deref().and_then(number)
}

/// How often each object has failed in a row.
#[derive(Debug, Default)]
pub struct Failures(Mutex<HashMap<Item, u32>>);

impl Failures {
    /// It failed again: how long to wait.
    pub fn failed(&self, item: &Item, entropy: &Entropy) -> Duration {
        let mut all = locked(&self.0);
        let failures = all.entry(item.clone()).or_default();
        let wait = backoff::OBJECT.wait(*failures, entropy);
        *failures = failures.saturating_add(1);
        wait
    }

    pub fn succeeded(&self, item: &Item) {
        locked(&self.0).remove(item);
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;

    use super::*;

    fn stored(stores: &Stores, version: &str) {
        let mut object = Secret::default();
        object.metadata.name = Some("a".to_owned());
        object.metadata.namespace = Some("n".to_owned());
        object.metadata.resource_version = Some(version.to_owned());
        let entry = crate::stores::secret::secret(object);
        stores.secrets.put(entry.and_then(|seen| seen.known(&stores.dictionaries).ok()).unwrap());
    }

    #[test]
    fn nothing_is_decided_on_a_store_that_is_older_than_our_own_write() {
        let (expected, stores) = (Expected::default(), Stores::default());
        let now = Instant::now();
        let (item, place) = (Item::Release, Place::new("n", "a"));
        stored(&stores, "6");
        expected.note(&item, Written::Secret(place.clone()), Some("7"));
        assert!(expected.awaits(&item, &stores, now));
        assert!(!expected.awaits(&Item::Environment(place.clone()), &stores, now), "another object");
        stored(&stores, "10");
        assert!(!expected.awaits(&item, &stores, now), "numbers, not texts");
        expected.note(&item, Written::Secret(place), Some("11"));
        let later = Instant::now() + PATIENCE;
        assert!(!expected.awaits(&item, &stores, later), "it was deleted before anybody saw it");
    }

    #[test]
    fn waits_grow_with_each_failure_until_one_success() {
        let (failures, entropy, item) = (Failures::default(), Entropy::seeded(1), Item::Release);
        let waits: Vec<_> = (0..12).map(|_| failures.failed(&item, &entropy)).collect();
        assert!(waits[0] < Duration::from_millis(201) && waits[11] > Duration::from_secs(100));
        failures.succeeded(&item);
        assert!(failures.failed(&item, &entropy) < Duration::from_millis(201));
    }
}
