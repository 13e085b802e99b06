//! Commands of people: kubectl, helm, psql.

use std::{
    fmt::Write as _,
    net::SocketAddr,
    process::{Command as StdCommand, Output, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

use crate::world::kubeconfig;

const PATIENCE: Duration = Duration::from_mins(3);

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub success: bool,
    pub out: String,
    pub err: String,
}

impl Done {
    /// Its output; a failure fails the test with what was said.
    pub fn ok(self) -> String {
        assert!(self.success, "{}{}", self.out, self.err);
        self.out
    }
}

/// Runs a program with the cluster's kubeconfig, with `input` on its standard input.
pub async fn run(program: &str, arguments: &[&str], input: &str) -> Done {
    let mut command = Command::new(program);
    command.args(arguments).env("KUBECONFIG", kubeconfig()).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{program}: {error}; ./dev prepare fetches it"));
    let mut stdin = child.stdin.take().unwrap();
    let feed = async move {
        let _ = stdin.write_all(input.as_bytes()).await; // it may not want to read it
    };
    let both = async { tokio::join!(feed, child.wait_with_output()).1 };
    let done = timeout(PATIENCE, both).await.unwrap_or_else(|_| panic!("{program} {arguments:?}: no end"));
    said(done.unwrap())
}

fn said(output: Output) -> Done {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Done { success: output.status.success(), out: text(output.stdout), err: text(output.stderr) }
}

pub async fn kubectl(arguments: &[&str]) -> String {
    run("kubectl", arguments, "").await.ok()
}

/// `kubectl apply --filename -`.
pub async fn kubectl_apply(namespace: &str, yaml: &str) -> String {
    run("kubectl", &["--namespace", namespace, "apply", "--filename", "-"], yaml).await.ok()
}

pub async fn helm(arguments: &[&str]) -> String {
    run("helm", arguments, "").await.ok()
}

/// One statement by psql, unaligned and without headers; `connection` is a URL or a conninfo.
pub async fn psql(connection: &str, sql: &str) -> Done {
    run("psql", &["--no-psqlrc", "--tuples-only", "--no-align", "--dbname", connection, "--command", sql], "").await
}

/// A way from this process to a port in the cluster, open until dropped.
#[derive(Debug)]
pub struct Forward {
    pub address: SocketAddr,
    _kubectl: Child,
    _said: Lines<BufReader<ChildStdout>>, // it dies of a closed pipe when it says more
}

impl Forward {
    /// `target` as kubectl names it: `service/acme-dev`.
    pub async fn to(namespace: &str, target: &str, port: u16) -> Self {
        let ports = format!(":{port}");
        let mut command = Command::new("kubectl");
        command.args(["--namespace", namespace, "port-forward", target, &ports]).env("KUBECONFIG", kubeconfig());
        let mut kubectl = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(kubectl.stdout.take().unwrap()).lines();
        let said = timeout(PATIENCE, lines.next_line()).await.expect("no word of port-forward").unwrap();
        let said = said.unwrap_or_else(|| panic!("no way to {target}"));
        let address = said.strip_prefix("Forwarding from ").and_then(|rest| rest.split(' ').next());
        let address = address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("{said}"));
        Self { address, _kubectl: kubectl, _said: lines }
    }
}

/// What is in a namespace, for whoever reads the failure: objects, events, logs. Never a Secret.
pub(crate) fn dump(namespace: &str) -> String {
    let mut text = String::new();
    let kinds = "all,configmaps,persistentvolumeclaims,networkpolicies,poddisruptionbudgets,leases,organizations.sluice.dev,environments.sluice.dev,apikeys.sluice.dev";
    let statuses = "organizations.sluice.dev,environments.sluice.dev,apikeys.sluice.dev,pods";
    let sections: [&[&str]; 3] = [
        &["get", kinds, "--output", "wide", "--ignore-not-found"],
        &["get", statuses, "--output", "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.status}{\"\\n\"}{end}"],
        &["get", "events", "--sort-by", ".lastTimestamp"],
    ];
    for section in sections {
        let _ = writeln!(text, "── kubectl {}\n{}", section.join(" "), quick(namespace, section));
    }
    for pod in quick(namespace, &["get", "pods", "--output", "name"]).lines() {
        for previous in ["--previous=false", "--previous"] {
            let logs = quick(namespace, &["logs", pod, "--all-containers", "--tail=60", previous]);
            let _ = writeln!(text, "── logs of {pod} {previous}\n{logs}");
        }
    }
    text
}

pub(crate) fn forget(namespace: &str) {
    quick(namespace, &["delete", "namespace", namespace, "--wait=false"]);
}

/// For where nothing can be awaited.
fn quick(namespace: &str, arguments: &[&str]) -> String {
    let mut command = StdCommand::new("kubectl");
    command.args(["--namespace", namespace, "--request-timeout=10s"]).args(arguments).env("KUBECONFIG", kubeconfig());
    match command.stdin(Stdio::null()).output() {
        Ok(output) => {
            let Done { out, err, .. } = said(output);
            out + &err
        }
        Err(error) => format!("kubectl: {error}"),
    }
}
