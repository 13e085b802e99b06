//! Applied, there; deleted, gone, and the data kept.

use crds::{Environment, EnvironmentPhase, Organization, OrganizationPhase};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use kube::ResourceExt;
use kubernetes::audit::Audit;
use kubernetes::{absent, until};
use operator::authority::facts;

use super::bench::{Bench, eventually};

#[tokio::test]
async fn an_applied_environment_gets_its_children_within_its_budget_of_requests() {
    let bench = Bench::new("life").await;
    let operator = bench.operator("one").await;
    bench.organization("acme").await;
    until(&bench.world.api::<Organization>(), "acme", "active", |it: &Organization| {
        it.status.as_ref().and_then(|status| status.phase) == Some(OrganizationPhase::Active)
    })
    .await;
    // what the operator makes once, for itself and for the organization, is not the environment's
    for name in ["sluice-authority", "sluice-controlplane-tls", "sluice-controlplane-secret", "acme-ca"] {
        until(&bench.world.api::<Secret>(), name, "there", |_| true).await;
    }
    let audit = Audit::begin();
    let name = bench.environment("acme", "prod", serde_json::json!({})).await;
    let environment = bench.settled(&name).await;
    let children: Vec<_> = bench.all_children(&name).await.into_keys().collect();
    for child in [
        "ConfigMap/acme-prod-config",
        "Deployment/acme-prod",
        "NetworkPolicy/acme-prod",
        "PersistentVolumeClaim/acme-prod-data",
        "Secret/acme-prod-identity",
        "Secret/acme-prod-tls",
        "Service/acme-prod",
        "ServiceAccount/acme-prod",
    ] {
        assert!(children.iter().any(|it| it == child), "{child} is not among {children:?}");
    }
    let status = environment.status.unwrap();
    assert_eq!((status.phase, status.env_id), (Some(EnvironmentPhase::Provisioning), environment.metadata.uid));
    let asked = bench.asked(&audit);
    // one that a busy server did not answer in time is made again
    let writes: Vec<_> = asked.iter().filter(|it| it.is_write() && it.resource != "events" && it.code != 504).collect();
    let reads: Vec<_> = asked.iter().filter(|it| it.verb == "get" || it.verb == "list").collect();
    // a state of the pod is told behind them, and on a slow machine it may be there before this is counted
    let told = writes.iter().filter(|it| it.resource == "environments/status").count();
    assert!(writes.len() - told <= 10 && told <= 3, "{} writes, {told} of the status: {writes:#?}", writes.len());
    assert!(reads.len() <= 2, "{reads:#?}");
    assert!(asked.iter().all(|it| it.code != 403), "{asked:#?}");
    operator.stop().await;
}

#[tokio::test]
async fn an_environments_certificate_names_it_by_its_uid_and_nobody_elses() {
    let bench = Bench::new("certificate").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    let environment = bench.settled(&name).await;
    let secret = bench.world.api::<Secret>().get("acme-prod-identity").await.unwrap().data.unwrap();
    let pem = String::from_utf8(secret["tls.crt"].0.clone()).unwrap();
    let env_id = contract::EnvId::from(environment.uid().unwrap());
    assert_eq!(facts(&pem).unwrap().dns_names, [contract::wire::environment_name(&env_id)]);
    let authority = bench.world.api::<Secret>().get("sluice-authority").await.unwrap().data.unwrap();
    assert_eq!(secret["ca.crt"], authority["ca.crt"]);
    for name in ["sluice-controlplane-tls", "sluice-controlplane-secret", "acme-ca"] {
        until(&bench.world.api::<Secret>(), name, "there", |_| true).await;
    }
    operator.stop().await;
}

#[tokio::test]
async fn a_deleted_environment_goes_with_everything_but_its_data() {
    let bench = Bench::new("deletion").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    bench.delete_environment(&name).await;
    absent(&bench.world.api::<Environment>(), &name).await;
    eventually("only the volume is left", async || {
        let left: Vec<_> = bench.all_children(&name).await.into_keys().collect();
        left == ["PersistentVolumeClaim/acme-prod-data"]
    })
    .await;
    bench.world.api::<PersistentVolumeClaim>().get("acme-prod-data").await.unwrap();
    bench.delete_organization("acme").await;
    absent(&bench.world.api::<Organization>(), "acme").await;
    operator.stop().await;
}

#[tokio::test]
async fn an_organization_waits_for_its_environments_to_go() {
    let bench = Bench::new("waits").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    bench.delete_organization("acme").await;
    until(&bench.world.api::<Organization>(), "acme", "waiting", |it: &Organization| {
        it.status.as_ref().and_then(|status| status.phase) == Some(OrganizationPhase::Cancelled)
    })
    .await;
    bench.delete_environment(&name).await;
    absent(&bench.world.api::<Organization>(), "acme").await;
    operator.stop().await;
}

/// As after an uninstall: the operator is gone, its finalizers are not. What to do then is in the chart's README.
#[tokio::test]
async fn without_an_operator_an_environment_goes_when_its_finalizer_is_taken_off_and_its_data_stays() {
    const TAKEN_OFF: &str = r#"{"metadata":{"finalizers":null}}"#;
    assert!(std::fs::read_to_string("../../charts/sluice/README.md").unwrap().contains(TAKEN_OFF));
    let bench = Bench::new("uninstalled").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    let claim = async || bench.world.api::<PersistentVolumeClaim>().get("acme-prod-data").await.unwrap().uid();
    let before = claim().await;
    operator.stop().await;
    bench.delete_environment(&name).await;
    bench.delete_organization("acme").await;
    until(&bench.world.api::<Environment>(), &name, "deleted, and there", |it| {
        it.metadata.deletion_timestamp.is_some()
    })
    .await;
    for one in [format!("env/{name}"), "organizations.sluice.dev/acme".to_owned()] {
        bench.world.kubectl(&["patch", &one, "--type=merge", "--patch", TAKEN_OFF]).await;
    }
    absent(&bench.world.api::<Environment>(), &name).await;
    absent(&bench.world.api::<Organization>(), "acme").await;
    eventually("only the volume is left", async || {
        let left: Vec<_> = bench.all_children(&name).await.into_keys().collect();
        left == ["PersistentVolumeClaim/acme-prod-data"]
    })
    .await;
    assert_eq!(claim().await, before, "it is the volume of before");
}
