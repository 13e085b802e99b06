//! Two operators, one that acts: handed over, killed, and held still past its lease.

use std::time::{Duration, Instant};

use crds::Environment;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kubernetes::audit::{Audit, Request};
use kubernetes::process::Process;
use kubernetes::wait::PATIENCE;
use kubernetes::{figure, until};
use nix::sys::signal::Signal;
use serde_json::json;

use super::bench::{Bench, LEASE_SECS, eventually};

fn holder(lease: &Lease) -> String {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone()).unwrap_or_default()
}

fn lease() -> Duration {
    Duration::from_secs(LEASE_SECS)
}

#[tokio::test]
async fn one_that_is_stopped_hands_over_within_a_second() {
    let bench = Bench::new("handover").await;
    let first = bench.operator("one").await;
    eventually("the first leads", async || first.leads()).await;
    let second = bench.operator("two").await;
    assert!(!second.leads());
    let leases = bench.world.api::<Lease>();
    until(&leases, "sluice-operator", "the first's", |it| holder(it).starts_with("one_")).await;
    first.stop().await;
    let start = Instant::now();
    eventually("the second leads", async || second.leads()).await;
    let took = start.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    figure(9, format_args!("one that is stopped hands over within {took:?}"));
    until(&leases, "sluice-operator", "the second's", |it| holder(it).starts_with("two_")).await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    second.stop().await;
}

#[tokio::test]
async fn one_that_watches_every_namespace_has_the_rights_to_see_them_all() {
    let bench = Bench::new("everywhere").await;
    let leader = bench.operator("one").await;
    eventually("the first leads", async || leader.leads()).await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    let standby = bench.operator_of_all("all").await;
    // a list that is refused keeps it from being ready for ever
    tokio::time::timeout(PATIENCE, standby.ready()).await.expect("it has seen every namespace");
    assert!(!standby.leads());
    standby.stop().await;
    leader.stop().await;
}

/// A process that leads, and one that stands by; each under an account of its own, by which the
/// audit log tells them apart.
async fn pair(bench: &Bench) -> (Process, Process) {
    let first = Process::start(bench, "one", &bench.account("first").await, &[]).await;
    eventually("the first leads", async || first.leads().await).await;
    let second = Process::start(bench, "two", &bench.account("second").await, &[]).await;
    second.ready().await;
    (first, second)
}

#[tokio::test]
async fn one_that_is_killed_is_replaced_within_a_lease() {
    let bench = Bench::new("replaced").await;
    let (first, second) = pair(&bench).await;
    let start = Instant::now();
    first.kill().await;
    eventually("the second leads", async || second.leads().await).await;
    // one second for a machine that is busy with other things
    let took = start.elapsed();
    assert!(took < lease() + Duration::from_secs(1), "{took:?}");
    figure(9, format_args!("a lease of {:?}: another leads {took:?} after the kill", lease()));
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    second.stop().await;
}

/// When the last renewal that succeeded was asked for, plus the time that it was good for.
fn deadline(bench: &Bench, audit: &Audit, account: &str) -> Timestamp {
    let of = audit.of(&bench.user(account)).into_iter().filter(|it| it.resource == "leases" && it.code < 300);
    let last = of.filter(Request::is_write).map(|it| it.at).max().expect("it led");
    last + SignedDuration::try_from(lease() * 2 / 3).unwrap()
}

#[tokio::test]
async fn one_that_was_held_still_past_its_lease_writes_nothing_when_it_goes_on() {
    let bench = Bench::new("stopped").await;
    let audit = Audit::begin();
    let (first, second) = pair(&bench).await;
    bench.organization("acme").await;
    let mut names = Vec::new();
    for index in 0..4 {
        names.push(bench.environment("acme", &format!("e{index}"), json!({})).await);
    }
    // in the middle of its work
    until(&bench.children(operator::objects::child::Kind::ConfigMap), "acme-e0-config", "written", |_| true).await;
    first.signal(Signal::SIGSTOP);
    eventually("the second leads", async || second.leads().await).await;
    let deadline = deadline(&bench, &audit, "first");
    // there is enough that it would do, if it believed that it leads
    for name in &names {
        bench.merge::<Environment>(name, json!({"spec": {"network": {"allowedCidrs": ["10.0.0.0/8"]}}})).await;
    }
    first.signal(Signal::SIGCONT);
    first.ready().await;
    eventually("the first knows", async || !first.leads().await).await;
    for name in &names {
        bench.settled(name).await;
    }
    let late: Vec<Request> = bench.asked_by("first", &audit);
    // one that was on its way when the process stopped is cut off: the server has its head and waits for the rest
    let cut_off = |it: &Request| it.code == 504;
    let late: Vec<_> = late.into_iter().filter(|it| it.is_write() && !cut_off(it) && it.at > deadline).collect();
    assert!(late.is_empty(), "after {deadline}: {late:#?}");
    let wrote = |account| bench.asked_by(account, &audit).iter().any(Request::is_write);
    assert!(wrote("first") && wrote("second"), "both have led");
    first.stop().await;
    second.stop().await;
}
