//! Settings of the control plane: defaults, environment variables, and `--help` as the reference.

mod storage;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use connections::ConnectionTimeouts;
use contract::wire::port;
use contract::{Keyring, Redacted};
use ipnet::IpNet;
use telemetry::Collector;

use crate::clouds::Clouds;
use crate::identity::IdentityFiles;

pub use storage::StorageSettings;

const MAIL_FROM: &str = "Sluice <sluice@localhost>";

/// The control plane: `/v1`, the audit chain, billing, and the snapshots that rule the data planes.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Debug, Clone, Parser)]
#[command(name = "controlplane", version)]
pub struct Config {
    /// PostgreSQL, as a URL.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_parser = redacted, required_unless_present = "database_url_file")]
    pub database_url: Option<Redacted<String>>,
    /// A file that holds the URL in its place. It is read again every 10 seconds: another user or password is taken over.
    #[arg(long, env = "DATABASE_URL_FILE", conflicts_with = "database_url")]
    pub database_url_file: Option<PathBuf>,
    #[arg(long, env = "DATABASE_MAX_CONNECTIONS", default_value_t = 20)]
    pub database_max_connections: u32,
    #[arg(long, env = "DATABASE_MIN_CONNECTIONS", default_value_t = 2)]
    pub database_min_connections: u32,
    /// A request that waits longer for a connection is answered 503.
    #[arg(long, env = "DATABASE_ACQUIRE_TIMEOUT_SECS", default_value_t = 5)]
    pub database_acquire_timeout_secs: u64,
    #[arg(long, env = "DATABASE_IDLE_TIMEOUT_SECS", default_value_t = 300)]
    pub database_idle_timeout_secs: u64,

    /// Where HTTP is served.
    #[arg(long, env = "SLUICE_HTTP_LISTEN", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port::CONTROL_HTTP))]
    pub http_listen: SocketAddr,
    /// Where gRPC to data planes is served.
    #[arg(long, env = "SLUICE_GRPC_LISTEN", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port::CONTROL_GRPC))]
    pub grpc_listen: SocketAddr,
    /// Where it tells Prometheus what it measures; nobody is asked who they are there. `PUT /log`
    /// sets the level of its log, from loopback alone.
    #[arg(long, env = "SLUICE_METRICS_LISTEN", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port::PROBES))]
    pub metrics_listen: SocketAddr,
    /// The URL that callers reach this installation under: issuer and audience of its tokens, and where the
    /// links of its mails lead [default: the address at which HTTP is served].
    #[arg(long, env = "SLUICE_PUBLIC_URL")]
    pub public_url: Option<String>,

    /// 64 hex digits; everything secret of the installation derives from it.
    #[arg(long, env = "SLUICE_SECRET_KEY", hide_env_values = true, value_parser = keyring)]
    pub secret_key: Keyring,
    /// 64 hex digits, the Ed25519 seed that signs tokens; derived from the secret key if absent.
    #[arg(long, env = "SLUICE_JWT_KEY", hide_env_values = true, value_parser = seed)]
    pub jwt_key: Option<Redacted<[u8; 32]>>,
    /// 64 hex digits, the Ed25519 seed that signs heads of audit chains; derived from the secret key if
    /// absent.
    #[arg(long, env = "SLUICE_AUDIT_KEY", hide_env_values = true, value_parser = seed)]
    pub audit_key: Option<Redacted<[u8; 32]>>,
    /// Where audit exports and the signed heads of audit chains are kept: a folder, or
    /// `s3://bucket/prefix`, reached as the variables AWS_… say. Absent: no exports and no heads.
    #[arg(long, env = "SLUICE_AUDIT_STORE")]
    pub audit_store: Option<String>,
    /// Whether `POST /v1/signup` makes new organizations.
    #[arg(long, env = "SLUICE_SIGNUP", default_value_t = true, action = clap::ArgAction::Set)]
    pub signup: bool,

    /// The mail server, as `smtps://user:password@host` or `smtp://host?tls=required`.
    #[arg(long, env = "SLUICE_SMTP_URL", hide_env_values = true, value_parser = redacted)]
    pub smtp_url: Option<Redacted<String>>,
    /// Without a mail server: a folder that mails are written into. With neither, no mail leaves, and
    /// what needs one is refused.
    #[arg(long, env = "SLUICE_MAIL_FOLDER")]
    pub mail_folder: Option<PathBuf>,
    /// The sender of mail.
    #[arg(long, env = "SLUICE_MAIL_FROM", default_value = MAIL_FROM)]
    pub mail_from: String,

    /// PEM file of the authority that signs the platform's certificates. With it come certificate
    /// and key; without it there are no data planes to serve or to forward queries to. All three are
    /// read again every 10 seconds.
    #[arg(long, env = "SLUICE_TLS_AUTHORITY", requires_all = ["tls_certificate", "tls_key"])]
    pub tls_authority: Option<PathBuf>,
    /// PEM file of the control plane's certificate.
    #[arg(long, env = "SLUICE_TLS_CERTIFICATE", requires = "tls_authority")]
    pub tls_certificate: Option<PathBuf>,
    /// PEM file of its key.
    #[arg(long, env = "SLUICE_TLS_KEY", requires = "tls_authority")]
    pub tls_key: Option<PathBuf>,

    /// Organizations, environments and keys are Kubernetes resources, and an operator runs the data
    /// planes.
    #[arg(long, env = "SLUICE_KUBERNETES")]
    pub kubernetes: bool,
    /// The namespace that REST writes resources into; absent: the service account's own.
    #[arg(long, env = "SLUICE_NAMESPACE", requires = "kubernetes")]
    pub namespace: Option<String>,
    /// Namespaces whose resources are served; absent: all.
    #[arg(long, env = "SLUICE_WATCH_NAMESPACES", value_delimiter = ',', requires = "kubernetes")]
    pub watch_namespaces: Vec<String>,

    #[command(flatten)]
    pub connection_timeouts: ConnectionTimeouts,
    /// Networks whose `X-Forwarded-For` is believed.
    #[arg(long, env = "SLUICE_TRUSTED_PROXIES", value_delimiter = ',')]
    pub trusted_proxies: Vec<IpNet>,
    /// Requests a minute of one address that nobody is known behind.
    #[arg(long, env = "SLUICE_RATE_LIMIT_ADDRESS", default_value_t = 600)]
    pub rate_limit_address: u32,
    /// Refused credentials a minute of one address before 401 becomes 429.
    #[arg(long, env = "SLUICE_RATE_LIMIT_FAILED_CREDENTIALS", default_value_t = 300)]
    pub rate_limit_failed_credentials: u32,

    /// Whoever says who somebody of a cloud is; no setting: others would be believed in their place.
    #[arg(skip)]
    pub clouds: Clouds,

    /// Webhooks and identity providers may be plain HTTP to this machine, on any port. For one's own
    /// machine alone: whoever manages them can reach whatever listens on loopback here.
    #[arg(long, env = "SLUICE_WEBHOOK_LOOPBACK")]
    pub webhook_loopback: bool,

    #[command(flatten)]
    pub storage: StorageSettings,

    /// Whether `/v2`, the governed runtime, is served.
    #[arg(long, env = "SVC_V2_RUNTIME_ENABLED", default_value_t = false, action = clap::ArgAction::Set)]
    pub v2_runtime_enabled: bool,
    /// Requests a minute to `/v2` of one organization.
    #[arg(long, env = "SVC_RATE_LIMIT_ORG", default_value_t = 600)]
    pub rate_limit_org: u32,
    /// Requests a minute to `/v2` of one API key or user.
    #[arg(long, env = "SVC_RATE_LIMIT_KEY", default_value_t = 200)]
    pub rate_limit_key: u32,
    /// Seconds that an attempt keeps its lease without a heartbeat.
    #[arg(long, env = "SLUICE_LEASE_TTL_SECS", default_value_t = 180, value_parser = clap::value_parser!(i32).range(30..=3_600))]
    pub lease_ttl_secs: i32,

    #[command(flatten)]
    pub collector: Collector,
}

impl Config {
    /// All defaults: for a control plane inside another process, and for tests.
    pub fn new(database_url: String, secret_key: Keyring) -> Self {
        let loopback = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        Self {
            database_url: Some(Redacted::new(database_url)),
            database_url_file: None,
            database_max_connections: 20,
            database_min_connections: 2,
            database_acquire_timeout_secs: 5,
            database_idle_timeout_secs: 300,
            http_listen: loopback,
            grpc_listen: loopback,
            metrics_listen: loopback,
            public_url: Some("http://localhost:8080".to_owned()),
            secret_key,
            jwt_key: None,
            audit_key: None,
            audit_store: None,
            signup: true,
            smtp_url: None,
            mail_folder: None,
            mail_from: MAIL_FROM.to_owned(),
            tls_authority: None,
            tls_certificate: None,
            tls_key: None,
            kubernetes: false,
            namespace: None,
            watch_namespaces: Vec::new(),
            connection_timeouts: ConnectionTimeouts::DEFAULT,
            trusted_proxies: Vec::new(),
            rate_limit_address: 600,
            rate_limit_failed_credentials: 300,
            clouds: Clouds::default(),
            webhook_loopback: false,
            storage: StorageSettings::default(),
            v2_runtime_enabled: false,
            rate_limit_org: 600,
            rate_limit_key: 200,
            lease_ttl_secs: 180,
            collector: Collector::default(),
        }
    }

    /// The URL that callers reach this installation under, without a slash at its end.
    pub fn public_url(&self) -> &str {
        self.public_url.as_deref().unwrap_or_default().trim_end_matches('/')
    }

    /// Without a public URL, callers reach it where it listens; a listener of all addresses is reached as localhost.
    pub fn listens_at(&mut self, http: SocketAddr) {
        let here = if http.ip().is_unspecified() { format!("localhost:{}", http.port()) } else { http.to_string() };
        self.public_url.get_or_insert_with(|| format!("http://{here}"));
    }

    pub const fn acquire_timeout(&self) -> Duration {
        Duration::from_secs(self.database_acquire_timeout_secs)
    }

    /// The files of the identity, if they are named.
    pub fn identity(&self) -> Option<IdentityFiles> {
        let (Some(authority), Some(certificate), Some(key)) =
            (&self.tls_authority, &self.tls_certificate, &self.tls_key)
        else {
            return None;
        };
        Some(IdentityFiles { authority: authority.clone(), certificate: certificate.clone(), key: key.clone() })
    }

    pub const fn idle_timeout(&self) -> Duration {
        Duration::from_secs(self.database_idle_timeout_secs)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "clap's value parsers answer with a result")]
fn redacted(text: &str) -> Result<Redacted<String>, String> {
    Ok(Redacted::new(text.to_owned()))
}

fn keyring(text: &str) -> Result<Keyring, String> {
    Keyring::from_hex(text).ok_or_else(|| "64 hex digits are wanted".to_owned())
}

fn seed(text: &str) -> Result<Redacted<[u8; 32]>, String> {
    let mut seed = [0; 32];
    hex::decode_to_slice(text.trim(), &mut seed).map_err(|_| "64 hex digits are wanted".to_owned())?;
    Ok(Redacted::new(seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_specifications_and_secrets_do_not_print() {
        let secret = "ab".repeat(32);
        let argv = ["controlplane", "--database-url", "postgres://u:hush@h/d", "--secret-key", &secret];
        let config = Config::try_parse_from(argv).unwrap();
        assert_eq!((config.database_max_connections, config.database_min_connections), (20, 2));
        assert_eq!((config.database_acquire_timeout_secs, config.database_idle_timeout_secs), (5, 300));
        let printed = format!("{config:?}");
        assert!(!printed.contains("hush") && !printed.contains(&secret), "{printed}");
    }

    /// So that the mails of a second platform on a machine lead to that one.
    #[test]
    fn without_a_public_url_links_lead_to_where_it_listens() {
        for (told, http, expected) in [
            (None, "127.0.0.1:44483", "http://127.0.0.1:44483"),
            (None, "0.0.0.0:8081", "http://localhost:8081"),
            (None, "[::]:8081", "http://localhost:8081"),
            (Some("https://sluice.example/"), "0.0.0.0:8080", "https://sluice.example"),
        ] {
            let mut config = Config::new(String::new(), Keyring::new([1; 32]));
            config.public_url = told.map(str::to_owned);
            config.listens_at(http.parse().unwrap());
            assert_eq!(config.public_url(), expected);
        }
    }

    #[test]
    fn the_database_is_named_once() {
        let secret = "ab".repeat(32);
        let parse = |more: &[&str]| {
            Config::try_parse_from(["controlplane", "--secret-key", &secret].iter().chain(more)).is_ok()
        };
        let (url, file) = ("--database-url=postgres://u@h/d", "--database-url-file=/etc/url");
        assert!(parse(&[url]) && parse(&[file]));
        assert!(!parse(&[]) && !parse(&[url, file]));
    }
}
