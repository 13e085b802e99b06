//! What a data plane is started with, and how the binary reads it.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use contract::wire::{Who, port, setting};
use contract::{Entropy, EnvId, Redacted, SharedClock};

use crate::governance::link::TlsIdentity;

/// Everything that [`crate::DataPlane::start`] needs to know.
#[derive(Debug, Clone)]
pub struct Settings {
    pub env_id: EnvId,
    /// `host:port` of the control plane's gRPC listener.
    pub control_plane: String,
    pub identity: TlsIdentity,
    pub listeners: Listeners,
    /// Private folder: the last snapshot, the log of queries.
    pub state: PathBuf,
    pub engine: EngineSettings,
    /// Certificate of the PostgreSQL wire; without one only a local data plane serves it.
    pub pg_tls: Option<PgTls>,
    /// Plain connections are taken on loopback.
    pub local: bool,
    /// Who a caller without a password is. Only where every listener is on loopback.
    pub local_trust: Option<Who>,
    pub max_concurrent_queries: usize,
    /// How long a stop waits for queries that run.
    pub drain: Duration,
    pub clock: SharedClock,
    pub entropy: Entropy,
}

/// Port 0: the system chooses.
#[derive(Debug, Clone, Copy)]
pub struct Listeners {
    pub pgwire: SocketAddr,
    pub rest: SocketAddr,
    pub probes: SocketAddr,
}

impl Listeners {
    /// Any free ports of the loopback address.
    pub fn loopback() -> Self {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self { pgwire: any, rest: any, probes: any }
    }

    pub fn all_on_loopback(&self) -> bool {
        [self.pgwire, self.rest, self.probes].iter().all(|address| address.ip().is_loopback())
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
#[command(version, about)]
pub struct Arguments {
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
    #[arg(long, env = setting::TLS_KEY)]
    pub tls_key: PathBuf,
    /// Certificate of the PostgreSQL wire (PEM); the environment's own when absent.
    #[arg(long, env = setting::PG_TLS_CERT, requires = "pg_tls_key")]
    pub pg_tls_cert: Option<PathBuf>,
    #[arg(long, env = setting::PG_TLS_KEY, requires = "pg_tls_cert")]
    pub pg_tls_key: Option<PathBuf>,
    /// Folder for data and state.
    #[arg(long, env = setting::STATE, default_value = "/var/lib/sluice")]
    pub state: PathBuf,
    #[arg(long, env = "SLUICE_LISTEN", default_value = "0.0.0.0")]
    pub listen: IpAddr,
    #[arg(long, env = "SLUICE_PGWIRE_PORT", default_value_t = port::PGWIRE)]
    pub pgwire_port: u16,
    #[arg(long, env = "SLUICE_REST_PORT", default_value_t = port::INTERNAL_REST)]
    pub rest_port: u16,
    #[arg(long, env = "SLUICE_PROBES_PORT", default_value_t = port::PROBES)]
    pub probes_port: u16,
    #[arg(long, env = setting::MAX_CONCURRENT_QUERIES, default_value_t = 100)]
    pub max_concurrent_queries: usize,
    /// What the engine may hold in memory.
    #[arg(long, env = setting::ENGINE_MEMORY_BYTES, default_value_t = 2 << 30)]
    pub engine_memory_bytes: u64,
    /// What it may spill to disk.
    #[arg(long, env = setting::ENGINE_TEMP_BYTES, default_value_t = 8 << 30)]
    pub engine_temp_bytes: u64,
    #[arg(long, env = setting::ENGINE_THREADS, default_value_t = 2)]
    pub engine_threads: u16,
    /// Seconds that a stop waits for queries that run.
    #[arg(long, env = setting::DRAIN_SECS, default_value_t = 300)]
    pub drain_secs: u64,
}

impl Arguments {
    /// Reads the files that the arguments name.
    pub fn settings(self, clock: SharedClock, entropy: Entropy) -> std::io::Result<Settings> {
        let read = std::fs::read_to_string;
        let identity = TlsIdentity {
            ca_pem: read(&self.tls_ca)?,
            cert_pem: read(&self.tls_cert)?,
            key_pem: Redacted::new(read(&self.tls_key)?),
        };
        let pg_tls = match (&self.pg_tls_cert, &self.pg_tls_key) {
            (Some(cert), Some(key)) => PgTls { cert_pem: read(cert)?, key_pem: Redacted::new(read(key)?) },
            _ => PgTls { cert_pem: identity.cert_pem.clone(), key_pem: identity.key_pem.clone() },
        };
        let at = |port| SocketAddr::from((self.listen, port));
        Ok(Settings {
            env_id: EnvId::from(self.env_id),
            control_plane: self.control_plane,
            identity,
            listeners: Listeners {
                pgwire: at(self.pgwire_port),
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
            pg_tls: Some(pg_tls),
            local: false,
            local_trust: None,
            max_concurrent_queries: self.max_concurrent_queries,
            drain: Duration::from_secs(self.drain_secs),
            clock,
            entropy,
        })
    }
}
