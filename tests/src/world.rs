//! A world: a platform of its own with an organization, its owner, an environment and a few rows.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use contract::{Clock, Entropy, SystemClock, Timestamp};
use controlplane::platform::StorageSettings;
use dataplane::model::ModelSettings;
use reqwest::Method;
use serde_json::{Value, json};
use sluice::environments::EngineProgram;
use sluice::platform::{Config, Means, Platform};
use sluice::postgres::Durability;
use telemetry::Collector;
use tempfile::TempDir;

use crate::postgres::Database;

const OWNER_EMAIL: &str = "owner@world.example";
const OWNER_PASSWORD: &str = "correct horse battery";

/// The small tables that governance tests are about.
pub const TABLES: &[&str] = &[
    "create table customers (id integer, name varchar, email varchar, ssn varchar, region varchar, salary integer)",
    "insert into customers values (1, 'Alice', 'alice@ex.com', '123-45-6789', 'EU', 91001),
        (2, 'Bob', 'bobby@ex.com', '987-65-4321', 'EU', 82002), (3, 'Carol', 'carol@ex.com', '555-12-3456', 'US', 73003)",
    "create table orders (id integer, customer_id integer, amount decimal(10,2))",
    "insert into orders values (10, 1, 100.50), (11, 2, 250.00), (12, 3, 777.77)",
];

/// The machine's clock, which a test may set forward.
#[derive(Debug, Clone, Default)]
pub struct ForwardClock(Arc<AtomicU64>);

impl ForwardClock {
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_secs(), Ordering::Relaxed);
    }
}

impl Clock for ForwardClock {
    fn now(&self) -> Timestamp {
        SystemClock.now() + Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

pub struct World {
    pub clock: ForwardClock,
    platform: Option<Platform>,
    database: Option<Database>,
    state: TempDir,
    collector: Collector,
    http: reqwest::Client,
    pub url: String,
    pub org_id: String,
    pub env_id: String,
    /// `Authorization` of the owner's session.
    pub owner: String,
    /// A key that acts for the owner, with every scope.
    pub key: String,
    pub pgwire: std::net::SocketAddr,
}

/// The reply to an HTTP request.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Value,
}

/// Somebody with a role and a key of their own.
#[derive(Debug)]
pub struct Analyst {
    pub user_id: String,
    pub key_id: String,
    pub key: String,
}

impl World {
    /// Up and running, without tables.
    pub async fn bare() -> Self {
        Self::telling(Collector::default()).await
    }

    /// The same, with a collector of its spans.
    pub async fn telling(collector: Collector) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let entropy = Entropy::system().unwrap();
        let name = format!("world_{}", entropy.base62(12).to_lowercase());
        let database = Database::fresh(&name).await;
        let state = tempfile::tempdir().unwrap();
        let clock = ForwardClock::default();
        let platform = start(&state, &database, &clock, &collector).await;
        let mut world = Self {
            clock,
            url: format!("http://{}", platform.control.http),
            platform: Some(platform),
            database: Some(database),
            state,
            collector,
            http: reqwest::Client::new(),
            org_id: String::new(),
            env_id: String::new(),
            owner: String::new(),
            key: String::new(),
            pgwire: ([127, 0, 0, 1], 0).into(),
        };
        world.settle().await;
        world
    }

    /// With [`TABLES`].
    pub async fn new() -> Self {
        Self::bare().await.filled().await
    }

    /// With [`TABLES`], and a collector of its spans.
    pub async fn telling_with_tables(collector: Collector) -> Self {
        Self::telling(collector).await.filled().await
    }

    async fn filled(self) -> Self {
        for sql in TABLES {
            self.rows(&self.key, sql).await;
        }
        self
    }

    /// As if somebody had followed the link that was mailed to this address.
    async fn confirmed(&self, email: &str) {
        let client = self.database().client().await;
        let confirm = "update accounts set email_verified_at = now() where email = $1";
        assert_eq!(client.execute(confirm, &[&email]).await.unwrap(), 1, "{email}");
    }

    async fn settle(&mut self) {
        let signup = json!({"name": "Owner", "email": OWNER_EMAIL, "password": OWNER_PASSWORD, "org_name": "World"});
        let account = self.ok(Method::POST, "/v1/signup", "", signup).await;
        self.owner = format!("Bearer {}", text(&account["token"]));
        self.org_id = text(&account["org"]["org_id"]);
        self.enterprise(&self.org_id).await;
        self.confirmed(OWNER_EMAIL).await;
        (self.env_id, self.pgwire) = self.environment("main").await;
        self.key = self
            .key_for(&self.env_id, json!({"user_id": account["user"]["user_id"], "scopes": all_scopes()}))
            .await
            .key;
    }

    /// Limits are not what most worlds are about.
    pub async fn enterprise(&self, org_id: &str) {
        let client = self.database.as_ref().unwrap().client().await;
        client.execute("update organizations set tier = 'enterprise' where org_id = $1", &[&org_id]).await.unwrap();
    }

    /// A further environment, and where it serves the PostgreSQL wire.
    pub async fn environment(&self, slug: &str) -> (String, std::net::SocketAddr) {
        let path = format!("/v1/organizations/{}/environments", self.org_id);
        let made = self.ok(Method::POST, &path, &self.owner, json!({"name": slug, "slug": slug})).await;
        let env_id = text(&made["env_id"]);
        let path = format!("{path}/{env_id}");
        let active = self
            .until(async || {
                let now = self.ok(Method::GET, &path, &self.owner, Value::Null).await;
                (now["status"] == "active").then_some(now)
            })
            .await;
        let port = u16::try_from(active["connection"]["port"].as_u64().unwrap()).unwrap();
        (env_id, ([127, 0, 0, 1], port).into())
    }

    /// An environment's key.
    pub async fn key_for(&self, env_id: &str, mut wanted: Value) -> Analyst {
        wanted["name"] = format!("key {}", Entropy::system().unwrap().base62(8)).into();
        let made = self.ok(Method::POST, &format!("/v1/environments/{env_id}/api-keys"), &self.owner, wanted).await;
        Analyst { user_id: String::new(), key_id: text(&made["key_id"]), key: text(&made["key"]) }
    }

    /// A user of this role with these attributes, and a key that acts for them.
    pub async fn user(&self, role: &str, attributes: Value) -> Analyst {
        let email = format!("{}@world.example", Entropy::system().unwrap().base62(8));
        let users = format!("/v1/organizations/{}/users", self.org_id);
        let made = self.ok(Method::POST, &users, &self.owner, json!({"email": email, "role": role})).await;
        let user_id = text(&made["user_id"]);
        self.ok(Method::PUT, &format!("{users}/{user_id}/attributes"), &self.owner, attributes).await;
        let scopes = json!({"user_id": user_id, "scopes": ["query:read", "query:write"]});
        let key = self.key_for(&self.env_id, scopes).await;
        Analyst { user_id, ..key }
    }

    pub async fn policy(&self, kind: &str, rules: Value) -> String {
        let name = format!("policy {}", Entropy::system().unwrap().base62(8));
        let body = json!({"name": name, "type": kind, "rules": rules, "enabled": true});
        let path = format!("/v1/environments/{}/policies", self.env_id);
        text(&self.ok(Method::POST, &path, &self.owner, body).await["policy_id"])
    }

    /// Any request; `auth` is the whole `Authorization` value, or empty.
    pub async fn call(&self, method: Method, path: &str, auth: &str, body: Value) -> Reply {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if !auth.is_empty() {
            request = request.header("authorization", auth);
        }
        if !body.is_null() {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let bytes = answer.bytes().await.unwrap();
        let body =
            serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into());
        Reply { status, headers, body }
    }

    /// A request that succeeds; its body.
    pub async fn ok(&self, method: Method, path: &str, auth: &str, body: Value) -> Value {
        let reply = self.call(method.clone(), path, auth, body).await;
        assert!(reply.status < 300, "{method} {path}: {} {}", reply.status, reply.body);
        reply.body
    }

    /// A query through REST.
    pub async fn query(&self, key: &str, sql: &str) -> Reply {
        let path = format!("/v1/environments/{}/query", self.env_id);
        self.call(Method::POST, &path, &format!("ApiKey {key}"), json!({"sql": sql})).await
    }

    /// A query through REST that succeeds; its rows.
    pub async fn rows(&self, key: &str, sql: &str) -> Value {
        let reply = self.query(key, sql).await;
        assert_eq!(reply.status, 200, "{sql}: {}", reply.body);
        reply.body["rows"].clone()
    }

    /// A connection to the PostgreSQL wire, or what it was refused with.
    pub async fn psql(&self, key: &str) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
        let mut settings = tokio_postgres::Config::new();
        settings.host("127.0.0.1").port(self.pgwire.port()).user("agent").password(key).dbname("main");
        connect(&settings).await
    }

    pub fn database(&self) -> &Database {
        self.database.as_ref().unwrap()
    }

    /// The folder of the platform's state.
    pub fn state(&self) -> &std::path::Path {
        self.state.path()
    }

    pub fn platform(&self) -> &Platform {
        self.platform.as_ref().unwrap()
    }

    /// The platform stops and starts again on the same state, with something done to the folder of the environment's
    /// data in between.
    pub async fn restart_after(&mut self, between: impl AsyncFnOnce(PathBuf)) {
        let env_id = self.env_id.as_str().into();
        let folder = self.platform().environments.state.environment(&env_id).unwrap();
        self.platform.take().unwrap().stop().await.unwrap();
        between(folder.join("data")).await;
        let platform = start(&self.state, self.database.as_ref().unwrap(), &self.clock, &self.collector).await;
        controlplane::domain::environments::provision_all(&platform.control.app).await.unwrap();
        self.url = format!("http://{}", platform.control.http);
        self.pgwire = platform.environments.pgwire(&env_id).await.unwrap();
        self.platform = Some(platform);
        // The address is the tokens' issuer, and it is another now.
        let login = json!({"email": OWNER_EMAIL, "password": OWNER_PASSWORD});
        let account = self.ok(Method::POST, "/v1/auth/login", "", login).await;
        self.owner = format!("Bearer {}", text(&account["token"]));
    }

    /// Until the condition gives something; bounded.
    pub async fn until<T>(&self, mut condition: impl AsyncFnMut() -> Option<T>) -> T {
        let tried = async {
            loop {
                if let Some(found) = condition().await {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(90), tried).await.expect("it came to hold within 90 s")
    }

    /// Stops everything; a world that is only dropped leaves its database behind.
    pub async fn end(mut self) {
        self.platform.take().unwrap().stop().await.unwrap();
        self.database.take().unwrap().dropped().await;
    }
}

async fn start(state: &TempDir, database: &Database, clock: &ForwardClock, collector: &Collector) -> Platform {
    let config = Config {
        state: Some(state.path().to_owned()),
        database_url: Some(database.url.clone()),
        postgres: PathBuf::new(),
        extensions: PathBuf::new(),
        http: None,
        pgwire: None,
        tools: None,
        smtp_url: None,
        local_trust: 0,
        audit_store: None,
        no_data: true,
        storage: StorageSettings::default(),
        model: ModelSettings::default(),
        collector: collector.clone(),
    };
    let means = Means {
        clock: Arc::new(clock.clone()),
        entropy: Entropy::system().unwrap(),
        engine: EngineProgram { program: program(), arguments: vec!["engine".into()] },
        durability: Durability::ForTests,
        log: None,
    };
    Platform::start(&config, means).await.unwrap()
}

/// The environment variable by which `program()` knows which program of the product it is.
pub const PROGRAM: &str = "SLUICE_UNDER_TEST";

/// The program of this package, beside the test binary's folder: the platform's, unless it is told otherwise.
pub fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(std::path::Path::parent).unwrap().join("under-test")
}

/// A command that runs one of the product's programs: `controlplane`, `dataplane`, `worker`.
pub fn command(name: &str) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(program());
    command.env(PROGRAM, name);
    command
}

/// A connection to the PostgreSQL wire.
pub async fn connect(settings: &tokio_postgres::Config) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    let (client, connection) = settings.connect(tokio_postgres::NoTls).await?;
    tokio::task::spawn(connection);
    Ok(client)
}

/// The body of an answer that succeeded.
pub async fn json_of(answer: reqwest::Response) -> Value {
    let (status, text) = (answer.status(), answer.text().await.unwrap());
    assert!(status.is_success(), "{status}: {text}");
    serde_json::from_str(&text).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}")).to_owned()
}

fn all_scopes() -> Value {
    contract::Scope::ALL.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().into()
}

/// The verdicts of an audit entry, by action.
pub fn actions(entry: &Value) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for verdict in entry["policy_verdicts"].as_array().into_iter().flatten() {
        *counted.entry(text(&verdict["action"])).or_default() += 1;
    }
    counted
}
