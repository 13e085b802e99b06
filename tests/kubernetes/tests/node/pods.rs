//! The node that the tests stand on: what Sluice asks of Kubernetes is there.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{PersistentVolume, PersistentVolumeClaim, Service},
};
use kube::{Api, api::DeleteParams};
use kubernetes::{World, absent, commands, until, wait::says};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A claim, a Deployment that keeps a line for each start in it, and a Service.
async fn probe(world: &World) -> Api<Deployment> {
    world
        .apply(json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "probe"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }))
        .await;
    world
        .apply(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "probe"},
            "spec": {"selector": {"app": "probe"}, "ports": [{"port": 80, "targetPort": 8080}]},
        }))
        .await;
    world.apply(deployment("first")).await;
    available(world).await
}

fn deployment(version: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "probe"},
        "spec": {
            "selector": {"matchLabels": {"app": "probe"}},
            "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": {"app": "probe", "version": version}},
                "spec": {
                    "automountServiceAccountToken": false,
                    "securityContext": {
                        "runAsNonRoot": true, "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [{
                        "name": "probe", "image": "sluice-probe:dev", "imagePullPolicy": "Never",
                        "args": ["serve", "/data"],
                        "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1},
                        "securityContext": {
                            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                            "runAsUser": 65532, "capabilities": {"drop": ["ALL"]},
                        },
                        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    }],
                    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "probe"}}],
                },
            },
        },
    })
}

/// Every replica of the newest version answers, and no other is left.
async fn available(world: &World) -> Api<Deployment> {
    let deployments = world.api::<Deployment>();
    until(&deployments, "probe", "rolled out", |probe| {
        let status = probe.status.clone().unwrap_or_default();
        status.observed_generation == probe.metadata.generation
            && (status.updated_replicas, status.replicas) == (Some(1), Some(1))
            && says(probe, "Available")
    })
    .await;
    deployments
}

async fn asked_inside(world: &World, address: &str) -> String {
    world.kubectl(&["exec", "deployment/probe", "--", "/usr/local/bin/probe", "ask", address]).await
}

#[tokio::test]
async fn a_restricted_deployment_answers_by_address_and_by_name() {
    let world = World::new("answers").await;
    probe(&world).await;
    let service = world.api::<Service>().get("probe").await.unwrap();
    let address = format!("{}:80", service.spec.unwrap().cluster_ip.unwrap());
    let name = format!("probe.{}.svc.cluster.local:80", world.namespace);
    let answers = [&address, &name, "probe:80"].map(|to| asked_inside(&world, to));
    for answer in futures::future::join_all(answers).await {
        assert!(answer.starts_with("probe-"), "{answer}");
    }
}

#[tokio::test]
async fn logs_and_a_forwarded_port_reach_the_pod() {
    let world = World::new("reach").await;
    probe(&world).await;
    assert_eq!(world.kubectl(&["logs", "deployment/probe"]).await, "serving\n");
    let way = commands::Forward::to(&world.namespace, "service/probe", 80).await;
    let mut stream = TcpStream::connect(way.address).await.unwrap();
    stream.write_all(b"\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("probe-"), "{answer}");
}

#[tokio::test]
async fn a_volume_survives_a_rollout_whose_new_pod_starts_beside_the_old_one() {
    let world = World::new("volume").await;
    probe(&world).await;
    world.apply(deployment("second")).await;
    available(&world).await;
    let starts = asked_inside(&world, "127.0.0.1:8080").await;
    let starts: Vec<_> = starts.lines().collect();
    assert_eq!(starts.len(), 2, "{starts:?}");
    assert_ne!(starts[0], starts[1]);
}

#[tokio::test]
async fn a_pod_that_is_not_restricted_is_refused() {
    let world = World::new("refused").await;
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "loose"}});
    pod["spec"] = json!({"containers": [{"name": "x", "image": "x:1"}]});
    let error = world.try_apply(pod).await.unwrap_err().to_string();
    assert!(error.contains("violates PodSecurity \"restricted"), "{error}");
}

#[tokio::test]
async fn a_deleted_claim_leaves_no_volume() {
    let world = World::new("claim").await;
    let deployments = probe(&world).await;
    let claims = world.api::<PersistentVolumeClaim>();
    let claim = claims.get("probe").await.unwrap();
    deployments.delete("probe", &DeleteParams::default()).await.unwrap();
    claims.delete("probe", &DeleteParams::default()).await.unwrap();
    let volumes: Api<PersistentVolume> = Api::all(world.client.clone());
    absent(&volumes, &claim.spec.unwrap().volume_name.unwrap()).await;
}
