//! The control plane: `/v1`, the audit chain, and the snapshots that rule the data planes.
//!
//! Every request that is not a live query ends here; a query passes through on its way to its
//! environment's data plane, unparsed. PostgreSQL is the one store; a room owns its tables.
//!
//! This file is the only place that starts things.
#![forbid(unsafe_code)]

pub mod abac_policies;
pub mod agent_capabilities;
pub mod agent_memory;
pub mod agent_tools;
pub mod agents;
pub mod api_keys;
pub mod archive;
pub mod audit;
pub mod authentication;
pub mod billing;
pub mod branches;
mod config;
pub mod credits;
pub mod dashboard;
pub mod environments;
mod error;
pub mod events;
pub mod federation;
pub mod governance;
pub mod grpc;
mod health;
pub mod http;
pub mod identity;
pub mod jit_access;
pub mod jobs;
pub mod kubernetes;
pub mod mails;
pub mod metrics;
pub mod organizations;
pub mod policies;
pub mod process;
pub mod provisioner;
pub mod publisher;
pub mod query;
pub mod reference;
pub mod resources;
pub mod rooms;
pub mod runtime;
pub mod shadow_mode;
mod slug;
pub mod tenants;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod triggers;
pub mod users;
pub mod webhooks;
#[cfg(test)]
mod worlds;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use contract::{Entropy, Keyring, SharedClock, Timestamp};
use sqlx::PgPool;
use sqlx::migrate::Migrator;
use sqlx::postgres::PgPoolOptions;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::archive::Archive;
use crate::authentication::api_key::KeyMemory;
use crate::authentication::issuers::Issuers;
use crate::authentication::slow_hash::SlowHash;
use crate::authentication::tokens::Tokens;
use crate::events::heads::HeadKey;
use crate::events::stream::Streams;
use crate::http::rate_limit::RateLimits;
use crate::identity::{Current, Followed, Pems};
use crate::mails::Postman;
use crate::metrics::Metrics;
use crate::provisioner::Provisioner;
use crate::publisher::Publisher;
use crate::query::DataPlanes;
use crate::resources::Resources;
use crate::slug::Slugs;
use crate::webhooks::Courier;

pub use crate::config::Config;
pub use crate::error::{Error, OnConstraint, Result};

/// The schema, one file a room.
pub static MIGRATIONS: Migrator = sqlx::migrate!();

/// What a control plane is given besides its settings.
#[derive(Debug, Clone)]
pub struct Parts {
    pub clock: SharedClock,
    pub entropy: Entropy,
    pub provisioner: Arc<dyn Provisioner>,
    /// What data planes know us by; without it there are none to talk to.
    pub identity: Option<Pems>,
    /// The dashboard, where this program was built with it.
    pub dashboard: Option<dashboard::Files>,
    pub shutdown: CancellationToken,
}

/// Everything a room may use.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    config: Config,
    parts: Parts,
    pool: PgPool,
    tasks: TaskTracker,
    slow_hash: SlowHash,
    tokens: Tokens,
    limits: RateLimits,
    key_memory: KeyMemory,
    publisher: Arc<Publisher>,
    courier: Courier,
    work_waits: Notify,
    streams: Streams,
    archive: Option<Archive>,
    head_key: HeadKey,
    postman: Option<Postman>,
    issuers: Issuers,
    identity: Option<Arc<Current>>,
    data_planes: Option<DataPlanes>,
    metrics: Metrics,
    started_at: Timestamp,
}

impl App {
    /// Over a database that is migrated.
    pub fn new(config: Config, parts: Parts, pool: PgPool) -> Result<Self> {
        let tasks = TaskTracker::new();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let tokens = Tokens::new(&config).map_err(Error::internal)?;
        let limits = RateLimits::new(&parts.clock, &config);
        let identity = parts.identity.as_ref().map(Current::new).transpose().map_err(Error::internal)?.map(Arc::new);
        Ok(Self(Arc::new(Inner {
            key_memory: KeyMemory::new(&parts.entropy),
            streams: Streams::default(),
            courier: Courier::new(config.webhook_loopback)?,
            work_waits: Notify::new(),
            archive: config.audit_store.as_deref().map(Archive::open).transpose().map_err(Error::internal)?,
            head_key: HeadKey::new(&config).map_err(Error::internal)?,
            issuers: Issuers::new(config.webhook_loopback)?,
            postman: Postman::of(&config).map_err(Error::internal)?,
            publisher: Arc::new(Publisher::new(pool.clone(), config.secret_key.clone())),
            data_planes: identity.clone().map(DataPlanes::new),
            identity,
            started_at: parts.clock.now(),
            metrics: Metrics::default(),
            slow_hash: SlowHash::new(cores, tasks.clone()),
            tokens,
            limits,
            tasks,
            pool,
            config,
            parts,
        })))
    }

    pub fn pool(&self) -> &PgPool {
        &self.0.pool
    }

    pub fn clock(&self) -> &SharedClock {
        &self.0.parts.clock
    }

    pub fn now(&self) -> Timestamp {
        self.0.parts.clock.now()
    }

    pub fn entropy(&self) -> &Entropy {
        &self.0.parts.entropy
    }

    pub fn keyring(&self) -> &Keyring {
        &self.0.config.secret_key
    }

    pub fn config(&self) -> &Config {
        &self.0.config
    }

    pub fn provisioner(&self) -> &dyn Provisioner {
        self.0.parts.provisioner.as_ref()
    }

    /// Whoever writes resources, where there are any.
    pub fn resources(&self) -> Option<&dyn Resources> {
        self.provisioner().resources()
    }

    /// The rule for slugs.
    pub(crate) fn slugs(&self) -> Slugs {
        if self.resources().is_some() { Slugs::OfResources } else { Slugs::OfRows }
    }

    /// The files of the dashboard, if this program has it.
    pub fn dashboard(&self) -> Option<dashboard::Files> {
        self.0.parts.dashboard
    }

    /// Every task that outlives its request is spawned here, so that shutdown can wait for it.
    pub fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
    }

    pub fn shutdown(&self) -> &CancellationToken {
        &self.0.parts.shutdown
    }

    pub fn slow_hash(&self) -> &SlowHash {
        &self.0.slow_hash
    }

    pub fn tokens(&self) -> &Tokens {
        &self.0.tokens
    }

    pub fn limits(&self) -> &RateLimits {
        &self.0.limits
    }

    pub fn key_memory(&self) -> &KeyMemory {
        &self.0.key_memory
    }

    pub fn publisher(&self) -> &Arc<Publisher> {
        &self.0.publisher
    }

    /// Whoever brings webhook deliveries to their receivers.
    pub fn courier(&self) -> &Courier {
        &self.0.courier
    }

    /// Rung when there is a task that can be taken, for whoever waits for one.
    pub fn work_waits(&self) -> &Notify {
        &self.0.work_waits
    }

    /// Whoever follows events here.
    pub fn streams(&self) -> &Streams {
        &self.0.streams
    }

    /// Where exports and signed heads go, if anywhere.
    pub fn archive(&self) -> Option<&Archive> {
        self.0.archive.as_ref()
    }

    /// The key that signs heads of audit chains.
    pub fn head_key(&self) -> &HeadKey {
        &self.0.head_key
    }

    /// Whoever brings mail out; none where no mail leaves.
    pub fn postman(&self) -> Option<&Postman> {
        self.0.postman.as_ref()
    }

    /// The OpenID providers that organizations have named.
    pub fn issuers(&self) -> &Issuers {
        &self.0.issuers
    }

    /// The ways to data planes; none without an identity that they know.
    pub fn data_planes(&self) -> Result<&DataPlanes> {
        self.0.data_planes.as_ref().ok_or(Error::ProxyUnreachable)
    }

    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub fn started_at(&self) -> Timestamp {
        self.0.started_at
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("App")
    }
}

/// A control plane that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the database cannot be reached: {0}")]
    Database(#[from] sqlx::Error),
    #[error("the database cannot be migrated: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    #[error("cannot listen: {0}")]
    Listen(#[from] std::io::Error),
    #[error(transparent)]
    App(#[from] Error),
}

/// A control plane that serves.
#[derive(Debug)]
pub struct Running {
    pub app: App,
    pub http: SocketAddr,
    /// Where it tells what it measures.
    pub metrics: SocketAddr,
    /// Where data planes are served, if there is an identity to serve them under.
    pub grpc: Option<SocketAddr>,
}

/// Brings a database to this version's schema. Under an advisory lock, which sqlx takes: of several
/// replicas that start at once one migrates, and the others wait for it.
pub async fn migrate(database_url: &str) -> Result<(), StartError> {
    let pool = PgPoolOptions::new().max_connections(1).connect(database_url).await?;
    Ok(MIGRATIONS.run(&pool).await?)
}

/// A control plane that serves nobody: for a command that does one thing and ends.
pub async fn open(config: Config, parts: Parts) -> Result<App, StartError> {
    let pool = PgPoolOptions::new()
        .max_connections(2)
        .acquire_timeout(config.acquire_timeout())
        .connect(config.database_url.expose())
        .await?;
    Ok(App::new(config, parts, pool)?)
}

/// Connects, migrates, and serves until `parts.shutdown` is cancelled.
pub async fn start(config: Config, parts: Parts) -> Result<Running, StartError> {
    let pool = PgPoolOptions::new()
        .max_connections(config.database_max_connections)
        .min_connections(config.database_min_connections)
        .acquire_timeout(config.acquire_timeout())
        .idle_timeout(config.idle_timeout())
        .connect(config.database_url.expose())
        .await?;
    MIGRATIONS.run(&pool).await?;
    let listener = TcpListener::bind(config.http_listen).await?;
    let http = listener.local_addr()?;
    let scraped = TcpListener::bind(config.metrics_listen).await?;
    let metrics = scraped.local_addr()?;
    let grpc_listen = config.grpc_listen;
    let app = App::new(config, parts, pool)?;
    app.tasks().spawn({
        let app = app.clone();
        async move { app.publisher().run(app.shutdown().clone()).await }
    });
    app.tasks().spawn({
        let app = app.clone();
        async move {
            if let Some(resources) = app.resources() {
                resources.follow(&app).await;
            }
        }
    });
    let grpc = match &app.0.identity {
        Some(identity) => Some(serve_data_planes(&app, grpc_listen, Arc::clone(identity)).await?),
        None => None,
    };
    app.tasks().spawn(http::serve::serve(listener, http::router(&app), app.shutdown().clone()));
    app.tasks().spawn(http::serve::serve(scraped, metrics::router(&app), app.shutdown().clone()));
    jobs::schedule(&app).await?;
    for lane in jobs::Lane::ALL {
        app.tasks().spawn(jobs::work(app.clone(), lane));
    }
    app.tasks().spawn(webhooks::work(app.clone()));
    app.tasks().spawn(events::stream::work(app.clone()));
    app.tasks().spawn(shadow_mode::work(app.clone()));
    app.tasks().spawn(mails::work(app.clone()));
    tracing::info!(http.listen = %http, metrics.listen = %metrics, "serving");
    Ok(Running { app, http, metrics, grpc })
}

async fn serve_data_planes(app: &App, listen: SocketAddr, identity: Arc<Current>) -> Result<SocketAddr, StartError> {
    let listener = TcpListener::bind(listen).await?;
    let address = listener.local_addr()?;
    let (serving, served) = (app.clone(), Arc::clone(&identity));
    app.tasks().spawn(async move {
        if let Err(error) = grpc::serve(serving, listener, served).await {
            tracing::error!(error = %error, "data planes are no longer served");
        }
    });
    if let (Some(files), Some(held)) = (app.config().identity(), app.0.parts.identity.clone()) {
        app.tasks().spawn(Followed::new(files, held, identity).run(app.shutdown().clone()));
    }
    Ok(address)
}

impl Running {
    /// Waits until every request and every task has ended; something else cancels the token.
    pub async fn drained(self) {
        self.app.shutdown().cancelled().await;
        self.app.tasks().close();
        self.app.tasks().wait().await;
        self.app.pool().close().await;
    }

    /// Serves until SIGINT or SIGTERM, then drains.
    pub async fn until_signal(self, shutdown: CancellationToken) -> std::io::Result<()> {
        let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted?,
            _ = terminated.recv() => {}
            () = shutdown.cancelled() => {}
        }
        shutdown.cancel();
        self.drained().await;
        Ok(())
    }
}
