//! Starts and stops one data plane: the only place that starts things.
//!
//! Starting: the listeners open at once; the folder, and with it the engine, when it is ours. Stopping
//! goes from the outside in (`ending`): no new statements, running ones finish, the last entries of
//! the log are shipped while the engine checkpoints, the folder is let go. A successor that waits
//! finds the log in the folder and ships the rest itself.

mod embedding;
mod engines;
mod owner;
mod sweeping;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agents::branches::Branches;
use crate::agents::memory::{Embedder, Memories};
use crate::agents::reasoning::Thoughts;
use crate::agents::tools::ResultBudget;
use crate::agents::triggers::{self, Triggers};
use crate::governance::RulesSource;
use crate::governance::follow::Follower;
use crate::governance::link::Link;
use crate::governance::registry::Registry;
use crate::governance::sealing::SnapshotSeal;
use crate::governance::sessions::Snapshots;
use crate::governance::vouching::TokenIntrospection;
use crate::metrics::Metrics;
use crate::model::{self, Models};
use crate::pipeline::{Gate, OwnershipState, PipelineCaches, StartupGate, UnreadAnswers, UsageLedger};
use crate::protocols::tls::TlsError;
use crate::protocols::{agents, pgwire, probes, rest};
use crate::server::certificates::{self, ServedCertificates};
use crate::server::config::{Listeners, Settings};
use crate::server::folder_lock::Claim;
use crate::shutdown::Ending;
use crate::storage::branches::OpenBranches;
use crate::storage::stage_files::{ReachableHosts, StageFiles};
use crate::{Pipeline, Sessions};

use engines::Engines;
use owner::{Folder, Owner};

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
    #[error(transparent)]
    Model(#[from] model::Unusable),
    #[error("trusting local callers needs every listener on loopback")]
    TrustBeyondLoopback,
    #[error("the PostgreSQL wire needs a certificate where it is not local")]
    NoCertificate,
}

/// A data plane that runs.
#[derive(Debug)]
pub struct Running {
    pub pgwire: SocketAddr,
    pub tools: SocketAddr,
    pub rest: SocketAddr,
    pub probes: SocketAddr,
    pub pipeline: Arc<Pipeline>,
    pub sessions: Sessions,
    probe_state: probes::ProbeState,
    failed: CancellationToken,
    ended: TaskTracker,
}

impl Running {
    /// Waits until queries may be sent, or until it goes.
    pub async fn ready(&self) {
        self.probe_state.settled().await;
    }

    /// Where the rules come from now.
    pub fn source(&self) -> RulesSource {
        *self.probe_state.source.borrow()
    }

    /// Waits until it stops, because it was told to or because it cannot go on.
    pub async fn leaving(&self) {
        self.probe_state.leaving.cancelled().await;
    }

    /// Did it stop because it could not go on?
    pub fn has_failed(&self) -> bool {
        self.failed.is_cancelled()
    }

    /// Waits until everything has stopped.
    pub async fn stopped(&self) {
        self.ended.wait().await;
    }
}

impl DataPlane {
    /// Binds the listeners and starts everything; returns before the engine is ready.
    pub async fn start(settings: Settings, shutdown: CancellationToken) -> Result<Running, StartError> {
        permitted(&settings)?;
        let listeners = BoundListeners::bind(&settings.listeners).await?;
        let shown = ServedCertificates::new(&settings.identity, settings.pg_tls.as_ref())?;
        let (parts, owner, ledger) = DataPlaneParts::new(&settings, &shutdown)?;
        let running = Running {
            pgwire: listeners.pgwire.local_addr()?,
            tools: listeners.tools.local_addr()?,
            rest: listeners.rest.local_addr()?,
            probes: listeners.probes.local_addr()?,
            pipeline: Arc::clone(&parts.pipeline),
            sessions: parts.sessions.clone(),
            probe_state: parts.probe_state.clone(),
            failed: owner.failed.clone(),
            ended: TaskTracker::new(),
        };
        let owning = parts.background.spawn(owner.run(ledger));
        let (grace, drain) = (settings.grace, settings.drain);
        parts.serve(settings, listeners, shown);
        running.ended.spawn(parts.stop(grace, drain, owning));
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

/// What storage integrations reach.
fn reachable(settings: &Settings) -> ReachableHosts {
    ReachableHosts::new(settings.storage_hosts.iter().cloned()).lending(settings.storage_ambient)
}

fn sessions(settings: &Settings, snapshots: &Snapshots, link: &Link) -> Sessions {
    let vouching = TokenIntrospection::new(link.clone());
    Sessions::asking(snapshots.clone(), Arc::clone(&settings.clock), &settings.entropy, vouching)
}

/// What the probes look at.
fn probe_state(
    engine: &watch::Sender<Option<engine::Engine>>,
    ownership: &watch::Sender<OwnershipState>,
    follower: &Follower,
    ending: &Ending,
) -> probes::ProbeState {
    probes::ProbeState {
        began: Instant::now(),
        engine: engine.subscribe(),
        ownership: ownership.subscribe(),
        source: follower.source(),
        leaving: ending.leaving.clone(),
    }
}

struct BoundListeners {
    pgwire: TcpListener,
    tools: TcpListener,
    rest: TcpListener,
    probes: TcpListener,
}

impl BoundListeners {
    async fn bind(listeners: &Listeners) -> std::io::Result<Self> {
        Ok(Self {
            pgwire: TcpListener::bind(listeners.pgwire).await?,
            tools: TcpListener::bind(listeners.tools).await?,
            rest: TcpListener::bind(listeners.rest).await?,
            probes: TcpListener::bind(listeners.probes).await?,
        })
    }
}

/// The parts of a data plane.
struct DataPlaneParts {
    claim: Arc<Claim>,
    follower: Arc<Follower>,
    link: Link,
    pipeline: Arc<Pipeline>,
    memories: Memories,
    triggers: Triggers,
    sessions: Sessions,
    probe_state: probes::ProbeState,
    ending: Ending,
    keeping: TaskTracker,
    background: TaskTracker,
    closing: CancellationToken,
    handed_over: CancellationToken,
}

impl DataPlaneParts {
    /// Takes the folder and opens it, if nobody has it; nothing runs yet.
    fn new(
        settings: &Settings,
        shutdown: &CancellationToken,
    ) -> Result<(Self, Owner, Option<Arc<UsageLedger>>), StartError> {
        let (claim, metrics) = (Arc::new(Claim::new(&settings.state)?), Metrics::default());
        let models = Models::new(&settings.model, &settings.clock, metrics.model.clone())?;
        let (memories, triggers) = (Memories::embedded_by(Embedder::of(models.embedding)), Triggers::default());
        let link = Link::new(&settings.control_plane, &settings.identity)?;
        let follower = Arc::new(Follower::new(settings.env_id.clone()));
        let folder = Folder {
            state: settings.state.clone(),
            data: settings.engine.data.clone(),
            stage_files: StageFiles::new(settings.state.join("stages")),
            follower: Arc::clone(&follower),
            link: link.clone(),
            clock: Arc::clone(&settings.clock),
            entropy: settings.entropy.clone(),
            seal: SnapshotSeal::new(&settings.identity.key_pem, &settings.entropy),
        };
        let ledger = if claim.try_take()? { Some(folder.open()?) } else { None };
        let ownership =
            watch::Sender::new(if ledger.is_some() { OwnershipState::Opening } else { OwnershipState::Parked });
        let ending = Ending::new(shutdown.child_token());
        let (snapshots, engine) = (follower.snapshots(), watch::Sender::new(None));
        let pipeline = Arc::new(Pipeline {
            snapshots: snapshots.clone(),
            engine: engine.subscribe(),
            startup_gate: StartupGate::new(ownership.subscribe()),
            gate: Gate::new(settings.max_concurrent_queries),
            remembered: PipelineCaches::of(settings.plans),
            catalogue: engines::catalogue(settings),
            runtime: engines::runtime(settings, link.clone()),
            branches: OpenBranches::default(),
            stage_files: folder.stage_files.clone(),
            storage_hosts: reachable(settings),
            observer: Arc::new(triggers.asked.clone()),
            registry: Registry::new(link.clone()),
            healer: models.healing,
            metrics,
            tracer: settings.telemetry.tracer.clone(),
            clock: Arc::clone(&settings.clock),
            entropy: settings.entropy.clone(),
            tasks: ending.tasks(),
            unread_for: crate::pipeline::UNREAD_FOR,
            unread: UnreadAnswers::default(),
            closed: ending.closed.clone(),
        });
        let parts = Self {
            claim: Arc::clone(&claim),
            sessions: sessions(settings, &snapshots, &link),
            probe_state: probe_state(&engine, &ownership, &follower, &ending),
            follower,
            link,
            pipeline,
            memories,
            triggers,
            ending: ending.clone(),
            keeping: TaskTracker::new(),
            background: TaskTracker::new(),
            closing: CancellationToken::new(),
            handed_over: CancellationToken::new(),
        };
        let owner = Owner {
            claim,
            folder,
            ownership,
            engines: Engines::new(settings, snapshots, engine),
            ending,
            failed: CancellationToken::new(),
            keeping: parts.keeping.clone(),
            closing: parts.closing.clone(),
            handed_over: parts.handed_over.clone(),
        };
        Ok((parts, owner, ledger))
    }

    /// Opens the listeners and follows the control plane.
    fn serve(&self, settings: Settings, listeners: BoundListeners, shown: ServedCertificates) {
        let (background, closing) = (&self.background, &self.closing);
        background.spawn(Arc::clone(&self.follower).run(self.link.clone(), closing.clone()));
        let probed = probes::Probed {
            probe_state: self.probe_state.clone(),
            pipeline: Arc::clone(&self.pipeline),
            log: settings.telemetry.log.clone(),
        };
        background.spawn(probes::serve(listeners.probes, probed, closing.clone()));
        let branches = Branches::beside(self.pipeline.branches.clone(), self.memories.clone());
        background.spawn(sweeping::rounds(Arc::clone(&self.pipeline), branches));
        background.spawn(embedding::catch_up(Arc::clone(&self.pipeline), self.memories.clone()));
        background.spawn(triggers::attend(Arc::clone(&self.pipeline), self.triggers.clone()));
        let (memories, thoughts) = (self.memories.clone(), Thoughts::default());
        let limits = settings.connection_timeouts.limits();
        let context = rest::RestContext {
            env_id: settings.env_id,
            pipeline: Arc::clone(&self.pipeline),
            memories: memories.clone(),
            thoughts: thoughts.clone(),
            triggers: self.triggers.clone(),
            ending: self.ending.clone(),
            limits,
        };
        let http =
            probes::routes(self.probe_state.clone()).merge(rest::own_routes(context.clone(), self.sessions.clone()));
        background.spawn(rest::serve(listeners.rest, shown.rest.subscribe(), context));
        let context = agents::AgentsContext {
            pipeline: Arc::clone(&self.pipeline),
            sessions: self.sessions.clone(),
            memories,
            thoughts,
            triggers: self.triggers.clone(),
            ending: self.ending.clone(),
            limits,
            budget: ResultBudget::of(settings.tool_result_bytes),
            probe_state: self.probe_state.clone(),
            local: settings.local,
        };
        background.spawn(agents::serve(listeners.tools, shown.tools.as_ref().map(watch::Sender::subscribe), context));
        let context = pgwire::PgWireContext {
            pipeline: Arc::clone(&self.pipeline),
            sessions: self.sessions.clone(),
            tls: shown.pg.as_ref().map(watch::Sender::subscribe),
            local: settings.local,
            local_trust: settings.local_trust,
            http,
            limits,
        };
        background.spawn(pgwire::serve(listeners.pgwire, context, self.ending.clone()));
        if let Some((files, every)) = settings.reload {
            background.spawn(certificates::follow(files, every, shown, self.link.clone(), closing.clone()));
        }
        background.close();
    }

    /// Ends it all, once it is told to.
    async fn stop(self, grace: Duration, drain: Duration, owning: JoinHandle<()>) {
        self.ending.drain(grace, drain, || self.claim.wanted()).await;
        // An error means that it panicked: then it opens nothing any more either.
        let _ = owning.await;
        if let Some(ledger) = self.pipeline.startup_gate.opened() {
            ledger.log.close();
        }
        self.closing.cancel();
        if self.claim.wanted() {
            self.handed_over.cancel();
        }
        self.keeping.close();
        let engine = self.pipeline.engine.borrow().clone();
        let stopping = async {
            self.pipeline.catalogue.stop().await;
            self.pipeline.runtime.stop().await;
            if let Some(engine) = engine {
                engine.stop().await;
            }
        };
        tokio::join!(stopping, self.keeping.wait());
        self.follower.close();
        self.claim.release();
        tracing::info!("the state folder is let go");
        self.ending.farewell().await;
        self.background.wait().await;
    }
}
