//! Starts and stops one data plane: the only place that starts things.
//!
//! Stopping goes from the outside in: no new queries, running ones finish, the doors close, the
//! engine checkpoints, and the last entries of the log are shipped.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{EngineSettings, Settings};
use crate::doors::tls::{self, TlsError};
use crate::doors::{pgwire, probes, rest};
use crate::governance::disk::{Disk, private_folder};
use crate::governance::follow::Follower;
use crate::governance::link::Link;
use crate::governance::report::Log;
use crate::governance::{Source, ship};
use crate::pipeline::{Gate, Purse, Remembered};
use crate::sessions::Snapshots;
use crate::{Pipeline, Sessions};

/// Between two attempts to start the engine.
const ENGINE_RETRY: Duration = Duration::from_secs(1);
/// Address space is not memory: libraries and maps take gigabytes of it.
const ADDRESS_SPACE_EXTRA_BYTES: u64 = 16 << 30;

/// The query proxy of one environment.
#[derive(Debug)]
pub struct DataPlane;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("a file or a listener: {0}")]
    Io(#[from] std::io::Error),
    #[error("the identity towards the control plane: {0}")]
    Link(#[from] tonic::transport::Error),
    #[error("the listeners' TLS: {0}")]
    Tls(#[from] TlsError),
    #[error("trusting local callers needs every listener on loopback")]
    TrustBeyondLoopback,
    #[error("the PostgreSQL wire needs a certificate where it is not local")]
    NoCertificate,
}

/// A data plane that runs.
#[derive(Debug)]
pub struct Running {
    pub pgwire: SocketAddr,
    pub rest: SocketAddr,
    pub probes: SocketAddr,
    pub pipeline: Arc<Pipeline>,
    pub sessions: Sessions,
    vitals: probes::Vitals,
    ended: TaskTracker,
}

impl Running {
    /// Waits until queries can be answered.
    pub async fn ready(&self) {
        let (mut engine, mut source) = (self.vitals.engine.clone(), self.vitals.source.clone());
        while !self.vitals.ready() {
            let changed = tokio::select! {
                changed = engine.changed() => changed,
                changed = source.changed() => changed,
                () = self.vitals.shutdown.cancelled() => return,
            };
            if changed.is_err() {
                return;
            }
        }
    }

    /// Where the rules come from now.
    pub fn source(&self) -> Source {
        *self.vitals.source.borrow()
    }

    /// Waits until everything has stopped, after the token given to `start` was cancelled.
    pub async fn stopped(&self) {
        self.ended.wait().await;
    }
}

impl DataPlane {
    /// Binds the listeners and starts everything; returns before the engine is ready.
    pub async fn start(settings: Settings, shutdown: CancellationToken) -> Result<Running, StartError> {
        permitted(&settings)?;
        private_folder(&settings.state)?;
        let doors = Doors::bind(&settings).await?;
        let probing = TcpListener::bind(settings.listeners.probes).await?;
        let log = Arc::new(Log::open(&settings.state.join("report"), &settings.clock, &settings.entropy)?);
        let link = Link::new(&settings.control_plane, &settings.identity)?;
        let follower = Follower::new(settings.env_id.clone(), Disk::new(&settings.state));
        let (snapshots, source) = (follower.snapshots(), follower.source());
        let (started, engine) = watch::channel(None);
        let pipeline = Arc::new(Pipeline {
            snapshots: snapshots.clone(),
            engine: engine.clone(),
            gate: Gate::new(settings.max_concurrent_queries),
            purse: Purse::new(Some((link.clone(), log.id().to_owned()))),
            log: Arc::clone(&log),
            remembered: Remembered::default(),
            clock: settings.clock.clone(),
            entropy: settings.entropy.clone(),
            shutdown: shutdown.clone(),
        });
        let sessions = Sessions::new(snapshots.clone(), settings.clock.clone(), &settings.entropy);
        let vitals = probes::Vitals { began: Instant::now(), engine, source, shutdown: shutdown.clone() };
        let running = Running {
            pgwire: doors.pgwire.local_addr()?,
            rest: doors.rest.local_addr()?,
            probes: probing.local_addr()?,
            pipeline: Arc::clone(&pipeline),
            sessions: sessions.clone(),
            vitals: vitals.clone(),
            ended: TaskTracker::new(),
        };
        let engines = engines(settings.engine.clone(), &settings, snapshots, started);
        let closing = CancellationToken::new();
        let background = TaskTracker::new();
        background.spawn(follower.run(link.clone(), closing.clone()));
        background.spawn(pipeline.purse.clone().keep(closing.clone()));
        background.spawn({
            let (log, closing) = (Arc::clone(&log), closing.clone());
            async move { log.flush(closing).await }
        });
        background.spawn(ship::run(log, link, closing.clone()));
        background.spawn(probes::serve(probing, vitals, closing.clone()));
        let starting = background.spawn(engines);
        background.close();
        let drain = settings.drain;
        let serving = doors.serve(settings, &pipeline, sessions, &shutdown);
        running.ended.spawn(async move {
            shutdown.cancelled().await;
            if tokio::time::timeout(drain, serving.wait()).await.is_err() {
                tracing::warn!("queries still ran when the time to stop was over");
            }
            starting.abort();
            let engine = pipeline.engine.borrow().clone();
            if let Some(engine) = engine {
                engine.stop().await;
            }
            closing.cancel();
            background.wait().await;
        });
        running.ended.close();
        Ok(running)
    }
}

/// What would let somebody in who should not be.
fn permitted(settings: &Settings) -> Result<(), StartError> {
    if settings.local_trust.is_some() && !settings.listeners.all_on_loopback() {
        return Err(StartError::TrustBeyondLoopback);
    }
    if settings.pg_tls.is_none() && !settings.local {
        return Err(StartError::NoCertificate);
    }
    Ok(())
}

struct Doors {
    pgwire: TcpListener,
    rest: TcpListener,
    rest_tls: Arc<rustls::ServerConfig>,
    pg_tls: Option<Arc<rustls::ServerConfig>>,
}

impl Doors {
    /// Opens REST and the PostgreSQL wire; the tracker is empty when their last query has ended.
    fn serve(
        self,
        settings: Settings,
        pipeline: &Arc<Pipeline>,
        sessions: Sessions,
        shutdown: &CancellationToken,
    ) -> TaskTracker {
        let serving = TaskTracker::new();
        let door = rest::Door { env_id: settings.env_id, pipeline: Arc::clone(pipeline) };
        serving.spawn(rest::serve(self.rest, self.rest_tls, door, serving.clone(), shutdown.clone()));
        let door = pgwire::Door {
            pipeline: Arc::clone(pipeline),
            sessions,
            tls: self.pg_tls,
            local: settings.local,
            local_trust: settings.local_trust,
        };
        serving.spawn(pgwire::serve(self.pgwire, door, serving.clone(), shutdown.clone()));
        serving.close();
        serving
    }

    async fn bind(settings: &Settings) -> Result<Self, StartError> {
        let pg_tls = settings.pg_tls.as_ref().map(|pg| tls::plain(&pg.cert_pem, pg.key_pem.expose())).transpose()?;
        Ok(Self {
            pgwire: TcpListener::bind(settings.listeners.pgwire).await?,
            rest: TcpListener::bind(settings.listeners.rest).await?,
            rest_tls: tls::mutual(&settings.identity, &rest::PROTOCOLS)?,
            pg_tls,
        })
    }
}

/// Starts the engine once the first snapshot has brought its mask key, and again should that key
/// ever change: hashes under another key would not be those the policies promise.
fn engines(
    engine: EngineSettings,
    settings: &Settings,
    mut snapshots: Snapshots,
    slot: watch::Sender<Option<engine::Engine>>,
) -> impl Future<Output = ()> + use<> {
    let run = settings.state.join("run");
    let sessions_max = settings.max_concurrent_queries.saturating_mul(2).saturating_add(64);
    let sessions_max = u16::try_from(sessions_max).unwrap_or(u16::MAX);
    async move {
        let mut current = None;
        loop {
            let mask_key = snapshots.borrow_and_update().as_ref().map(|rules| rules.mask_key);
            if let Some(key) = mask_key
                && current != mask_key
            {
                let stopped = slot.send_replace(None);
                if let Some(stopped) = stopped {
                    stopped.stop().await;
                }
                let config = engine::Config {
                    program: engine.program.clone(),
                    arguments: engine.arguments.clone(),
                    data: engine.data.clone(),
                    run: run.clone(),
                    memory_limit_bytes: engine.memory_limit_bytes,
                    temp_limit_bytes: engine.temp_limit_bytes,
                    threads: engine.threads,
                    address_space_bytes: engine
                        .memory_limit_bytes
                        .saturating_mul(4)
                        .saturating_add(ADDRESS_SPACE_EXTRA_BYTES),
                    sessions_max,
                    mask_key: key.0,
                };
                match engine::Engine::start(config).await {
                    Ok(started) => {
                        slot.send_replace(Some(started));
                        current = mask_key;
                    }
                    Err(error) => {
                        tracing::error!(kind = ?error.kind, message = error.message, "the engine did not start");
                        tokio::time::sleep(ENGINE_RETRY).await;
                        continue;
                    }
                }
            }
            if snapshots.changed().await.is_err() {
                return;
            }
        }
    }
}
