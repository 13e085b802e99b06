//! Whom a change is waited for: the data planes that follow here, and those that follow another
//! replica, of which that replica tells.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contract::EnvId;
use tokio::sync::{Notify, watch};

/// How long the answer to a change waits for the data planes it concerns.
const IN_FORCE_WITHIN: Duration = Duration::from_millis(250);

/// All of them, by environment.
#[derive(Default)]
pub struct Attached {
    environments: Mutex<HashMap<EnvId, Followers>>,
    streams: AtomicU64,
    /// Environments of which other replicas have not been told how they stand here.
    untold: Mutex<BTreeSet<EnvId>>,
    moved: Notify,
}

/// The data planes of one environment: its own, and while one takes over from another both of them.
#[derive(Default)]
struct Followers {
    here: Vec<AttachedStream>,
    /// What those who follow another replica rule by, at least.
    elsewhere: HashMap<String, u64>,
    /// What all of them rule by, at least.
    applied: watch::Sender<u64>,
}

/// One stream of snapshots, the connection it came by, and the version that was said to rule there.
struct AttachedStream {
    number: u64,
    peer: SocketAddr,
    applied: u64,
}

impl Followers {
    fn least_here(&self) -> Option<u64> {
        self.here.iter().map(|stream| stream.applied).min()
    }

    fn tell(&self) {
        let least = self.least_here().into_iter().chain(self.elsewhere.values().copied()).min().unwrap_or_default();
        self.applied.send_if_modified(|held| std::mem::replace(held, least) != least);
    }

    fn are_gone(&self) -> bool {
        self.here.is_empty() && self.elsewhere.is_empty()
    }
}

impl Attached {
    /// One more, which rules by `have`; the number that it is detached by.
    pub fn attach(&self, env_id: &EnvId, peer: SocketAddr, have: u64) -> u64 {
        let number = self.streams.fetch_add(1, Ordering::Relaxed);
        self.change(env_id, |followers| followers.here.push(AttachedStream { number, peer, applied: have }));
        number
    }

    pub fn detach(&self, env_id: &EnvId, number: u64) {
        self.change(env_id, |followers| followers.here.retain(|stream| stream.number != number));
    }

    /// Who follows from `peer` rules by this version.
    pub fn applied(&self, env_id: &EnvId, peer: SocketAddr, version: u64) {
        self.change(env_id, |followers| {
            for stream in followers.here.iter_mut().filter(|stream| stream.peer == peer) {
                stream.applied = version.max(stream.applied);
            }
        });
    }

    /// Those who follow that replica rule by `least`; nobody does: `None`.
    pub fn elsewhere(&self, env_id: &EnvId, replica: &str, least: Option<u64>) {
        self.change(env_id, |followers| match least {
            Some(least) => {
                followers.elsewhere.insert(replica.to_owned(), least);
            }
            None => {
                followers.elsewhere.remove(replica);
            }
        });
    }

    /// No data plane follows that replica any more; of none that is known: `None`.
    pub fn left(&self, replica: Option<&str>) {
        self.locked().retain(|_, followers| {
            followers.elsewhere.retain(|known, _| replica.is_some_and(|left| left != known));
            followers.tell();
            !followers.are_gone()
        });
    }

    /// Waits until every data plane that follows here or at another replica rules by `version`, a
    /// moment at most: one that is away or slow learns of the change when it can, and is not waited for.
    /// A replica whose data planes were too slow may have died: it is not waited for again until it says
    /// something.
    pub async fn in_force(&self, env_id: &EnvId, version: u64) {
        let applied = self.locked().get(env_id).map(|followers| followers.applied.subscribe());
        let Some(mut applied) = applied else { return };
        let all = applied.wait_for(|applied| *applied >= version);
        if tokio::time::timeout(IN_FORCE_WITHIN, all).await.is_err() {
            self.change(env_id, |followers| followers.elsewhere.retain(|_, least| *least >= version));
        }
    }

    /// Everything is to be told again.
    pub fn tell_again(&self) {
        let all: Vec<EnvId> = {
            let environments = self.locked();
            environments.iter().filter(|(_, all)| !all.here.is_empty()).map(|(env_id, _)| env_id.clone()).collect()
        };
        self.untold().extend(all);
        self.moved.notify_one();
    }

    /// Up to `max` environments of which others have not been told, once there are any, and what
    /// those who follow here rule by.
    pub async fn news(&self, max: usize) -> Vec<(EnvId, Option<u64>)> {
        loop {
            let told: Vec<EnvId> = {
                let mut untold = self.untold();
                std::iter::from_fn(|| untold.pop_first()).take(max).collect()
            };
            if !told.is_empty() {
                let environments = self.locked();
                let least = |env_id: &EnvId| environments.get(env_id).and_then(Followers::least_here);
                return told.into_iter().map(|env_id| (env_id.clone(), least(&env_id))).collect();
            }
            self.moved.notified().await;
        }
    }

    fn change(&self, env_id: &EnvId, change: impl FnOnce(&mut Followers)) {
        let mut environments = self.locked();
        let followers = environments.entry(env_id.clone()).or_default();
        let before = followers.least_here();
        change(followers);
        followers.tell();
        let is_news = followers.least_here() != before;
        if followers.are_gone() {
            environments.remove(env_id);
        }
        if is_news {
            self.untold().insert(env_id.clone());
            self.moved.notify_one();
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<EnvId, Followers>> {
        self.environments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn untold(&self) -> MutexGuard<'_, BTreeSet<EnvId>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
