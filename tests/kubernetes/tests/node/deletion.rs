//! Objects left of an environment that was deleted: those that its policy keeps, and no less.

use crds::{ApiKey, ConditionType, Environment, Reason};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use kube::api::DeleteParams;
use kubernetes::{absent, until};
use serde_json::json;

use super::installation::{Tenant, shared};

#[tokio::test]
async fn an_environment_of_the_same_name_takes_up_the_volume_that_was_retained() {
    let tenant = Tenant::ready("retained").await;
    tenant.wire("app").await.ask("create table kept as select 7 as n").await;
    let environments = tenant.world.api::<Environment>();
    environments.delete(&tenant.name, &DeleteParams::default()).await.unwrap();
    absent(&environments, &tenant.name).await;
    absent(&tenant.world.api::<ApiKey>(), &tenant.key_name("app")).await;
    absent(&tenant.world.api::<Secret>(), &tenant.key_name("app")).await;
    let claims = tenant.world.api::<PersistentVolumeClaim>();
    let claim = claims.get("retained-dev-data").await.unwrap();

    tenant.apply(json!({})).await;
    tenant.settled().await;
    tenant.key("app", json!({})).await;
    assert_eq!(tenant.wire("app").await.ask("select n from kept").await, "7");
    let taken = claims.get("retained-dev-data").await.unwrap();
    assert_eq!(taken.metadata.uid, claim.metadata.uid);
}

#[tokio::test]
async fn a_volume_goes_only_when_the_policy_says_so_and_somebody_has_confirmed_it() {
    let tenant = Tenant::applied(shared().await, "doomed").await;
    tenant.apply(json!({"deletionPolicy": "Delete"})).await;
    tenant.settled().await;
    let environments = tenant.world.api::<Environment>();
    environments.delete(&tenant.name, &DeleteParams::default()).await.unwrap();
    until(&environments, &tenant.name, "not confirmed", |it: &Environment| {
        let conditions = it.status.iter().flat_map(|status| &status.conditions);
        let mut ready = conditions.filter(|condition| condition.type_ == ConditionType::Ready);
        ready.any(|condition| condition.reason == Reason::DeletionNotConfirmed)
    })
    .await;
    let claims = tenant.world.api::<PersistentVolumeClaim>();
    assert!(claims.get("doomed-dev-data").await.unwrap().metadata.deletion_timestamp.is_none());

    tenant.world.kubectl(&["annotate", "env/doomed-dev", "sluice.dev/confirm-delete=dev"]).await;
    absent(&environments, &tenant.name).await;
    absent(&claims, "doomed-dev-data").await;
}
