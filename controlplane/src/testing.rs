//! A control plane for a test: a database of its own, a clock that the test moves, and the router
//! called without a socket.
//!
//! Every answer is held against the document of the API (`conformance`).
//! When it is dropped the test fails if an endpoint answered 5xx that was not asked for, or if an
//! audit chain does not verify.

mod conformance;
pub mod stream;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::Response;
use chrono::{DateTime, Duration};
use contract::key::HashCost;
use contract::wire::CONTROL_PLANE_NAME;
use contract::{Entropy, Keyring, OrgId, Redacted, TestClock};
use http_body_util::BodyExt;
use platform::dashboard::DashboardFiles;
use platform::identity::Authority;
use platform::provisioner::{Provisioner, Unattended};
use platform::{App, Config, Parts, events, mails};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool};
use test_servers::mail::MailServer;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::MIGRATIONS;
use crate::domain::runtime;
use crate::server::callbacks::CALLBACKS;
use crate::server::jobs;
use crate::server::router;

/// Names the lock that one maker of a template holds.
const TEMPLATE_LOCK: i64 = 0x736c_7569_6365;

const PASSWORD: &str = "correct horse battery";

pub struct TestApp {
    pub app: App,
    pub clock: TestClock,
    router: Router,
    database: Database,
    expected_5xx: AtomicUsize,
    seen_5xx: AtomicUsize,
    breaks_chains: AtomicBool,
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Answer {
    /// The body of an answer that has to have this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        self.body
    }

    /// Status and code of an error.
    pub fn code(&self) -> (u16, &str) {
        (self.status.as_u16(), self.body["error"]["code"].as_str().unwrap_or_default())
    }
}

/// Signs the control plane of every test, and the data planes that talk to it.
pub fn authority() -> &'static Authority {
    static AUTHORITY: OnceLock<Authority> = OnceLock::new();
    AUTHORITY.get_or_init(|| Authority::make().unwrap())
}

/// `Authorization` of what a login answered.
pub fn bearer(opened: &Value) -> String {
    format!("Bearer {}", opened["token"].as_str().unwrap())
}

impl TestApp {
    pub async fn start() -> Self {
        Self::with(|_| {}, Arc::new(Unattended)).await
    }

    pub async fn configured(change: impl FnOnce(&mut Config)) -> Self {
        Self::with(change, Arc::new(Unattended)).await
    }

    /// Mail leaves, to this server.
    pub async fn mailing(server: &MailServer) -> Self {
        let url = Redacted::new(server.url());
        Self::configured(|config| config.smtp_url = Some(url)).await
    }

    /// All that waits to be done for a mail, and its leaving.
    pub async fn post_mail(&self) {
        self.settled().await;
        jobs::run_due(&self.app).await.unwrap();
        mails::run_due(&self.app).await.unwrap();
    }

    pub async fn with(change: impl FnOnce(&mut Config), provisioner: Arc<dyn Provisioner>) -> Self {
        Self::built(change, provisioner, None).await
    }

    /// A program that was built with a dashboard.
    pub async fn with_dashboard(files: DashboardFiles) -> Self {
        Self::of_browsers(|_| (), files).await
    }

    pub async fn of_browsers(change: impl FnOnce(&mut Config), files: DashboardFiles) -> Self {
        Self::built(change, Arc::new(Unattended), Some(files)).await
    }

    async fn built(
        change: impl FnOnce(&mut Config),
        provisioner: Arc<dyn Provisioner>,
        dashboard: Option<DashboardFiles>,
    ) -> Self {
        let database = Database::fresh().await;
        let clock = TestClock::at(DateTime::from_timestamp(1_790_000_000, 0).unwrap());
        let mut config = Config::new(database.url(), Keyring::new([7; 32]));
        // Tests come from one address, and all at the same moment of a clock that stands still.
        config.rate_limit_address = 1_000_000;
        config.rate_limit_failed_credentials = 1_000_000;
        (config.rate_limit_org, config.rate_limit_key) = (1_000_000, 1_000_000);
        config.v2_runtime_enabled = true;
        change(&mut config);
        let pool = PgPoolOptions::new().max_connections(4).connect_with(database.options.clone()).await.unwrap();
        let parts = Parts {
            clock: Arc::new(clock.clone()),
            entropy: Entropy::system().unwrap(),
            hash_cost: HashCost::TESTS,
            provisioner,
            identity: Some(authority().issue(CONTROL_PLANE_NAME).unwrap()),
            dashboard,
            telemetry: telemetry::Telemetry::default(),
            sql: Arc::new(sql::Analyzer),
            shutdown: CancellationToken::new(),
        };
        let app = App::new(config, parts, CALLBACKS, pool).unwrap();
        runtime::sql::switch(&app).await.unwrap();
        let router = router::router(&app);
        Self {
            app,
            clock,
            router,
            database,
            expected_5xx: AtomicUsize::new(0),
            seen_5xx: AtomicUsize::new(0),
            breaks_chains: AtomicBool::new(false),
        }
    }

    /// What another control plane over the same database is given.
    pub fn parts(&self) -> Parts {
        Parts {
            clock: Arc::new(self.clock.clone()),
            entropy: Entropy::system().unwrap(),
            hash_cost: HashCost::TESTS,
            provisioner: Arc::new(Unattended),
            identity: None,
            dashboard: None,
            telemetry: telemetry::Telemetry::default(),
            sql: Arc::new(sql::Analyzer),
            shutdown: CancellationToken::new(),
        }
    }

    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Until no request holds a connection. One that was refused lets go of its rows when its
    /// connection is given back, which is after its answer; what skips locked rows would miss them.
    pub async fn settled(&self) {
        let pool = self.app.pool();
        while pool.num_idle() < usize::try_from(pool.size()).unwrap() {
            tokio::task::yield_now().await;
        }
    }

    /// One request, without a socket; its answer as it begins.
    pub async fn open(&self, mut request: Request<Body>) -> Response {
        if request.extensions().get::<ConnectInfo<SocketAddr>>().is_none() {
            let peer = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 40_000);
            request.extensions_mut().insert(ConnectInfo(peer));
        }
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// One request, and its answer to the end.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let response = self.open(request).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        if parts.status.is_server_error() {
            self.seen_5xx.fetch_add(1, Ordering::Relaxed);
        }
        let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
        if self.app.config().v2_runtime_enabled || !path.starts_with(runtime::PREFIX) {
            conformance::conforms(&method, &path, parts.status, &parts.headers, &body);
        }
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// A request with an `Authorization` header (`Bearer …`, `ApiKey …`; empty for none) and a JSON
    /// body (`null` for none).
    pub async fn call(&self, method: Method, path: &str, authorization: &str, body: Value) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !authorization.is_empty() {
            request = request.header("authorization", authorization);
        }
        let body = if body.is_null() {
            Body::empty()
        } else {
            request = request.header("content-type", "application/json");
            Body::from(body.to_string())
        };
        self.send(request.body(body).unwrap()).await
    }

    pub async fn get(&self, path: &str, authorization: &str) -> Answer {
        self.call(Method::GET, path, authorization, Value::Null).await
    }

    pub async fn post(&self, path: &str, authorization: &str, body: Value) -> Answer {
        self.call(Method::POST, path, authorization, body).await
    }

    pub async fn put(&self, path: &str, authorization: &str, body: Value) -> Answer {
        self.call(Method::PUT, path, authorization, body).await
    }

    pub async fn delete(&self, path: &str, authorization: &str) -> Answer {
        self.call(Method::DELETE, path, authorization, Value::Null).await
    }

    /// The password of everybody in tests.
    #[expect(clippy::unused_self, reason = "reads as a property of the world")]
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// `{name}@example.com` founds an organization; answers as a login does.
    pub async fn signup(&self, name: &str, org_name: &str) -> Value {
        let email = format!("{name}@example.com");
        let body = json!({"name": name, "email": email, "password": PASSWORD, "org_name": org_name});
        self.post("/v1/signup", "", body).await.expect(201)
    }

    pub async fn login(&self, name: &str) -> Value {
        let body = json!({"email": format!("{name}@example.com"), "password": PASSWORD});
        self.post("/v1/auth/login", "", body).await.expect(200)
    }

    /// `{name}@example.com` has confirmed the address.
    pub async fn confirm(&self, name: &str) {
        sqlx::query("update accounts set email_verified_at = now() where email = $1")
            .bind(format!("{name}@example.com"))
            .execute(self.app.pool())
            .await
            .unwrap();
    }

    /// A new user of the organization that `by` is signed in to: invited, and come.
    pub async fn join(&self, by: &Value, name: &str, role: &str) -> Value {
        let body = json!({"email": format!("{name}@example.com"), "role": role});
        let invited = self.post(&self.org(by, "/users/invite"), &bearer(by), body).await.expect(201);
        let body = json!({"token": invited["invitation_token"], "password": PASSWORD, "name": name});
        self.post("/v1/auth/accept-invitation", "", body).await.expect(200)
    }

    /// A path below the organization that a login is to.
    #[expect(clippy::unused_self, reason = "reads as a property of the world")]
    pub fn org(&self, opened: &Value, rest: &str) -> String {
        format!("/v1/organizations/{}{rest}", opened["org"]["id"].as_str().unwrap())
    }

    /// Gives every organization this tier.
    pub async fn set_tier(&self, tier: &str) {
        sqlx::query("update organizations set tier = $1").bind(tier).execute(self.app.pool()).await.unwrap();
    }

    /// Types and changes of the events in an organization's chain.
    pub async fn events(&self, opened: &Value) -> Vec<(String, Value)> {
        sqlx::query_as("select event_type, changes from iam_events where org_id = $1 order by sequence")
            .bind(opened["org"]["id"].as_str().unwrap())
            .fetch_all(self.app.pool())
            .await
            .unwrap()
    }

    /// The URL of the test's own database.
    pub fn database_url(&self) -> String {
        self.database.url()
    }

    /// The test tampers with the audit trail.
    pub fn breaks_chains(&self) {
        self.breaks_chains.store(true, Ordering::Relaxed);
    }

    /// The test asks for this many 5xx answers.
    pub fn expect_5xx(&self, count: usize) {
        self.expected_5xx.fetch_add(count, Ordering::Relaxed);
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        let options = self.database.options.clone();
        let key = self.app.keyring().audit_key();
        // A test may end outside a runtime, or in one that must not block: a thread has its own.
        let broken = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let broken = broken_chains(&options, &key).await;
                drop_database(&options).await;
                broken
            })
        })
        .join();
        if std::thread::panicking() {
            return;
        }
        assert_eq!(self.seen_5xx.load(Ordering::Relaxed), self.expected_5xx.load(Ordering::Relaxed), "answers of 5xx");
        let broken = broken.unwrap();
        assert!(
            broken.is_empty() || self.breaks_chains.load(Ordering::Relaxed),
            "chains that do not verify: {broken:?}"
        );
    }
}

async fn broken_chains(options: &PgConnectOptions, key: &[u8]) -> Vec<OrgId> {
    let mut connection = PgConnection::connect_with(options).await.unwrap();
    let org_ids: Vec<String> =
        sqlx::query_scalar("select org_id from organizations").fetch_all(&mut connection).await.unwrap();
    let mut broken = Vec::new();
    for org_id in org_ids.into_iter().map(OrgId::from) {
        if events::verify(key, &mut connection, &org_id).await.unwrap().broken.is_some() {
            broken.push(org_id);
        }
    }
    broken
}

/// A database made from the template of these migrations.
struct Database {
    options: PgConnectOptions,
}

impl Database {
    async fn fresh() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let admin = admin();
        let template = template(&admin).await;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let random = u64::from_le_bytes(Entropy::system().unwrap().bytes());
        let name = format!("t_{}_{count}_{random:016x}", std::process::id());
        let mut connection = PgConnection::connect_with(&admin).await.unwrap();
        execute(&mut connection, format!("create database {name} template {template} strategy file_copy")).await;
        Self { options: admin.database(&name) }
    }

    fn url(&self) -> String {
        sqlx::ConnectOptions::to_url_lossy(&self.options).to_string()
    }
}

#[expect(clippy::disallowed_methods, reason = "the test run's one setting")]
fn admin() -> PgConnectOptions {
    let url = std::env::var("SLUICE_TEST_POSTGRES").expect("SLUICE_TEST_POSTGRES: the URL of a PostgreSQL superuser");
    url.parse().unwrap()
}

/// Made once for each set of migrations, by whoever comes first.
async fn template(admin: &PgConnectOptions) -> String {
    let mut digest = Sha256::new();
    for migration in MIGRATIONS.iter() {
        digest.update(&migration.checksum);
    }
    let name = format!("template_{}", &hex::encode(digest.finalize())[..16]);
    let mut connection = PgConnection::connect_with(admin).await.unwrap();
    sqlx::query("select pg_advisory_lock($1)").bind(TEMPLATE_LOCK).execute(&mut connection).await.unwrap();
    let found: Option<bool> = sqlx::query_scalar("select datistemplate from pg_database where datname = $1")
        .bind(&name)
        .fetch_optional(&mut connection)
        .await
        .unwrap();
    if found != Some(true) {
        // A maker that died left it half done.
        execute(&mut connection, format!("drop database if exists {name} with (force)")).await;
        execute(&mut connection, format!("create database {name}")).await;
        let pool = PgPool::connect_with(admin.clone().database(&name)).await.unwrap();
        MIGRATIONS.run(&pool).await.unwrap();
        pool.close().await;
        execute(&mut connection, format!("alter database {name} is_template true")).await;
    }
    sqlx::query("select pg_advisory_unlock($1)").bind(TEMPLATE_LOCK).execute(&mut connection).await.unwrap();
    name
}

async fn drop_database(options: &PgConnectOptions) {
    let name = options.get_database().unwrap().to_owned();
    let mut connection = PgConnection::connect_with(&admin()).await.unwrap();
    execute(&mut connection, format!("drop database if exists {name} with (force)")).await;
}

async fn execute(connection: &mut PgConnection, sql: String) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.unwrap();
}
