//! Off and on again: an environment by itself, and with its organization.

use std::time::{Duration, Instant};

use crds::{Environment, EnvironmentPhase};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::PersistentVolumeClaim};
use kubernetes::{World, figure, until};
use serde_json::json;

use super::installation::{Tenant, eventually};

/// How long a data plane serves on while others learn that it goes: nobody waits for its folder here.
const GRACE: Duration = Duration::from_secs(10);
/// Twice the goal: the machine is shared with other stages, and one that is slow has needed all of it.
const DRAINED_WITHIN: Duration = Duration::from_secs(10);
/// Beside the time that the node needs to start the pod, which other suites share.
const RESUMED_WITHIN: Duration = Duration::from_secs(10);

async fn phase(world: &World, name: &str, phase: EnvironmentPhase) -> Environment {
    until(&world.api::<Environment>(), name, "in its phase", |it: &Environment| {
        let status = it.status.as_ref();
        status.is_some_and(|it| it.phase == Some(phase))
            && status.and_then(|it| it.observed_generation) == it.metadata.generation
    })
    .await
}

/// No pod is left, not even one that ends.
async fn gone(tenant: &Tenant) {
    until(&tenant.world.api::<Deployment>(), &tenant.name, "without pods", |it: &Deployment| {
        it.spec.as_ref().and_then(|spec| spec.replicas) == Some(0)
    })
    .await;
    tenant.has_pods(0).await;
}

#[tokio::test]
async fn a_suspended_environment_drains_to_nothing_and_resumes_with_its_data() {
    let tenant = Tenant::ready("switched").await;
    let wire = tenant.wire("app").await;
    wire.ask("create table kept as select 7 as n").await;
    let claim = tenant.world.api::<PersistentVolumeClaim>().get("switched-dev-data").await.unwrap();

    let began = Instant::now();
    tenant.apply(json!({"suspended": true})).await;
    gone(&tenant).await;
    let drained = began.elapsed();
    phase(&tenant.world, &tenant.name, EnvironmentPhase::Suspended).await;
    assert!(!wire.psql("select n from kept").await.success, "nobody is there");

    let began = Instant::now();
    tenant.apply(json!({"suspended": false})).await;
    eventually("answering again", async || wire.is_reached().await && wire.psql("select 1").await.success).await;
    let resumed = began.elapsed();
    let started = tenant.pod_started_in().await;
    assert_eq!(wire.ask("select n from kept").await, "7");
    tenant.settled().await;
    let after = tenant.world.api::<PersistentVolumeClaim>().get("switched-dev-data").await.unwrap();
    assert_eq!(after.metadata.uid, claim.metadata.uid);
    figure(
        14,
        format_args!(
            "suspended after {drained:?}, of which {GRACE:?} are the grace; psql answers {resumed:?} after it was resumed, \
             of which its pod took {started:?} to be ready"
        ),
    );
    assert!(drained < GRACE + DRAINED_WITHIN, "{drained:?}");
    assert!(resumed < started + RESUMED_WITHIN, "{resumed:?}, of which the pod took {started:?}");
}

#[tokio::test]
async fn an_organization_that_is_suspended_takes_its_environments_with_it() {
    let tenant = Tenant::ready("stopped").await;
    let patch = |suspended: bool| json!({"spec": {"suspended": suspended}}).to_string();
    tenant.world.kubectl(&["patch", "organization/stopped", "--type=merge", "--patch", &patch(true)]).await;
    gone(&tenant).await;
    let seen = phase(&tenant.world, &tenant.name, EnvironmentPhase::Suspended).await;
    assert!(!seen.spec.suspended, "its own specification is not changed");
    tenant.world.kubectl(&["patch", "organization/stopped", "--type=merge", "--patch", &patch(false)]).await;
    tenant.settled().await;
    assert_eq!(tenant.wire("app").await.ask("select 1").await, "1");
}
