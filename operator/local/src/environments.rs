//! The environments of this machine: one data plane each, in this process, with its engine beside.
//!
//! This is the [`Provisioner`] of local mode; in a cluster the operator does the same with pods.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use contract::wire::{TIMEOUT_MS_MAX, Who, environment_name};
use contract::{EnvId, KeyId};
use controlplane::platform::StorageSettings;
use controlplane::platform::identity::Authority;
use controlplane::platform::provisioner::{Placement, Provision, ProvisionError, Provisioner};
use dataplane::governance::link::TlsIdentity;
use dataplane::model::ModelSettings;
use dataplane::server::config::{
    ConnectionTimeouts, EngineSettings, Listeners, PlanBounds, Settings, TOOL_RESULT_BYTES,
};
use dataplane::{DataPlane, Running};
use telemetry::Telemetry;
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::demo;
use crate::platform::Means;
use crate::state::State;

/// Memory that one engine may hold by its own count.
const ENGINE_MEMORY_BYTES: u64 = 4 << 30;
/// What one engine may spill to disk.
const ENGINE_SPILL_BYTES: u64 = 16 << 30;
const CONCURRENT_QUERIES_MAX: usize = 100;
/// What the rules with a new key may take to arrive, on a machine that is busy.
const KNOWN_WITHIN: Duration = Duration::from_secs(30);

/// How the engine's child process is started: the program, and what leads it to `engine::child`.
#[derive(Debug, Clone)]
pub struct EngineProgram {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

/// The demo: the one environment that listens where it was told, and starts with data.
#[derive(Debug, Clone)]
pub struct DemoPlace {
    pub pgwire: SocketAddr,
    pub tools: SocketAddr,
    /// The engine's TPC-H extension; without it the demo starts empty.
    pub extension: Option<PathBuf>,
}

pub struct LocalEnvironments {
    pub state: State,
    pub means: Means,
    telemetry: Telemetry,
    authority: Arc<Authority>,
    demo: DemoPlace,
    model: ModelSettings,
    /// What storage integrations reach.
    storage: StorageSettings,
    shutdown: CancellationToken,
    control_plane: OnceLock<SocketAddr>,
    demo_id: OnceLock<EnvId>,
    trusted: OnceLock<Who>,
    running: Mutex<HashMap<EnvId, Local>>,
}

/// A data plane, and what ends it alone.
struct Local {
    running: Running,
    placement: Placement,
    stop: CancellationToken,
}

contract::opaque!(LocalEnvironments);

impl LocalEnvironments {
    pub fn new(
        state: State,
        means: Means,
        telemetry: Telemetry,
        authority: Arc<Authority>,
        demo: DemoPlace,
        model: ModelSettings,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            state,
            means,
            telemetry,
            authority,
            demo,
            model,
            storage: StorageSettings::default(),
            shutdown,
            control_plane: OnceLock::new(),
            demo_id: OnceLock::new(),
            trusted: OnceLock::new(),
            running: Mutex::default(),
        }
    }

    /// The same, whose storage integrations reach what these settings say.
    #[must_use]
    pub fn reaching(mut self, storage: StorageSettings) -> Self {
        self.storage = storage;
        self
    }

    /// Where data planes find the control plane: known once it listens.
    pub fn control_plane_at(&self, grpc: SocketAddr) {
        let _ = self.control_plane.set(grpc);
    }

    /// Which environment is the demo, and whom it trusts unasked; said before it is provisioned.
    pub fn demo_is(&self, env_id: EnvId, trusted: Option<Who>) {
        let _ = self.demo_id.set(env_id);
        if let Some(who) = trusted {
            let _ = self.trusted.set(who);
        }
    }

    pub fn is_demo(&self, env_id: &EnvId) -> bool {
        self.demo_id.get() == Some(env_id)
    }

    /// Where an environment serves the PostgreSQL wire.
    pub async fn pgwire(&self, env_id: &EnvId) -> Option<SocketAddr> {
        self.running.lock().await.get(env_id).map(|local| local.running.pgwire)
    }

    /// Where an environment serves Arrow and agent tools.
    pub async fn tools(&self, env_id: &EnvId) -> Option<SocketAddr> {
        self.running.lock().await.get(env_id).map(|local| local.running.tools)
    }

    /// Waits until an environment knows a key that was made a moment ago; says whether it does.
    pub async fn knows(&self, env_id: &EnvId, key_id: &KeyId) -> bool {
        let rules = self.running.lock().await.get(env_id).map(|local| local.running.sessions.snapshots());
        let Some(mut rules) = rules else { return false };
        let arrived = rules.wait_for(|rules| rules.as_ref().is_some_and(|rules| rules.key(key_id).is_some()));
        tokio::time::timeout(KNOWN_WITHIN, arrived).await.is_ok_and(|arrived| arrived.is_ok())
    }

    /// Where an environment tells what it measures.
    pub async fn probes(&self, env_id: &EnvId) -> Option<SocketAddr> {
        self.running.lock().await.get(env_id).map(|local| local.running.probes)
    }

    /// Waits until every data plane has drained; the shutdown token was cancelled before.
    pub async fn stopped(&self) {
        let running = std::mem::take(&mut *self.running.lock().await);
        for local in running.into_values() {
            local.running.stopped().await;
        }
    }

    fn settings(&self, env_id: &EnvId, folder: PathBuf) -> Result<Settings, ProvisionError> {
        let control_plane = self.control_plane.get().ok_or_else(|| failed("the control plane does not listen yet"))?;
        let pems = self.authority.issue(&environment_name(env_id)).map_err(failed)?;
        let identity = TlsIdentity { ca_pem: pems.authority, cert_pem: pems.certificate, key_pem: pems.key };
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let demo = self.is_demo(env_id);
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        Ok(Settings {
            env_id: env_id.clone(),
            control_plane: control_plane.to_string(),
            identity,
            reload: None,
            listeners: Listeners {
                pgwire: if demo { self.demo.pgwire } else { any },
                tools: if demo { self.demo.tools } else { any },
                rest: any,
                probes: any,
            },
            engine: EngineSettings {
                program: self.means.engine.program.clone(),
                arguments: self.means.engine.arguments.clone(),
                data: folder.join("data"),
                memory_limit_bytes: ENGINE_MEMORY_BYTES,
                temp_limit_bytes: ENGINE_SPILL_BYTES,
                threads: u16::try_from(threads).unwrap_or(u16::MAX),
            },
            state: folder,
            pg_tls: None,
            local: true,
            local_trust: self.trusted.get().filter(|_| demo).cloned(),
            max_concurrent_queries: CONCURRENT_QUERIES_MAX,
            grace: Duration::ZERO,
            drain: Duration::from_millis(TIMEOUT_MS_MAX),
            connection_timeouts: ConnectionTimeouts::DEFAULT,
            tool_result_bytes: TOOL_RESULT_BYTES,
            plans: PlanBounds::DEFAULT,
            storage_hosts: self.storage.storage_hosts.clone(),
            storage_ambient: self.storage.storage_ambient,
            model: self.model.clone(),
            clock: Arc::clone(&self.means.clock),
            entropy: self.means.entropy.clone(),
            telemetry: self.telemetry.clone(),
        })
    }

    async fn start(&self, environment: &Provision) -> Result<Local, ProvisionError> {
        let folder = self.state.environment(&environment.env_id).map_err(failed)?;
        let settings = self.settings(&environment.env_id, folder)?;
        if let Some(extension) = self.demo.extension.as_deref().filter(|_| self.is_demo(&environment.env_id)) {
            self.fill(&settings.engine.data, extension).await?;
        }
        let stop = self.shutdown.child_token();
        let running = DataPlane::start(settings, stop.clone()).await.map_err(failed)?;
        running.ready().await;
        let placement = Placement {
            internal: running.rest.to_string(),
            pg: (running.pgwire.ip().to_string(), running.pgwire.port()),
            tools: (running.tools.ip().to_string(), running.tools.port()),
            database: environment.slug.clone(),
        };
        Ok(Local { running, placement, stop })
    }

    /// TPC-H, in a process of its own, because the engine that serves loads no extension. Made
    /// beside and renamed: a folder that is there is whole.
    async fn fill(&self, data: &Path, extension: &Path) -> Result<(), ProvisionError> {
        if data.exists() {
            return Ok(());
        }
        let unfinished = data.with_extension("new");
        if unfinished.exists() {
            std::fs::remove_dir_all(&unfinished).map_err(failed)?;
        }
        let ended = Command::new(&self.means.engine.program)
            .arg("seed-tpch")
            .args([unfinished.as_os_str(), extension.as_os_str()])
            .arg(demo::SCALE.to_string())
            .kill_on_drop(true)
            .status()
            .await
            .map_err(failed)?;
        if !ended.success() {
            return Err(failed("TPC-H could not be generated"));
        }
        std::fs::rename(&unfinished, data).map_err(failed)
    }
}

fn failed(why: impl Display) -> ProvisionError {
    ProvisionError::Failed(why.to_string())
}

#[async_trait]
impl Provisioner for LocalEnvironments {
    async fn provision(&self, environment: &Provision) -> Result<Placement, ProvisionError> {
        let mut running = self.running.lock().await;
        if let Some(local) = running.get(&environment.env_id) {
            if !local.stop.is_cancelled() {
                return Ok(local.placement.clone());
            }
            local.running.stopped().await; // its addresses and its folder are free then
        }
        let local = self.start(environment).await?;
        let placement = local.placement.clone();
        running.insert(environment.env_id.clone(), local);
        Ok(placement)
    }

    /// What runs there may end; who resumes it meanwhile waits for that.
    async fn retire(&self, env_id: &EnvId) {
        if let Some(local) = self.running.lock().await.get(env_id) {
            local.stop.cancel();
        }
    }
}
