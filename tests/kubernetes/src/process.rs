//! The operator as a process of its own: what can be stopped, killed and weighed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::NamedTempFile;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::bench::{Bench, eventually};
use crate::wait::PATIENCE;

/// Killed when dropped.
pub struct Process {
    child: Child,
    /// Of the probes and metrics.
    address: SocketAddr,
    http: reqwest::Client,
    _kubeconfig: NamedTempFile,
    _log: JoinHandle<()>,
}

/// The program that `SLUICE_TEST_OPERATOR` names, else the one beside what runs now, which
/// `cargo build --workspace --bins` makes.
fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("SLUICE_TEST_OPERATOR") {
        return named.into();
    }
    let here = std::env::current_exe().unwrap();
    let found = here.ancestors().map(|folder| folder.join("operator")).find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("no program `operator` above {}: cargo build --workspace --bins", here.display()))
}

/// How the manifest tells the allocator to behave: memory is measured as it will be.
fn allocator() -> BTreeMap<String, String> {
    let manifest = std::fs::read_to_string("../../manifests/base/operator.yaml").unwrap();
    let mut lines = manifest.lines().map(str::trim);
    let mut told = BTreeMap::new();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("- name: ").filter(|name| name.starts_with("MALLOC_")) {
            let value = lines.next().and_then(|line| line.strip_prefix("value: ")).expect("its value");
            told.insert(name.to_owned(), value.trim_matches('\'').to_owned());
        }
    }
    assert_eq!(told.len(), 3, "{told:?}");
    told
}

impl Process {
    /// Starts one under the account of this token, and waits until it says where it listens.
    pub async fn start(bench: &Bench, pod: &str, token: &str, more: &[&str]) -> Self {
        let kubeconfig = NamedTempFile::new().unwrap();
        serde_json::to_writer(kubeconfig.as_file(), &bench.kubeconfig(token)).unwrap();
        let mut command = Command::new(program());
        command.args(bench.arguments(pod)).args(more).env("KUBECONFIG", kubeconfig.path()).env("RUST_LOG", "info");
        command.envs(allocator()).env_remove("RUST_MIN_STACK"); // which is for tests
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                let said: Value = serde_json::from_str(&line).unwrap();
                if let Some(address) = said["fields"]["address"].as_str() {
                    return address.parse().unwrap();
                }
            }
            panic!("the operator ended before it listened");
        };
        let address = timeout(PATIENCE, address).await.expect("no word of where the operator listens");
        // read on, or it would block; shown with the output of a test that fails
        let log = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                eprintln!("{line}");
            }
        });
        Self { child, address, http: reqwest::Client::new(), _kubeconfig: kubeconfig, _log: log }
    }

    /// Until its stores are complete.
    pub async fn ready(&self) {
        let url = format!("http://{}/readyz", self.address);
        eventually("ready", async || self.http.get(&url).send().await.is_ok_and(|it| it.status().is_success())).await;
    }

    pub async fn metrics(&self) -> String {
        let url = format!("http://{}/metrics", self.address);
        self.http.get(url).send().await.unwrap().text().await.unwrap()
    }

    /// The sum of all series that begin so.
    pub async fn measured(&self, series: &str) -> f64 {
        let text = self.metrics().await;
        let lines = text.lines().filter(|line| line.starts_with(series));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    pub async fn leads(&self) -> bool {
        self.measured("sluice_operator_leader ").await > 0.0
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().expect("it runs").try_into().unwrap())
    }

    /// To this process alone.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// KiB that it has in memory.
    pub fn memory(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// Of them, those that are its own: not pages of the program, which the system takes back when it likes.
    pub fn own_memory(&self) -> u64 {
        self.status("RssAnon:")
    }

    fn status(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Time that it has had a processor, in hundredths of a second as the system counts them.
    pub fn worked(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        // behind the name, which may hold anything, come state and ten more; then user and system
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum()
    }

    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    /// As a kubelet does.
    pub async fn stop(mut self) {
        self.signal(Signal::SIGTERM);
        let status = timeout(PATIENCE, self.child.wait()).await.expect("it does not stop").unwrap();
        assert!(status.success(), "{status}");
    }

    pub async fn kill(mut self) {
        self.signal(Signal::SIGKILL);
        self.child.wait().await.unwrap();
    }
}
