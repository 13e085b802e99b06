//! The context of a running control plane: everything a handler or a job may use.

use std::sync::Arc;

use contract::key::HashCost;
use contract::{Entropy, Keyring, SharedClock, SqlAnalyzer, Timestamp};
use futures::future::BoxFuture;
use sqlx::{PgConnection, PgPool};
use telemetry::log::Log;
use telemetry::{Telemetry, Tracer};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::archive::Archive;
use crate::crypto::key_memory::KeyMemory;
use crate::crypto::slow_hash::SlowHash;
use crate::crypto::tokens::TokenSigner;
use crate::dashboard;
use crate::dataplane_client::attached::Attached;
use crate::dataplane_client::connections::DataPlanes;
use crate::egress::client::EgressClient;
use crate::events::heads::HeadKey;
use crate::events::streams::Streams;
use crate::events::{ChainEntry, EventType};
use crate::http::rate_limit::RateLimits;
use crate::http::route::Route;
use crate::identity::{Current, Pems};
use crate::mails::MailTransport;
use crate::metrics::Metrics;
use crate::oidc::issuers::Issuers;
use crate::provisioner::Provisioner;
use crate::resources::Resources;
use crate::slug::Slugs;
use crate::{Config, Error, Result};

/// Readings of the runtime's tables at one time; the next ones wait, and leave connections to everybody else.
const READINGS_MAX: usize = 3;
/// Texts that are laid out at one time: each takes a core.
const LAYOUTS_MAX: usize = 2;

/// The parts that a control plane is given besides its settings.
#[derive(Debug, Clone)]
pub struct Parts {
    pub clock: SharedClock,
    pub entropy: Entropy,
    /// What the hashes of passwords and keys cost; no setting lowers it.
    pub hash_cost: HashCost,
    pub provisioner: Arc<dyn Provisioner>,
    /// What data planes know us by; without it there are none to talk to.
    pub identity: Option<Pems>,
    /// The dashboard, where this program was built with it.
    pub dashboard: Option<dashboard::DashboardFiles>,
    pub telemetry: Telemetry,
    /// The compiler of the data planes.
    pub sql: Arc<dyn SqlAnalyzer>,
    pub shutdown: CancellationToken,
}

/// Queues what an event tells its organization's webhooks, in the transaction that recorded the event.
pub type Tell = for<'a> fn(&'a App, &'a mut PgConnection, EventType, &'a ChainEntry) -> BoxFuture<'a, Result<()>>;

/// Functions of the layers above that the platform calls.
#[derive(Debug, Clone, Copy)]
pub struct Callbacks {
    pub tell: Tell,
    /// The rows of the route table.
    pub routes: fn() -> &'static [Route],
}

/// Everything a handler or a job may use.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    config: Config,
    parts: Parts,
    callbacks: Callbacks,
    pool: PgPool,
    tasks: TaskTracker,
    slow_hash: SlowHash,
    tokens: TokenSigner,
    limits: RateLimits,
    key_memory: KeyMemory,
    attached: Arc<Attached>,
    egress: EgressClient,
    work_waits: Notify,
    runtime_readings: Semaphore,
    layouts: Arc<Semaphore>,
    streams: Streams,
    archive: Option<Archive>,
    head_key: HeadKey,
    mail_transport: Option<MailTransport>,
    issuers: Issuers,
    identity: Option<Arc<Current>>,
    data_planes: Option<DataPlanes>,
    metrics: Metrics,
    started_at: Timestamp,
}

impl App {
    /// Over a database that is migrated.
    pub fn new(config: Config, parts: Parts, callbacks: Callbacks, pool: PgPool) -> Result<Self> {
        let tasks = TaskTracker::new();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let tokens = TokenSigner::new(&config).map_err(Error::internal)?;
        let limits = RateLimits::new(&parts.clock, &config);
        let identity = parts.identity.as_ref().map(Current::new).transpose().map_err(Error::internal)?.map(Arc::new);
        Ok(Self(Arc::new(Inner {
            key_memory: KeyMemory::new(&parts.entropy),
            streams: Streams::default(),
            egress: EgressClient::new(config.webhook_loopback)?,
            work_waits: Notify::new(),
            runtime_readings: Semaphore::new(READINGS_MAX),
            layouts: Arc::new(Semaphore::new(LAYOUTS_MAX)),
            archive: config.audit_store.as_deref().map(Archive::open).transpose().map_err(Error::internal)?,
            head_key: HeadKey::new(&config).map_err(Error::internal)?,
            issuers: Issuers::new(config.webhook_loopback)?,
            mail_transport: MailTransport::of(&config).map_err(Error::internal)?,
            attached: Arc::default(),
            data_planes: identity.clone().map(DataPlanes::new),
            identity,
            started_at: parts.clock.now(),
            metrics: Metrics::default(),
            slow_hash: SlowHash::new(cores, parts.hash_cost, tasks.clone()),
            tokens,
            limits,
            tasks,
            pool,
            config,
            parts,
            callbacks,
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

    pub fn callbacks(&self) -> &Callbacks {
        &self.0.callbacks
    }

    /// Whoever writes resources, where there are any.
    pub fn resources(&self) -> Option<&dyn Resources> {
        self.provisioner().resources()
    }

    /// The rule for slugs.
    pub fn slugs(&self) -> Slugs {
        if self.resources().is_some() { Slugs::OfResources } else { Slugs::OfRows }
    }

    /// The compiler of the data planes.
    pub fn sql(&self) -> &dyn SqlAnalyzer {
        self.shared_sql().as_ref()
    }

    /// For a thread of its own.
    pub fn shared_sql(&self) -> &Arc<dyn SqlAnalyzer> {
        &self.0.parts.sql
    }

    /// The files of the dashboard, if this program has it.
    pub fn dashboard(&self) -> Option<dashboard::DashboardFiles> {
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

    pub fn tokens(&self) -> &TokenSigner {
        &self.0.tokens
    }

    pub fn limits(&self) -> &RateLimits {
        &self.0.limits
    }

    pub fn key_memory(&self) -> &KeyMemory {
        &self.0.key_memory
    }

    /// The data planes that follow snapshots, here and at other replicas.
    pub fn attached(&self) -> &Arc<Attached> {
        &self.0.attached
    }

    /// Whoever brings webhook deliveries to their receivers.
    pub fn egress(&self) -> &EgressClient {
        &self.0.egress
    }

    /// Rung when there is a task that can be taken, for whoever waits for one.
    pub fn work_waits(&self) -> &Notify {
        &self.0.work_waits
    }

    /// Places for those who read the runtime's tables for SQL.
    pub fn runtime_readings(&self) -> &Semaphore {
        &self.0.runtime_readings
    }

    /// Places for those who have a text laid out.
    pub fn layouts(&self) -> &Arc<Semaphore> {
        &self.0.layouts
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
    pub(crate) fn head_key(&self) -> &HeadKey {
        &self.0.head_key
    }

    /// Whoever brings mail out; none where no mail leaves.
    pub fn mail_transport(&self) -> Option<&MailTransport> {
        self.0.mail_transport.as_ref()
    }

    /// The OpenID providers that organizations have named.
    pub fn issuers(&self) -> &Issuers {
        &self.0.issuers
    }

    /// What data planes know us by, if anything.
    pub fn identity(&self) -> Option<&Arc<Current>> {
        self.0.identity.as_ref()
    }

    /// What it began as, before it was renewed.
    pub fn given_identity(&self) -> Option<&Pems> {
        self.0.parts.identity.as_ref()
    }

    /// The ways to data planes; none without an identity that they know.
    pub fn data_planes(&self) -> Result<&DataPlanes> {
        self.0.data_planes.as_ref().ok_or(Error::ProxyUnreachable)
    }

    /// Whoever makes spans of what is asked here.
    pub fn tracer(&self) -> &Tracer {
        &self.0.parts.telemetry.tracer
    }

    /// The level of the log, which can be changed while it runs.
    pub fn log(&self) -> Option<&Log> {
        self.0.parts.telemetry.log.as_ref()
    }

    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub fn started_at(&self) -> Timestamp {
        self.0.started_at
    }
}

contract::opaque!(App);
