//! The processes of the runtime that a test stops, kills and starts again: PostgreSQL, the control
//! plane, workers.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use sluice::postgres::{Durability, Places, Postgres};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use crate::worker::setting;
use crate::world::{command, connect, json_of};

const WITHIN: Duration = Duration::from_mins(3);
const KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";

/// For how long things go wrong in a soak; a test run does not say.
pub fn soak_secs() -> Option<u64> {
    std::env::var("SLUICE_SOAK_SECS").ok().map(|secs| secs.parse().expect("SLUICE_SOAK_SECS is a number"))
}

/// A server of its own that keeps what it has acknowledged.
pub struct Database {
    server: Option<Postgres>,
    places: Places,
    pub url: String,
}

impl Database {
    pub async fn start(folder: &Path) -> Self {
        let installation = std::env::var("SLUICE_PG").expect("SLUICE_PG names PostgreSQL: run ./dev test");
        let own = folder.join("pg");
        std::fs::create_dir(&own).unwrap();
        // The user that PostgreSQL runs as has to come in.
        for folder in [folder, &own] {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&own, Some(65_534), Some(65_534)).unwrap();
        }
        let places = Places::within(Path::new(&installation), &own);
        let server = Postgres::start(places.clone(), Durability::Kept).await.unwrap();
        Self { url: server.url("postgres"), server: Some(server), places }
    }

    /// It crashes, and recovers from its log.
    pub async fn crash(&mut self) {
        let text = std::fs::read_to_string(self.places.data.join("postmaster.pid")).unwrap();
        signal_to(text.lines().next().unwrap().trim().parse().unwrap(), Signal::SIGQUIT);
        self.restart().await;
    }

    pub async fn restart(&mut self) {
        self.server.take().unwrap().stop().await.unwrap();
        self.server = Some(Postgres::start(self.places.clone(), Durability::Kept).await.unwrap());
    }

    pub async fn client(&self) -> tokio_postgres::Client {
        connect(&self.url.parse().unwrap()).await.unwrap()
    }

    pub async fn stop(mut self) {
        self.server.take().unwrap().stop().await.unwrap();
    }
}

/// One replica of the control plane.
pub struct ControlPlane {
    child: Child,
    pub http: SocketAddr,
}

impl ControlPlane {
    pub async fn start(database: &Database) -> Self {
        let mut child = command("controlplane")
            .env("DATABASE_URL", &database.url)
            .env("SLUICE_SECRET_KEY", KEY)
            .env("SLUICE_PUBLIC_URL", "http://localhost:8080") // the issuer of its tokens, however often it starts
            .env("SLUICE_HTTP_LISTEN", "127.0.0.1:0")
            .env("SLUICE_GRPC_LISTEN", "127.0.0.1:0")
            .env("SVC_V2_RUNTIME_ENABLED", "true")
            .env("SVC_RATE_LIMIT_ORG", "10000000")
            .env("SVC_RATE_LIMIT_KEY", "10000000")
            .env("RUST_LOG", "info")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let listening = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                let line: Value = serde_json::from_str(&line).unwrap_or_default();
                if let Some(http) = line["fields"]["http.listen"].as_str() {
                    return http.parse().unwrap();
                }
            }
            panic!("the control plane ended while it started");
        };
        let http = tokio::time::timeout(WITHIN, listening).await.expect("the control plane serves");
        // What it goes on to say is read away, or it would stop to wait for a reader.
        tokio::task::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { child, http }
    }

    /// `Authorization` of the owner of a new organization.
    pub async fn signup(&self) -> String {
        let body = json!({"name": "Olga", "email": "olga@acme.example", "password": "correct horse battery", "org_name": "Acme"});
        let url = format!("http://{}/v1/signup", self.http);
        let opened = json_of(reqwest::Client::new().post(url).json(&body).send().await.unwrap()).await;
        format!("Bearer {}", opened["token"].as_str().unwrap())
    }

    /// kill -9.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }
}

pub struct Worker {
    child: Child,
}

impl Worker {
    pub fn start(url: &str, authorization: &str, history: &Path, seed: u64) -> Self {
        let child = command("worker")
            .env(setting::URL, url)
            .env(setting::AUTHORIZATION, authorization)
            .env(setting::HISTORY, history)
            .env(setting::SEED, seed.to_string())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { child }
    }

    pub fn signal(&self, signal: Signal) {
        signal_to(i32::try_from(self.child.id().unwrap()).unwrap(), signal);
    }

    /// kill -9.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }
}

fn signal_to(process: i32, signal: Signal) {
    kill(Pid::from_raw(process), signal).unwrap();
}

/// Where a worker writes down what it was answered.
pub fn history(folder: &Path) -> PathBuf {
    folder.join("history.jsonl")
}
