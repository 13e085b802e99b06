//! The operator that acts is killed: the other one takes over, and finishes what was begun.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::DeleteParams;
use kubernetes::{figure, until};
use serde_json::json;

use super::installation::{Tenant, installed};

const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(20);

/// The pod of the operator that holds the lease.
fn holder(lease: &Lease) -> String {
    let identity = lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone()).unwrap_or_default();
    identity.split('_').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_creation_outlives_the_operator_that_began_it() {
    let tenant = Tenant::applied(installed().await, "begun").await;
    let leases = tenant.world.api::<Lease>();
    let lease = until(&leases, "sluice-operator", "held", |it| !holder(it).is_empty()).await;
    let leader = holder(&lease);
    until(&tenant.world.api::<ServiceAccount>(), &tenant.name, "begun", |_| true).await;
    let killed = DeleteParams::default().grace_period(0);
    tenant.world.api::<Pod>().delete(&leader, &killed).await.unwrap();
    let began = Instant::now();
    // something that only a leader does
    tenant.apply(json!({"name": "Renamed"})).await;
    until(&leases, "sluice-operator", "another's", |it| !holder(it).is_empty() && holder(it) != leader).await;
    let taken_over = began.elapsed();
    tenant.settled().await;
    tenant.key("app", json!({})).await;
    assert_eq!(tenant.wire("app").await.ask("select 1").await, "1");
    figure(
        9,
        format_args!(
            "pods, a lease of 15 s: another leads {taken_over:?} after the kill, all is settled {:?} after",
            began.elapsed()
        ),
    );
    assert!(taken_over < TAKEN_OVER_WITHIN, "{taken_over:?}");
}
