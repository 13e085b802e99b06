//! Prometheus' own checker accepts what each program serves, and the alerts of the chart.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use clap::Parser;
use contract::{Entropy, EnvId, SystemClock};
use operator::config::Config;
use operator::runtime::Operator;
use tests::World;

/// The checker, where this machine has it: `./dev test` fetches it. Where it cannot be had the test says so, past
/// what is captured, and in CI it fails.
fn promtool() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let fetched = "../.sluice/bin";
    let mut found = std::env::split_paths(&path).chain([fetched.into()]).map(|folder| folder.join("promtool"));
    let found = found.find(|program| program.is_file());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "no promtool");
        writeln!(std::io::stderr(), "SKIPPED: Prometheus' checker is not here; ./dev doctor").unwrap();
    }
    found
}

fn checked(program: &Path, what: &[&str], said: &str) {
    let mut checker = Command::new(program);
    checker.arg("check").args(what).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut checker = checker.spawn().unwrap();
    checker.stdin.take().unwrap().write_all(said.as_bytes()).unwrap();
    let answer = checker.wait_with_output().unwrap();
    let complaints = format!("{}{}", String::from_utf8_lossy(&answer.stdout), String::from_utf8_lossy(&answer.stderr));
    assert!(answer.status.success(), "{what:?}: {complaints}\n{said}");
}

async fn scraped(address: std::net::SocketAddr) -> String {
    let answer = reqwest::get(format!("http://{address}/metrics")).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    answer.text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_checker_accepts_what_planes_measure() {
    let Some(promtool) = promtool() else { return };
    let world = World::new().await;
    world.query(&world.key, "select * from nowhere").await;
    let probes = world.platform().environments.probes(&EnvId::from(world.env_id.clone())).await.unwrap();
    for (address, series) in [
        (world.platform().control.metrics, "sluice_controlplane_requests_total{"),
        (probes, "sluice_dataplane_queries_total{"),
    ] {
        let said = scraped(address).await;
        assert!(said.contains(series), "{said}");
        checked(&promtool, &["metrics"], &said);
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_checker_accepts_what_an_operator_measures() {
    let Some(promtool) = promtool() else { return };
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = Config::try_parse_from(["operator", "--release-namespace=sluice", "--listen=127.0.0.1:0"]).unwrap();
    let nowhere = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let entropy = Entropy::system().unwrap();
    let operator = Operator::start(config, nowhere, Arc::new(SystemClock), entropy, None).await.unwrap();
    let said = scraped(operator.address).await;
    assert!(said.contains("\nsluice_operator_leader 0\n"), "{said}");
    checked(&promtool, &["metrics"], &said);
    operator.stop().await;
}

#[test]
fn the_checker_accepts_the_alerts() {
    let Some(promtool) = promtool() else { return };
    let rules = "../charts/sluice/alerts.yaml";
    checked(&promtool, &["rules", rules], "");
}
