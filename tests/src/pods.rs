//! Data planes as processes of their own, as pods run them, under a control plane in this process.

mod mount;
mod process;
mod protocol;
mod service;
mod spent;
mod weight;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use contract::key::HashCost;
use contract::wire::{CONTROL_PLANE_NAME, environment_name};
use contract::{Entropy, EnvId, Keyring, SystemClock};
use controlplane::Parts;
use controlplane::platform::identity::Authority;
use controlplane::platform::provisioner::{Placement, Provision, ProvisionError, Provisioner};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::postgres::Database;
use crate::tls::Trust;

pub use mount::Mount;
pub use process::Pod;
pub use protocol::Protocol;
pub use service::Service;
pub use spent::Spent;
pub use weight::Weight;

/// A control plane with one environment, whose data planes the test starts and stops.
pub struct Installation {
    control: controlplane::Running,
    shutdown: CancellationToken,
    database: Database,
    pub authority: Authority,
    /// Certificate and key under which a data plane is known to the control plane.
    pub identity: Mount,
    /// What clients of the PostgreSQL wire are shown.
    pub tls: Mount,
    folder: TempDir,
    http: reqwest::Client,
    /// In front of the PostgreSQL wire of whatever pods are its endpoints.
    pub psql: Service,
    /// In front of their internal REST.
    pub rest: Service,
    pub env_id: EnvId,
    /// Of the owner, every scope.
    pub key: String,
}

impl Installation {
    pub async fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let entropy = Entropy::system().unwrap();
        let database = Database::fresh(&format!("pods_{}", entropy.base62(12).to_lowercase())).await;
        let authority = Authority::make().unwrap();
        let (psql, rest) = (Service::new().await, Service::new().await);
        let secret = "5a".repeat(32);
        let mut config = controlplane::Config::new(database.url.clone(), Keyring::from_hex(&secret).unwrap());
        config.http_listen = ([127, 0, 0, 1], 0).into();
        let shutdown = CancellationToken::new();
        let parts = Parts {
            clock: Arc::new(SystemClock),
            entropy,
            hash_cost: HashCost::OWASP,
            identity: Some(authority.issue(CONTROL_PLANE_NAME).unwrap()),
            dashboard: None,
            telemetry: telemetry::Telemetry::default(),
            sql: Arc::new(sql::Analyzer),
            provisioner: Arc::new(Services { psql: psql.address, rest: rest.address }),
            shutdown: shutdown.clone(),
        };
        let control = controlplane::start(config, parts).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut installation = Self {
            control,
            shutdown,
            database,
            authority,
            identity: Mount::new(&folder.path().join("identity")),
            tls: Mount::new(&folder.path().join("tls")),
            folder,
            http: reqwest::Client::new(),
            psql,
            rest,
            env_id: "".into(),
            key: String::new(),
        };
        installation.settle().await;
        installation
    }

    async fn settle(&mut self) {
        let signup = json!({"name": "Owner", "email": "owner@pods.example", "password": "correct horse battery", "org_name": "Pods"});
        let account = self.ok("/v1/signup", "", signup).await;
        let (owner, org_id) = (format!("Bearer {}", text(&account["token"])), text(&account["org"]["org_id"]));
        let client = self.database.client().await;
        client.execute("update organizations set tier = 'enterprise' where org_id = $1", &[&org_id]).await.unwrap();
        let environments = format!("/v1/organizations/{org_id}/environments");
        let made = self.ok(&environments, &owner, json!({"name": "main", "slug": "main"})).await;
        self.env_id = text(&made["env_id"]).as_str().into();
        self.identity.swap(&self.authority.issue(&environment_name(&self.env_id)).unwrap());
        self.tls.swap(&self.authority.issue("localhost").unwrap());
        let scopes: Vec<_> = contract::Scope::ALL.iter().map(|scope| scope.as_str()).collect();
        let wanted = json!({"name": "owner", "user_id": account["user"]["user_id"], "scopes": scopes});
        self.key = text(&self.ok(&format!("/v1/environments/{}/api-keys", self.env_id), &owner, wanted).await["key"]);
    }

    /// A POST that succeeds.
    async fn ok(&self, path: &str, auth: &str, body: Value) -> Value {
        let (status, body) = self.post(path, auth, body).await;
        assert!(status < 300, "{path}: {status} {body}");
        body
    }

    async fn post(&self, path: &str, auth: &str, body: Value) -> (u16, Value) {
        let mut request = self.http.request(Method::POST, format!("http://{}{path}", self.control.http)).json(&body);
        if !auth.is_empty() {
            request = request.header("authorization", auth);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    /// A query through REST, control plane and internal REST.
    pub async fn query(&self, sql: &str) -> (u16, Value) {
        let path = format!("/v1/environments/{}/query", self.env_id);
        self.post(&path, &format!("ApiKey {}", self.key), json!({"sql": sql})).await
    }

    /// The folder of the environment's volume; pods share it.
    pub fn volume(&self) -> PathBuf {
        self.folder.path().join("volume")
    }

    pub fn grpc(&self) -> String {
        self.control.grpc.unwrap().to_string()
    }

    /// A session over TLS, through the Service.
    pub async fn psql(&self) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
        self.psql_trusting(&self.authority).await
    }

    pub async fn psql_trusting(&self, authority: &Authority) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
        let trust = Trust::in_authority(&authority.issue("nobody").unwrap().authority);
        let mut settings = tokio_postgres::Config::new();
        settings.host("127.0.0.1").port(self.psql.address.port()).user("agent").password(&self.key).dbname("main");
        settings.ssl_mode(tokio_postgres::config::SslMode::Require);
        let (client, connection) = settings.connect(trust).await?;
        tokio::task::spawn(connection);
        Ok(client)
    }

    /// Stops the control plane and drops its database.
    pub async fn end(self) {
        self.shutdown.cancel();
        self.control.drained().await;
        self.database.dropped().await;
    }
}

/// Environments are where their Services are, whoever is behind them.
#[derive(Debug)]
struct Services {
    psql: std::net::SocketAddr,
    rest: std::net::SocketAddr,
}

impl Services {
    fn placement(&self) -> Placement {
        let host = (self.psql.ip().to_string(), self.psql.port());
        Placement { internal: self.rest.to_string(), pg: host.clone(), tools: host, database: "main".to_owned() }
    }
}

#[async_trait]
impl Provisioner for Services {
    async fn provision(&self, _: &Provision) -> Result<Placement, ProvisionError> {
        Ok(self.placement())
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}")).to_owned()
}
