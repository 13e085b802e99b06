//! Makes data planes learn: a change commits, its trigger notifies, and this sends one whole new
//! snapshot to whoever follows that environment.
//!
//! A notification is a hint, never the news itself: what is sent is always read from the database,
//! and versions only grow. A hint that is lost (the listening connection broke) is made good by
//! comparing versions every [`SWEEP`].
//!
//! The answer to a change waits for the data planes that follow here and at other replicas.

mod replicas;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::{EnvId, Governance, Keyring};
use platform::dataplane_client::attached::Attached;
use platform::{App, Result};
use sqlx::PgPool;
use sqlx::postgres::{PgListener, PgNotification};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use replicas::{Replica, ReplicaMessage};

use crate::domain::environments;
use crate::server::snapshots::load;

/// The channel on which the database says which environment has changed.
const GOVERNANCE: &str = "governance";
/// How often versions are compared with the database.
const SWEEP: Duration = Duration::from_secs(1);
/// Environments that are read again in one go after a burst of notifications.
const BURST_MAX: usize = 256;

type Channel = watch::Sender<Arc<Governance>>;

pub struct Publisher {
    pool: PgPool,
    keyring: Keyring,
    channels: Mutex<HashMap<EnvId, Channel>>,
    attached: Arc<Attached>,
    replica: Replica,
}

/// Counts one stream of snapshots until it is dropped.
pub struct Stream {
    publisher: Arc<Publisher>,
    env_id: EnvId,
    number: u64,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.publisher.attached.detach(&self.env_id, self.number);
    }
}

impl Publisher {
    /// Of this process: what it learns of the data planes that follow is seen by whoever waits for a change.
    pub fn of(app: &App) -> Arc<Self> {
        let (pool, keyring, attached) = (app.pool().clone(), app.keyring().clone(), Arc::clone(app.attached()));
        Arc::new(Self::new(pool, keyring, attached, app.entropy().base62(16)))
    }

    /// `name` is this replica's among the others: no two are the same.
    fn new(pool: PgPool, keyring: Keyring, attached: Arc<Attached>, name: String) -> Self {
        let replica = Replica::new(pool.clone(), name);
        Self { pool, keyring, channels: Mutex::default(), attached, replica }
    }

    /// The environment's snapshots from now on, the present one first. Absent environment: `None`.
    pub async fn follow(&self, env_id: &EnvId) -> Result<Option<watch::Receiver<Arc<Governance>>>> {
        // Listed before it is read, so that a change between the two is not missed.
        if let Some(receiver) = self.subscribe(env_id) {
            self.refresh(env_id).await?;
            return Ok(Some(receiver));
        }
        let Some(governance) = load::load(&self.pool, &self.keyring, env_id).await? else {
            return Ok(None);
        };
        let receiver = self.open(env_id, governance);
        self.refresh(env_id).await?;
        Ok(Some(receiver))
    }

    /// From now on changes of this environment are waited for, as long as the stream lives. Who
    /// follows comes from `peer`, and rules by `have`.
    pub fn attach(self: &Arc<Self>, env_id: &EnvId, peer: SocketAddr, have: u64) -> Stream {
        let number = self.attached.attach(env_id, peer, have);
        Stream { publisher: Arc::clone(self), env_id: env_id.clone(), number }
    }

    /// The data plane that follows from `peer` rules by this version.
    pub fn applied(&self, env_id: &EnvId, peer: SocketAddr, version: u64) {
        self.attached.applied(env_id, peer, version);
    }

    /// Publishes until `shutdown`.
    pub async fn run(&self, shutdown: CancellationToken) {
        while !shutdown.is_cancelled() {
            let both = futures::future::try_join(self.listen(), self.replica.tell(&self.attached));
            let stopped: Option<Result<((), ())>> = shutdown.run_until_cancelled(both).await;
            if let Some(Err(error)) = stopped {
                tracing::warn!(error = %error, "the publisher lost its database connection: it tries again");
            }
            shutdown.run_until_cancelled(tokio::time::sleep(SWEEP)).await;
        }
        // Unsaid, the others find out by waiting once.
        let _ = tokio::time::timeout(SWEEP, self.replica.say([ReplicaMessage::Leaves])).await;
    }

    async fn listen(&self) -> Result<()> {
        let mut listener = PgListener::connect_with(&self.pool).await?;
        listener.listen_all([GOVERNANCE, replicas::CHANNEL]).await?;
        self.replica.ask(&self.attached).await?;
        let mut swept = Instant::now();
        loop {
            // A timeout is the sweep's turn; `None` is a connection that was lost and made again.
            match tokio::time::timeout_at(swept + SWEEP, listener.try_recv()).await {
                Ok(Ok(Some(first))) => {
                    let others = std::iter::from_fn(|| listener.next_buffered()).take(BURST_MAX);
                    for env_id in self.heard(std::iter::once(first).chain(others)) {
                        self.refresh(&env_id).await?;
                    }
                }
                Ok(Err(error)) => return Err(error.into()),
                Ok(Ok(None)) => {
                    self.replica.ask(&self.attached).await?;
                    self.sweep().await?;
                }
                Err(_) => {
                    self.sweep().await?;
                    swept = Instant::now();
                }
            }
        }
    }

    /// Hears what other replicas say, and answers which environments that are followed here have changed.
    fn heard(&self, notified: impl Iterator<Item = PgNotification>) -> BTreeSet<EnvId> {
        let mut changed = BTreeSet::new();
        for notification in notified {
            if notification.channel() == replicas::CHANNEL {
                self.replica.hear(&self.attached, notification.payload());
            } else {
                changed.insert(EnvId::from(notification.payload()));
            }
        }
        changed.retain(|env_id| self.is_followed(env_id));
        changed
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
        if let Some(governance) = load::load(&self.pool, &self.keyring, env_id).await? {
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

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<EnvId, Channel>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
