//! Makes data planes learn: a change commits, its trigger notifies, and this sends one whole new
//! snapshot to whoever follows that environment.
//!
//! A notification is a hint, never the news itself: what is sent is always read from the database,
//! and versions only grow. A hint that is lost (the listening connection broke) is made good by
//! comparing versions every [`SWEEP`].

use std::collections::{BTreeSet, HashMap};
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
/// Environments that are read again in one go after a burst of notifications.
const BURST_MAX: usize = 256;

type Channel = watch::Sender<Arc<Governance>>;

pub struct Publisher {
    pool: PgPool,
    keyring: Keyring,
    channels: Mutex<HashMap<EnvId, Channel>>,
}

impl Publisher {
    pub fn new(pool: PgPool, keyring: Keyring) -> Self {
        Self { pool, keyring, channels: Mutex::default() }
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

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<EnvId, Channel>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
