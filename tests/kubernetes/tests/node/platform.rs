//! The work of a platform team: `helm install`, `kubectl apply` of the samples, a query. With the real
//! programs in real pods, which the pod security `restricted` admits.

use crds::{ApiKey, Environment};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::PersistentVolumeClaim};
use kube::api::DeleteParams;
use kubernetes::{World, absent, commands::helm, ready, until, wait::says};
use reqwest::Method;
use serde_json::json;

use super::installation::{ROOT, Rest, entry, installed, shared};
use super::wire_client::WireClient;

/// The samples, ready.
async fn environment(world: &World) -> Environment {
    world.kubectl(&["apply", "--filename", &format!("{ROOT}/manifests/samples")]).await;
    ready(&world.api::<ApiKey>(), "acme-dev-app").await;
    ready(&world.api::<Environment>(), "acme-dev").await
}

#[tokio::test]
async fn an_applied_environment_answers_by_psql_and_by_rest_and_keeps_its_data() {
    let world = shared().await;
    let applied = environment(&world).await;
    let status = applied.status.unwrap();
    assert_eq!(status.env_id, applied.metadata.uid);
    assert_eq!(serde_json::to_value(status.phase).unwrap(), "active");

    let wire = WireClient::open(&world, "acme-dev", "dev", entry(&world, "acme-dev-app", "key").await).await;
    wire.ask("create table t as select 42 as answer").await;
    assert_eq!(wire.ask("select answer from t").await, "42");

    let rest = Rest::of(&world, format!("ApiKey {}", wire.key)).await;
    let query = format!("/v1/environments/{}/query", status.env_id.unwrap());
    let answer = rest.ok(Method::POST, &query, json!({"sql": "select answer from t"})).await;
    assert!(answer.to_string().contains("42"), "{answer}");

    world.api::<Environment>().delete("acme-dev", &DeleteParams::default()).await.unwrap();
    absent(&world.api::<Environment>(), "acme-dev").await;
    absent(&world.api::<Deployment>(), "acme-dev").await;
    let volume = world.api::<PersistentVolumeClaim>().get("acme-dev-data").await.unwrap();
    assert!(volume.metadata.deletion_timestamp.is_none());
}

#[tokio::test]
async fn another_operator_restarts_no_data_plane() {
    let world = installed().await;
    environment(&world).await;
    let workload = world.api::<Deployment>().get("acme-dev").await.unwrap();

    let chart = format!("{ROOT}/charts/sluice");
    let changed = "operator.log=debug,operator.concurrency=8";
    let upgrade = ["upgrade", "sluice", &chart, "--namespace", &world.namespace, "--reuse-values", "--set", changed];
    helm(&[upgrade.as_slice(), &["--wait", "--timeout=2m"]].concat()).await;
    // the new operator works: it sees a change of the specification
    world.kubectl(&["patch", "env/acme-dev", "--type=merge", "--patch", r#"{"spec":{"name":"Renamed"}}"#]).await;
    until(&world.api::<Environment>(), "acme-dev", "seen again", |environment: &Environment| {
        let seen = environment.status.as_ref().and_then(|status| status.observed_generation);
        seen == environment.metadata.generation && says(environment, "Ready")
    })
    .await;
    let after = world.api::<Deployment>().get("acme-dev").await.unwrap();
    assert_eq!(after.metadata.generation, workload.metadata.generation);
}
