//! The whole platform in this process: `sluice up`, and what the tests stand on.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use contract::key::HashCost;
use contract::wire::{CONTROL_PLANE_NAME, port};
use contract::{Entropy, Redacted, SharedClock, SystemClock};
use controlplane::Parts;
use controlplane::platform::StorageSettings;
use controlplane::platform::dashboard::DashboardFiles;
use controlplane::platform::identity::Authority;
use dataplane::model::ModelSettings;
use telemetry::{Collector, Log, Telemetry, Tracer};
use tokio_util::sync::CancellationToken;

use crate::demo::{self, AttachedError, AttachedPlace};
use crate::env_file::Access;
use crate::environments::{DemoPlace, EngineProgram, LocalEnvironments};
use crate::postgres::{Durability, Places, Postgres};
use crate::progress::{Step, say};
use crate::state::{State, write_private};

/// The dashboard that this program was built with.
#[cfg(feature = "dashboard")]
const DASHBOARD: Option<DashboardFiles> = Some(dashboard::FILES);
#[cfg(not(feature = "dashboard"))]
const DASHBOARD: Option<DashboardFiles> = None;

/// Settings of the platform on one machine.
#[derive(Debug, Clone, Args)]
pub struct Config {
    /// Folder of everything that is kept [default: .sluice]. With a folder of its own a platform
    /// listens on ports that the system chose.
    #[arg(long, env = "SLUICE_STATE")]
    pub state: Option<PathBuf>,
    /// PostgreSQL, as a URL; a private server is started if absent.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// Where PostgreSQL was unpacked.
    #[arg(long, env = "SLUICE_PG", default_value = ".sluice/pg")]
    pub postgres: PathBuf,
    /// Folder of the engine's extensions.
    #[arg(long, env = "SLUICE_EXTENSIONS", default_value = ".sluice/extensions")]
    pub extensions: PathBuf,
    /// Where HTTP is served [default: 127.0.0.1:8080].
    #[arg(long, env = "SLUICE_HTTP_LISTEN")]
    pub http: Option<SocketAddr>,
    /// Where the demo environment serves the PostgreSQL wire [default: 127.0.0.1:5439].
    #[arg(long, env = "SLUICE_PGWIRE_LISTEN")]
    pub pgwire: Option<SocketAddr>,
    /// Where the demo environment serves Arrow and agent tools [default: 127.0.0.1:5440].
    #[arg(long, env = "SLUICE_TOOLS_LISTEN")]
    pub tools: Option<SocketAddr>,
    /// The mail server, as `smtps://user:password@host` or `smtp://host?tls=required`. Without one
    /// mails are written into the folder `mail` of the state.
    #[arg(long, env = "SLUICE_SMTP_URL", hide_env_values = true)]
    pub smtp_url: Option<String>,
    /// Answer PostgreSQL connections unasked, as the demo's owner; only with every listener on
    /// loopback. `1` turns it on.
    #[arg(long, env = "SLUICE_LOCAL_TRUST", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=1))]
    pub local_trust: u8,
    /// Where audit exports and signed heads of audit chains are kept: a folder, or `s3://bucket/prefix`,
    /// reached as the variables AWS_… say [default: audit/ in the state folder].
    #[arg(long, env = "SLUICE_AUDIT_STORE")]
    pub audit_store: Option<String>,
    /// Leave the demo environment empty instead of filling it with TPC-H and files.
    #[arg(long)]
    pub no_data: bool,
    #[command(flatten)]
    pub storage: StorageSettings,
    #[command(flatten)]
    pub model: ModelSettings,
    #[command(flatten)]
    pub collector: Collector,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    State(#[from] crate::state::Error),
    #[error(transparent)]
    Postgres(#[from] crate::postgres::Error),
    #[error("the internal authority could not be made: {0}")]
    Authority(rcgen::Error),
    #[error(transparent)]
    Entropy(#[from] contract::entropy::NoEntropy),
    #[error("the control plane did not start: {0}")]
    ControlPlane(#[from] controlplane::StartError),
    #[error("the demo could not be made: {0}")]
    Demo(#[from] demo::Error),
    #[error("SLUICE_LOCAL_TRUST=1 needs every listener on loopback: {0} is not")]
    TrustOutside(SocketAddr),
    #[error("this program cannot be found again: {0}")]
    Program(std::io::Error),
    #[error(transparent)]
    Collector(#[from] telemetry::Unreachable),
    #[error("the platform did not stop in order: {0}")]
    Stop(std::io::Error),
}

impl Config {
    fn opened(&self) -> Result<State, crate::state::Error> {
        State::open(self.state.as_deref().unwrap_or(Path::new(".sluice")))
    }

    /// Where the demo's attached database is; none where the demo is empty, or PostgreSQL somebody else's.
    fn attached(&self, entropy: &Entropy) -> Result<Option<AttachedPlace>, AttachedError> {
        if self.no_data || self.database_url.is_some() {
            return Ok(None);
        }
        AttachedPlace::of(&self.opened()?, entropy).map(Some)
    }

    fn listener(&self, given: Option<SocketAddr>, port: u16) -> SocketAddr {
        let port = if self.state.is_some() { 0 } else { port };
        given.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }

    fn http(&self) -> SocketAddr {
        self.listener(self.http, port::CONTROL_HTTP)
    }

    fn pgwire(&self) -> SocketAddr {
        self.listener(self.pgwire, port::PGWIRE)
    }

    fn tools(&self) -> SocketAddr {
        self.listener(self.tools, port::TOOLS)
    }

    /// Trust without a credential never leaves the machine.
    fn checked_trust(&self) -> Result<bool, Error> {
        let trust = self.local_trust == 1;
        let outside = [self.http(), self.pgwire(), self.tools()].into_iter().find(|at| !at.ip().is_loopback());
        match outside {
            Some(at) if trust => Err(Error::TrustOutside(at)),
            _ => Ok(trust),
        }
    }
}

/// A platform that serves.
#[derive(Debug)]
pub struct Platform {
    pub control: controlplane::Running,
    pub environments: Arc<LocalEnvironments>,
    postgres: Option<Postgres>,
    tracers: [Tracer; 2],
    /// Data planes stop first: their last reports go to a control plane that still serves.
    data_planes: CancellationToken,
    control_plane: CancellationToken,
}

/// The parts of a platform besides its settings; tests give their own.
#[derive(Debug, Clone)]
pub struct Means {
    pub clock: SharedClock,
    pub entropy: Entropy,
    pub engine: EngineProgram,
    pub durability: Durability,
    /// None: the log is somebody else's.
    pub log: Option<Log>,
}

impl Means {
    /// The machine's clock and randomness, and this program's own `engine` command.
    pub fn of_this_machine(log: Log) -> Result<Self, Error> {
        let program = std::env::current_exe().map_err(Error::Program)?;
        Ok(Self {
            clock: Arc::new(SystemClock),
            entropy: Entropy::system()?,
            engine: EngineProgram { program, arguments: vec!["engine".into()] },
            durability: Durability::Kept,
            log: Some(log),
        })
    }
}

impl Platform {
    /// PostgreSQL, then the control plane, then a data plane for every environment there is.
    pub async fn start(config: &Config, means: Means) -> Result<Self, Error> {
        config.checked_trust()?;
        let state = config.opened()?;
        let (database_url, postgres) = database(config, &state, means.durability).await?;
        let (data_planes, control_plane) = (CancellationToken::new(), CancellationToken::new());
        let authority = Arc::new(Authority::make().map_err(Error::Authority)?);
        let identity = authority.issue(CONTROL_PLANE_NAME).map_err(Error::Authority)?;
        let mut settings = controlplane::Config::new(database_url, state.keyring(&means.entropy)?);
        settings.http_listen = config.http();
        settings.public_url = None;
        settings.smtp_url = config.smtp_url.clone().map(Redacted::new);
        settings.mail_folder = Some(state.root().join("mail"));
        settings.webhook_loopback = true;
        settings.storage = config.storage.clone();
        let archive = || state.audit().to_string_lossy().into_owned();
        settings.audit_store = Some(config.audit_store.clone().unwrap_or_else(archive));
        settings.v2_runtime_enabled = true;
        let control_tracer = tracer(config, &means, controlplane::server::process::SERVICE)?;
        let data_tracer = tracer(config, &means, dataplane::server::process::SERVICE)?;
        let demo = DemoPlace {
            pgwire: config.pgwire(),
            tools: config.tools(),
            extension: (!config.no_data).then(|| config.extensions.join("tpch.duckdb_extension")),
        };
        let tracers = [data_tracer.clone(), control_tracer.clone()];
        let telemetry = Telemetry { tracer: data_tracer, log: means.log.clone() };
        let (told, ends) = (means.clone(), data_planes.clone());
        let model = config.model.clone();
        let environments = LocalEnvironments::new(state, told, telemetry, authority, demo, model, ends);
        let environments = Arc::new(environments.reaching(config.storage.clone()));
        let parts = Parts {
            clock: means.clock,
            entropy: means.entropy,
            hash_cost: HashCost::OWASP,
            identity: Some(identity),
            dashboard: DASHBOARD,
            telemetry: Telemetry { tracer: control_tracer, log: means.log },
            provisioner: Arc::<LocalEnvironments>::clone(&environments),
            sql: Arc::new(sql::Analyzer),
            shutdown: control_plane.clone(),
        };
        let control = controlplane::start(settings, parts).await?;
        if let Some(grpc) = control.grpc {
            environments.control_plane_at(grpc);
        }
        Ok(Self { control, environments, postgres, tracers, data_planes, control_plane })
    }

    /// New statements are refused, running ones finish, then everything ends in the order in
    /// which it depends on each other.
    pub async fn stop(self) -> Result<(), Error> {
        self.data_planes.cancel();
        self.environments.stopped().await;
        self.control_plane.cancel();
        self.control.drained().await;
        for tracer in &self.tracers {
            tracer.finish().await;
        }
        if let Some(postgres) = self.postgres {
            postgres.stop().await?;
        }
        Ok(())
    }
}

fn tracer(config: &Config, means: &Means, service: &'static str) -> Result<Tracer, Error> {
    Ok(Tracer::to(&config.collector, service, Arc::clone(&means.clock), means.entropy.clone())?)
}

async fn database(config: &Config, state: &State, durability: Durability) -> Result<(String, Option<Postgres>), Error> {
    if let Some(url) = &config.database_url {
        return Ok((url.clone(), None));
    }
    let places = Places::of(&config.postgres, state.root())?;
    let server = Postgres::start(places, durability).await?;
    Ok((server.url("postgres"), Some(server)))
}

/// `sluice up`: start, seed the demo, say how to reach it, serve until told to stop.
pub async fn up(mut config: Config, log: Log) -> Result<(), Error> {
    let step = Step::begin("start", "postgres, control plane");
    let means = Means::of_this_machine(log)?;
    let place = config.attached(&means.entropy).map_err(demo::Error::from)?;
    config.storage.storage_hosts.extend(place.iter().map(AttachedPlace::host));
    let platform = Platform::start(&config, means).await?;
    step.done("postgres, control plane");
    let contents =
        if config.no_data { "organization, environment" } else { "organization, environment, TPC-H at scale 0.1" };
    let step = Step::begin("demo", contents);
    let demo = demo::prepare(&platform, config.checked_trust()?).await?;
    if !config.no_data {
        Box::pin(demo::stage(&demo)).await?;
    }
    let attached = match &place {
        Some(place) => Some(Box::pin(attached(&config, &platform, place, &demo)).await),
        None => None,
    };
    step.done(contents);
    if let Some(Err(error)) = &attached {
        say(&format!("  the demo serves without its attached database: {error}"));
    }
    write_private(&platform.environments.state.env_file(), &demo.env_file())?;
    say(&format!("\n{}", demo.table(DASHBOARD.is_some())));
    until_told().await.map_err(Error::Stop)?;
    let step = Step::begin("stop", "running queries finish");
    platform.stop().await?;
    if let Some(Ok(server)) = attached {
        server.stop().await?;
    }
    step.done("stopped");
    Ok(())
}

/// Starts the demo's attached database.
async fn attached(
    config: &Config,
    platform: &Platform,
    place: &AttachedPlace,
    demo: &Access,
) -> Result<Postgres, AttachedError> {
    let own = Places::of(&config.postgres, platform.environments.state.root())?;
    let durability = platform.environments.means.durability;
    Box::pin(place.serve(&own, durability, demo)).await
}

async fn until_told() -> std::io::Result<()> {
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminated.recv() => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        config: Config,
    }

    fn config(arguments: &[&str]) -> Config {
        Line::try_parse_from(["sluice"].iter().chain(arguments)).unwrap().config
    }

    #[test]
    fn a_platform_with_its_own_state_listens_where_the_system_says() {
        assert_eq!(config(&[]).pgwire().port(), 5439);
        assert_eq!(config(&["--state", "x"]).pgwire().port(), 0);
        assert_eq!(config(&["--state", "x", "--pgwire", "127.0.0.1:7"]).pgwire().port(), 7);
    }

    #[test]
    fn trust_is_refused_unless_every_listener_is_on_loopback() {
        assert!(!config(&[]).checked_trust().unwrap());
        assert!(config(&["--local-trust", "1"]).checked_trust().unwrap());
        assert!(config(&["--local-trust", "1", "--http", "0.0.0.0:8080"]).checked_trust().is_err());
        assert!(!config(&["--http", "0.0.0.0:8080"]).checked_trust().unwrap());
    }
}
