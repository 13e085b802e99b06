//! One data plane: its process, where it listens, what its probes say, how it ends.

use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use contract::wire::setting;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

use super::Installation;
use crate::world::command;

const WITHIN: Duration = Duration::from_mins(3);

pub struct Pod {
    child: Child,
    pub psql: SocketAddr,
    pub tools: SocketAddr,
    pub rest: SocketAddr,
    pub probes: SocketAddr,
    log: Arc<Mutex<Vec<Value>>>,
}

impl Pod {
    /// A process on the environment's volume; `more` are further settings.
    pub async fn start(installation: &Installation, more: &[(&str, &str)]) -> Self {
        let Installation { identity, tls, .. } = installation;
        let mut child = command("dataplane")
            .env(setting::ENV_ID, installation.env_id.as_str())
            .env(setting::CONTROL_PLANE, installation.grpc())
            .env(setting::TLS_CA, identity.file("ca.crt"))
            .env(setting::TLS_CERT, identity.file("tls.crt"))
            .env(setting::TLS_KEY, identity.file("tls.key"))
            .env(setting::PG_TLS_CERT, tls.file("tls.crt"))
            .env(setting::PG_TLS_KEY, tls.file("tls.key"))
            .env(setting::STATE, installation.volume())
            .env(setting::ENDPOINT_GRACE_SECS, "0")
            .env("SLUICE_RELOAD_MS", "20")
            .args(["--listen=127.0.0.1", "--pgwire-port=0", "--tools-port=0", "--rest-port=0", "--probes-port=0"])
            .envs(more.iter().copied())
            .env("RUST_LOG", "info")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let listening = tokio::time::timeout(WITHIN, listening(&mut lines)).await.expect("it listens");
        let address = |name: &str| listening["fields"][name].as_str().unwrap().parse().unwrap();
        let log = Arc::<Mutex<Vec<Value>>>::default();
        tokio::task::spawn(keep(lines, Arc::clone(&log)));
        let (psql, tools) = (address("pgwire"), address("tools"));
        Self { psql, tools, rest: address("rest"), probes: address("probes"), child, log }
    }

    /// `/ready`: its status and body.
    pub async fn ready(&self) -> (u16, Value) {
        let answer = reqwest::get(format!("http://{}/ready", self.probes)).await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// Waits until `/ready` says 200 and the engine is as told.
    pub async fn until(&self, engine: &str) {
        let tried = async {
            loop {
                let (status, body) = self.ready().await;
                if status == 200 && body["engine"] == engine {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let became = tokio::time::timeout(WITHIN, tried).await;
        assert!(became.is_ok(), "it never was {engine}: {:?}", self.ready().await);
    }

    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        let process = i32::try_from(self.pid()).unwrap();
        kill(Pid::from_raw(process), signal).unwrap();
    }

    /// How it ended.
    pub async fn ended(&mut self) -> ExitStatus {
        tokio::time::timeout(WITHIN, self.child.wait()).await.expect("it ends").unwrap()
    }

    /// Waits for a line of its log.
    pub async fn said(&self, message: &str) {
        let tried = async {
            while !self.log.lock().unwrap().iter().any(|line| line["fields"]["message"] == message) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let said = tokio::time::timeout(WITHIN, tried).await;
        assert!(said.is_ok(), "it never said {message:?}: {:#?}", self.log.lock().unwrap());
    }
}

async fn listening(lines: &mut Lines<BufReader<ChildStdout>>) -> Value {
    let mut said = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["fields"]["message"] == "listening" {
            return line;
        }
        said.push(line);
    }
    panic!("it ended without listening: {said:#?}");
}

async fn keep(mut lines: Lines<BufReader<ChildStdout>>, log: Arc<Mutex<Vec<Value>>>) {
    while let Ok(Some(line)) = lines.next_line().await {
        log.lock().unwrap().push(serde_json::from_str(&line).unwrap());
    }
}
