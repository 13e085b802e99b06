//! Makes data planes learn: a change commits, its trigger notifies, and this sends one whole new
//! snapshot to whoever follows that environment.
//!
//! A notification is a hint, never the news itself: what is sent is always read from the database,
//! and versions only grow. A hint that is lost (the listening connection broke) is made good by
//! comparing versions every [`SWEEP`].

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::{EnvId, Governance, Keyring};
use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{Result, environments, governance};

/// How often versions are compared with the database.
const SWEEP: Duration = Duration::from_secs(1);
/// How long the answer to a change waits for the data plane it concerns.
const IN_FORCE_WITHIN: Duration = Duration::from_millis(250);
/// Environments that are read again in one go after a burst of notifications.
const BURST_MAX: usize = 256;

type Channel = watch::Sender<Arc<Governance>>;

pub struct Publisher {
    pool: PgPool,
    keyring: Keyring,
    channels: Mutex<HashMap<EnvId, Channel>>,
    attached: Mutex<HashMap<EnvId, Attached>>,
    streams: AtomicU64,
}

/// The data planes of one environment that follow here: its own, and while one takes over from
/// another both of them.
#[derive(Default)]
struct Attached {
    streams: Vec<Following>,
    /// What each of them rules by, at least.
    applied: watch::Sender<u64>,
}

/// One stream of snapshots, the connection it came by, and the version that was said to rule there.
struct Following {
    number: u64,
    peer: SocketAddr,
    applied: u64,
}

impl Attached {
    fn tell(&self) {
        let least = self.streams.iter().map(|stream| stream.applied).min().unwrap_or_default();
        self.applied.send_if_modified(|held| std::mem::replace(held, least) != least);
    }
}

/// Counts one stream of snapshots until it is dropped.
pub struct Stream {
    publisher: Arc<Publisher>,
    env_id: EnvId,
    number: u64,
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut attached = self.publisher.attached();
        if let Some(entry) = attached.get_mut(&self.env_id) {
            entry.streams.retain(|stream| stream.number != self.number);
            entry.tell();
            if entry.streams.is_empty() {
                attached.remove(&self.env_id);
            }
        }
    }
}

impl Publisher {
    pub fn new(pool: PgPool, keyring: Keyring) -> Self {
        Self { pool, keyring, channels: Mutex::default(), attached: Mutex::default(), streams: AtomicU64::new(0) }
    }

    /// The environment's snapshots from now on, the present one first. Absent environment: `None`.
    pub async fn follow(&self, env_id: &EnvId) -> Result<Option<watch::Receiver<Arc<Governance>>>> {
        // Listed before it is read, so that a change between the two is not missed.
        if let Some(receiver) = self.subscribe(env_id) {
            self.refresh(env_id).await?;
            return Ok(Some(receiver));
        }
        let Some(governance) = governance::load(&self.pool, &self.keyring, env_id).await? else {
            return Ok(None);
        };
        let receiver = self.open(env_id, governance);
        self.refresh(env_id).await?;
        Ok(Some(receiver))
    }

    /// From now on changes of this environment are waited for, as long as the stream lives. Who
    /// follows comes from `peer`, and rules by `have`.
    pub fn attach(self: &Arc<Self>, env_id: &EnvId, peer: SocketAddr, have: u64) -> Stream {
        let number = self.streams.fetch_add(1, Ordering::Relaxed);
        let mut attached = self.attached();
        let entry = attached.entry(env_id.clone()).or_default();
        entry.streams.push(Following { number, peer, applied: have });
        entry.tell();
        Stream { publisher: Arc::clone(self), env_id: env_id.clone(), number }
    }

    /// The data plane that follows from `peer` rules by this version.
    pub fn applied(&self, env_id: &EnvId, peer: SocketAddr, version: u64) {
        if let Some(entry) = self.attached().get_mut(env_id) {
            for stream in entry.streams.iter_mut().filter(|stream| stream.peer == peer) {
                stream.applied = version.max(stream.applied);
            }
            entry.tell();
        }
    }

    /// Waits until every data plane that follows here rules by `version`, a moment at most: one that
    /// is away or slow learns of the change when it can, and is not waited for.
    pub async fn in_force(&self, env_id: &EnvId, version: u64) {
        let applied = self.attached().get(env_id).map(|entry| entry.applied.subscribe());
        if let Some(mut applied) = applied {
            let _ = tokio::time::timeout(IN_FORCE_WITHIN, applied.wait_for(|applied| *applied >= version)).await;
        }
    }

    /// Publishes until `shutdown`.
    pub async fn run(&self, shutdown: CancellationToken) {
        while !shutdown.is_cancelled() {
            let stopped = shutdown.run_until_cancelled(self.listen()).await;
            if let Some(Err(error)) = stopped {
                tracing::warn!(error = %error, "the publisher lost its database connection: it tries again");
            }
            shutdown.run_until_cancelled(tokio::time::sleep(SWEEP)).await;
        }
    }

    async fn listen(&self) -> Result<()> {
        let mut listener = PgListener::connect_with(&self.pool).await?;
        listener.listen("governance").await?;
        loop {
            // A timeout is the sweep's turn; `None` is a connection that was lost and made again.
            match tokio::time::timeout(SWEEP, listener.try_recv()).await {
                Ok(Ok(Some(first))) => {
                    let mut changed = BTreeSet::from([EnvId::from(first.payload())]);
                    while changed.len() < BURST_MAX
                        && let Some(next) = listener.next_buffered()
                    {
                        changed.insert(EnvId::from(next.payload()));
                    }
                    for env_id in changed.iter().filter(|env_id| self.is_followed(env_id)) {
                        self.refresh(env_id).await?;
                    }
                }
                Ok(Err(error)) => return Err(error.into()),
                Ok(Ok(None)) | Err(_) => self.sweep().await?,
            }
        }
    }

    /// Reads again whatever has a newer version in the database, and forgets what nobody follows.
    async fn sweep(&self) -> Result<()> {
        let held: HashMap<EnvId, u64> = {
            let mut channels = self.locked();
            channels.retain(|_, channel| channel.receiver_count() > 0);
            channels.iter().map(|(env_id, channel)| (env_id.clone(), channel.borrow().version)).collect()
        };
        if held.is_empty() {
            return Ok(());
        }
        let ids: Vec<EnvId> = held.keys().cloned().collect();
        for (env_id, version) in environments::versions(&self.pool, &ids).await? {
            if held.get(&env_id).is_some_and(|held| *held < version) {
                self.refresh(&env_id).await?;
            }
        }
        Ok(())
    }

    async fn refresh(&self, env_id: &EnvId) -> Result<()> {
        if let Some(governance) = governance::load(&self.pool, &self.keyring, env_id).await? {
            self.send(env_id, governance);
        }
        Ok(())
    }

    fn send(&self, env_id: &EnvId, governance: Governance) {
        if let Some(channel) = self.locked().get(env_id) {
            channel.send_if_modified(|held| {
                let is_news = governance.version > held.version;
                if is_news {
                    *held = Arc::new(governance);
                }
                is_news
            });
        }
    }

    fn subscribe(&self, env_id: &EnvId) -> Option<watch::Receiver<Arc<Governance>>> {
        self.locked().get(env_id).map(watch::Sender::subscribe)
    }

    fn open(&self, env_id: &EnvId, governance: Governance) -> watch::Receiver<Arc<Governance>> {
        let mut channels = self.locked();
        let channel = channels.entry(env_id.clone()).or_insert_with(|| watch::Sender::new(Arc::new(governance)));
        channel.subscribe()
    }

    fn is_followed(&self, env_id: &EnvId) -> bool {
        self.locked().contains_key(env_id)
    }

    fn attached(&self) -> std::sync::MutexGuard<'_, HashMap<EnvId, Attached>> {
        self.attached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<EnvId, Channel>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_change_is_in_force_when_all_who_follow_have_applied_it() {
        let pool = PgPool::connect_lazy("postgresql://nobody@localhost/none").unwrap();
        let publisher = Arc::new(Publisher::new(pool, Keyring::new([7; 32])));
        let env_id = EnvId::from("e");
        let [old, parked] = ["10.0.0.1:1", "10.0.0.2:1"].map(|peer| peer.parse::<SocketAddr>().unwrap());
        let is_in_force = || publisher.in_force(&env_id, 5).now_or_never().is_some();
        assert!(is_in_force(), "nobody follows: nobody is waited for");
        let _first = publisher.attach(&env_id, old, 4);
        let second = publisher.attach(&env_id, parked, 4);
        publisher.applied(&env_id, parked, 5);
        assert!(!is_in_force(), "the old one still rules by the rules before");
        publisher.applied(&env_id, old, 5);
        publisher.applied(&env_id, old, 3);
        assert!(is_in_force(), "a late word of an older version takes nothing back");
        let third = publisher.attach(&env_id, parked, 2);
        assert!(!is_in_force());
        drop((second, third));
        assert!(is_in_force(), "who is gone is not waited for");
    }
}
