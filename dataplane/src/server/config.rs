//! The settings of a data plane's start, and how the binary reads them.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use clap::builder::RangedU64ValueParser;
use contract::plan_bounds::{BYTES_RANGE, IDLE_SECS_RANGE, IN_ENGINE_RANGE};
use contract::wire::{TOOL_RESULT_BYTES_RANGE, Who, port, setting};
use contract::{Entropy, EnvId, Redacted, SharedClock};
use telemetry::{Collector, Telemetry};

pub use connections::ConnectionTimeouts;
pub use contract::plan_bounds::PlanBounds;
pub use contract::wire::TOOL_RESULT_BYTES;

use crate::governance::link::TlsIdentity;
use crate::model::ModelSettings;
use crate::server::certificates::Files;

/// Everything that [`crate::DataPlane::start`] needs to know.
#[derive(Debug, Clone)]
pub struct Settings {
    pub env_id: EnvId,
    /// `host:port` of the control plane's gRPC listener.
    pub control_plane: String,
    pub identity: TlsIdentity,
    /// Where identity and certificate are read again, and how often.
    pub reload: Option<(Files, Duration)>,
    pub listeners: Listeners,
    /// Private folder: the last snapshot, the log of queries. One process owns it at a time.
    pub state: PathBuf,
    pub engine: EngineSettings,
    /// Certificate of the PostgreSQL wire, of Arrow and tools; without one only a local data plane serves them.
    pub pg_tls: Option<PgTls>,
    /// Plain connections are taken on loopback.
    pub local: bool,
    /// Who a caller without a password is. Only where every listener is on loopback.
    pub local_trust: Option<Who>,
    pub max_concurrent_queries: usize,
    /// How long a stop serves on while those who route here learn of it, at most.
    pub grace: Duration,
    /// How long a stop then waits for queries that run.
    pub drain: Duration,
    /// How long a peer over HTTP may be silent.
    pub connection_timeouts: ConnectionTimeouts,
    /// What a result of a tool may hold, in each of its forms.
    pub tool_result_bytes: usize,
    pub plans: PlanBounds,
    /// Private hosts that storage integrations reach: `host` or `host:port`.
    pub storage_hosts: Vec<String>,
    /// Storage integrations may use the credentials that the surroundings give this process.
    pub storage_ambient: bool,
    pub model: ModelSettings,
    pub clock: SharedClock,
    pub entropy: Entropy,
    pub telemetry: Telemetry,
}

/// Port 0: the system chooses.
#[derive(Debug, Clone, Copy)]
pub struct Listeners {
    pub pgwire: SocketAddr,
    pub tools: SocketAddr,
    pub rest: SocketAddr,
    pub probes: SocketAddr,
}

impl Listeners {
    /// Any free ports of the loopback address.
    pub fn loopback() -> Self {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self { pgwire: any, tools: any, rest: any, probes: any }
    }

    pub fn all_on_loopback(&self) -> bool {
        [self.pgwire, self.tools, self.rest, self.probes].iter().all(|address| address.ip().is_loopback())
    }
}

#[derive(Debug, Clone)]
pub struct PgTls {
    pub cert_pem: String,
    pub key_pem: Redacted<String>,
}

/// How the engine's process is started and bounded.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// The program of the child, usually the current executable.
    pub program: PathBuf,
    /// Its arguments, usually `engine`.
    pub arguments: Vec<OsString>,
    /// Folder of the environment's data.
    pub data: PathBuf,
    pub memory_limit_bytes: u64,
    pub temp_limit_bytes: u64,
    pub threads: u16,
}

/// The query proxy of one environment.
#[derive(Debug, Parser)]
#[command(name = "dataplane", version, about, after_long_help = BEHAVIOUR)]
pub struct Arguments {
    /// The environment that is served; the certificate names it too.
    #[arg(long, env = setting::ENV_ID)]
    pub env_id: String,
    /// `host:port` of the control plane's gRPC listener.
    #[arg(long, env = setting::CONTROL_PLANE)]
    pub control_plane: String,
    /// Certificate of the internal authority (PEM).
    #[arg(long, env = setting::TLS_CA)]
    pub tls_ca: PathBuf,
    /// This environment's certificate (PEM).
    #[arg(long, env = setting::TLS_CERT)]
    pub tls_cert: PathBuf,
    /// Its key (PEM).
    #[arg(long, env = setting::TLS_KEY)]
    pub tls_key: PathBuf,
    /// Certificate of the PostgreSQL wire, of Arrow and tools (PEM); the environment's own when absent.
    #[arg(long, env = setting::PG_TLS_CERT, requires = "pg_tls_key")]
    pub pg_tls_cert: Option<PathBuf>,
    /// Its key (PEM).
    #[arg(long, env = setting::PG_TLS_KEY, requires = "pg_tls_cert")]
    pub pg_tls_key: Option<PathBuf>,
    /// Folder for data and state; one process owns it at a time.
    #[arg(long, env = setting::STATE, default_value = "/var/lib/sluice")]
    pub state: PathBuf,
    /// Address of all listeners. Of the ports, 0 leaves the choice to the system.
    #[arg(long, env = setting::LISTEN, default_value = "0.0.0.0")]
    pub listen: IpAddr,
    /// The PostgreSQL wire.
    #[arg(long, env = "SLUICE_PGWIRE_PORT", default_value_t = port::PGWIRE)]
    pub pgwire_port: u16,
    /// Arrow and agent tools.
    #[arg(long, env = "SLUICE_TOOLS_PORT", default_value_t = port::TOOLS)]
    pub tools_port: u16,
    /// REST, for the control plane alone.
    #[arg(long, env = "SLUICE_REST_PORT", default_value_t = port::INTERNAL_REST)]
    pub rest_port: u16,
    /// Plain `/health`, `/ready` and `/metrics`; `/log` from loopback.
    #[arg(long, env = "SLUICE_PROBES_PORT", default_value_t = port::PROBES)]
    pub probes_port: u16,
    /// Queries that run at once, whatever the environment's settings allow.
    #[arg(long, env = setting::MAX_CONCURRENT_QUERIES, default_value_t = 100)]
    pub max_concurrent_queries: usize,
    /// What the engine may hold in memory.
    #[arg(long, env = setting::ENGINE_MEMORY_BYTES, default_value_t = 2 << 30)]
    pub engine_memory_bytes: u64,
    /// What it may spill to disk.
    #[arg(long, env = setting::ENGINE_TEMP_BYTES, default_value_t = 8 << 30)]
    pub engine_temp_bytes: u64,
    /// Threads of the engine.
    #[arg(long, env = setting::ENGINE_THREADS, default_value_t = 2)]
    pub engine_threads: u16,
    /// Seconds that a stop serves on, at most, while those who route here learn of it.
    #[arg(long, env = setting::ENDPOINT_GRACE_SECS, default_value_t = 10, value_parser = seconds())]
    pub endpoint_grace_secs: u64,
    /// Seconds that a stop then waits for queries that run.
    #[arg(long, env = setting::DRAIN_SECS, default_value_t = 300, value_parser = seconds())]
    pub drain_secs: u64,
    /// Milliseconds between two looks at the certificates' files.
    #[arg(long, env = "SLUICE_RELOAD_MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(10..))]
    pub reload_ms: u64,
    /// Bytes that one result of an agent's tool may hold; rows and long texts beyond are cut, and the result says so.
    #[arg(long, env = setting::TOOL_RESULT_BYTES, default_value_t = TOOL_RESULT_BYTES, value_parser = result_bytes())]
    pub tool_result_bytes: usize,
    /// Bytes that the plans may take which are kept of texts that come again; 0: none are.
    #[arg(long, env = setting::PLAN_BYTES, default_value_t = PlanBounds::DEFAULT.bytes, value_parser = plan_bytes())]
    pub plan_bytes: u64,
    /// Seconds after which one goes that nobody uses.
    #[arg(
        long,
        env = setting::PLAN_IDLE_SECS,
        default_value_t = PlanBounds::DEFAULT.idle_secs,
        value_parser = idle_secs()
    )]
    pub plan_idle_secs: u64,
    /// Plans that each session of the engine keeps besides; 0: none.
    #[arg(long, env = setting::ENGINE_PLANS, default_value_t = PlanBounds::DEFAULT.in_engine, value_parser = in_engine())]
    pub engine_plans: u16,
    /// Private hosts that storage integrations reach: `host` or `host:port`, with commas between them.
    #[arg(long, env = setting::STORAGE_HOSTS, value_delimiter = ',')]
    pub storage_hosts: Vec<String>,
    /// Storage integrations may use the credentials that the surroundings give this process, such as the role of its
    /// service account. The metadata address of a node is never asked.
    #[arg(long, env = setting::STORAGE_AMBIENT)]
    pub storage_ambient: bool,
    #[command(flatten)]
    pub connection_timeouts: ConnectionTimeouts,
    #[command(flatten)]
    pub model: ModelSettings,
    #[command(flatten)]
    pub collector: Collector,
}

/// What `--help` says beyond the settings.
const BEHAVIOUR: &str = "\
Probes, plain HTTP:
  GET /health  200 {status, version, uptime_seconds} while the process lives.
  GET /ready   200 when statements are taken, 503 when it stops, or has not started a second later:
               {ready, engine, control_plane}.
               engine: starting, parked, ready, restarting. Parked: another process owns the folder;
               statements wait until it lets go (at most 1,000, each its own timeout).
               control_plane: connected, cached (the last snapshot rules), unknown (everything is
               refused).

Stop, on SIGTERM or SIGINT:
  1. /ready says 503; everything is still served for the endpoint grace, or until connections have
     stopped coming where a successor waits for the folder.
  2. Sessions end with 57P01 between two statements, new statements are refused with it, running ones
     finish, at most for the drain.
  3. The rest is cancelled with 57P01; the log is shipped, the engine closed, the folder let go.

Certificates are read again when their files change; open sessions stay.
Logs are JSON on standard output; RUST_LOG sets their level (info). While it runs, PUT /log on the port
of the probes sets it anew, from loopback alone: debug, or dataplane=debug. DELETE /log takes it back.";

/// A day is longer than anything waits.
fn seconds() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(..=86_400)
}

fn result_bytes() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(TOOL_RESULT_BYTES_RANGE)
}

fn plan_bytes() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(BYTES_RANGE)
}

fn idle_secs() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(IDLE_SECS_RANGE)
}

fn in_engine() -> RangedU64ValueParser<u16> {
    RangedU64ValueParser::new().range(IN_ENGINE_RANGE)
}

impl Arguments {
    /// Reads the files that the arguments name.
    pub fn settings(self, clock: SharedClock, entropy: Entropy, telemetry: Telemetry) -> std::io::Result<Settings> {
        let pg = self.pg_tls_cert.zip(self.pg_tls_key);
        let files = Files { ca: self.tls_ca, cert: self.tls_cert, key: self.tls_key, pg };
        let at = |port| SocketAddr::from((self.listen, port));
        Ok(Settings {
            env_id: EnvId::from(self.env_id),
            control_plane: self.control_plane,
            identity: files.identity()?,
            pg_tls: Some(files.pg()?),
            reload: Some((files, Duration::from_millis(self.reload_ms))),
            listeners: Listeners {
                pgwire: at(self.pgwire_port),
                tools: at(self.tools_port),
                rest: at(self.rest_port),
                probes: at(self.probes_port),
            },
            engine: EngineSettings {
                program: std::env::current_exe()?,
                arguments: vec!["engine".into()],
                data: self.state.join("data"),
                memory_limit_bytes: self.engine_memory_bytes,
                temp_limit_bytes: self.engine_temp_bytes,
                threads: self.engine_threads,
            },
            state: self.state,
            local: false,
            local_trust: None,
            max_concurrent_queries: self.max_concurrent_queries,
            grace: Duration::from_secs(self.endpoint_grace_secs),
            drain: Duration::from_secs(self.drain_secs),
            connection_timeouts: self.connection_timeouts,
            tool_result_bytes: self.tool_result_bytes,
            plans: PlanBounds { bytes: self.plan_bytes, idle_secs: self.plan_idle_secs, in_engine: self.engine_plans },
            storage_hosts: self.storage_hosts,
            storage_ambient: self.storage_ambient,
            model: self.model,
            clock,
            entropy,
            telemetry,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    const NEEDED: [&str; 12] = [
        "dataplane",
        "--env-id=e",
        "--control-plane=cp:8081",
        "--tls-ca=/a",
        "--tls-cert=/c",
        "--tls-key=/k",
        "--state=/s",
        "--listen=127.0.0.1",
        "--pgwire-port=0",
        "--tools-port=0",
        "--rest-port=0",
        "--probes-port=0",
    ];

    #[test]
    fn every_setting_of_the_contract_is_read() {
        let command = Arguments::command();
        let read: Vec<_> = command.get_arguments().filter_map(clap::Arg::get_env).collect();
        for name in setting::ALL {
            assert!(read.iter().any(|read| read.to_str() == Some(name)), "{name}");
        }
    }

    #[test]
    fn every_argument_is_explained() {
        for argument in Arguments::command().get_arguments() {
            assert!(argument.get_help().is_some(), "{}", argument.get_id());
        }
    }

    #[test]
    fn a_certificate_of_the_wire_comes_with_its_key_and_times_have_bounds() {
        let parse = |more: &[&str]| Arguments::try_parse_from(NEEDED.iter().chain(more));
        assert!(parse(&[]).is_ok());
        for refused in [
            "--pg-tls-cert=/x",
            "--pg-tls-key=/x",
            "--drain-secs=86401",
            "--reload-ms=0",
            "--pgwire-port=x",
            "--tool-result-bytes=9",
            "--plan-bytes=1073741825",
            "--plan-idle-secs=0",
            "--engine-plans=1001",
        ] {
            assert!(parse(&[refused]).is_err(), "{refused}");
        }
    }
}
