//! Operators that die: nothing is finished, nothing is given back.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use operator::metrics::Metrics;
use operator::runtime::Operator;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::bench::Bench;

/// Longer than one that has something to do pauses, on a machine that is busy.
const IDLE: Duration = Duration::from_secs(6);
/// It leads, and has read everything, before it does anything.
const FIRST: Duration = Duration::from_mins(1);
/// The API server may still do meanwhile what was on its way; a lease would be longer.
const UNDER_WAY: Duration = Duration::from_millis(200);
const LEASE: &str = "sluice-operator";

/// Whether a line of the operator's metrics counts changes that it made at the API server.
pub fn is_change(line: &str) -> bool {
    line.starts_with("sluice_operator_api_requests_total")
        && !line.contains(r#"resource="leases""#)
        && ["patch", "create", "delete"].iter().any(|verb| line.contains(&format!(r#"verb="{verb}""#)))
}

/// The same of changes to one of these resources.
pub fn is_change_of(line: &str, resources: &[&str]) -> bool {
    is_change(line) && resources.iter().any(|resource| line.contains(&format!(r#"resource="{resource}""#)))
}

/// Whether it counts how often one of these steps was taken for a kind.
pub fn is_step_of(line: &str, kind: &str, steps: &[&str]) -> bool {
    let rest = line.strip_prefix("sluice_operator_step_seconds_count");
    let of = |step: &&str| rest.is_some_and(|rest| rest.starts_with(&format!(r#"{{kind="{kind}",step="{step}"}}"#)));
    steps.iter().any(of)
}

fn count(metrics: &Metrics, counted: fn(&str) -> bool) -> u64 {
    let text = metrics.text().unwrap();
    text.lines().filter(|line| counted(line)).filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// Runs an operator on a runtime of its own, and takes the runtime away once it has done so much of what is counted,
/// or has nothing left to do. Says whether it had so much to do. Its Lease is free then.
pub async fn killed_after(bench: &Bench, steps: u64, counted: fn(&str) -> bool) -> bool {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (sender, receiver) = tokio::sync::oneshot::channel::<Metrics>();
    let start = bench.start("victim");
    runtime.spawn(async move {
        let operator: Operator = start.await;
        let _ = sender.send(operator.metrics.clone());
        std::future::pending::<()>().await;
        drop(operator);
    });
    let metrics = receiver.await.unwrap();
    let (mut last, mut since) = (0, Instant::now());
    let mut ticks = tokio::time::interval(Duration::from_millis(1));
    let patience = |done: u64| if done == 0 { FIRST } else { IDLE };
    while last < steps && since.elapsed() < patience(last) {
        ticks.tick().await;
        let now = count(&metrics, counted);
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    tokio::task::spawn_blocking(move || runtime.shutdown_timeout(IDLE)).await.unwrap();
    sleep(UNDER_WAY).await;
    freed(bench).await;
    last >= steps
}

/// Nobody waits for the Lease of one that is dead: that another does until it runs out is a test of leaders.
async fn freed(bench: &Bench) {
    if bench.world.api::<Lease>().get_opt(LEASE).await.unwrap().is_some() {
        bench.merge::<Lease>(LEASE, json!({"spec": {"holderIdentity": ""}})).await;
    }
}
