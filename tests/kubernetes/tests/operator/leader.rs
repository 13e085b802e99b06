//! Two operators, one that acts.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use kubernetes::until;

use super::bench::{Bench, eventually};

fn holder(lease: &Lease) -> String {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone()).unwrap_or_default()
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
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    until(&leases, "sluice-operator", "the second's", |it| holder(it).starts_with("two_")).await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    second.stop().await;
}
