//! What a platform team does: `helm install`, `kubectl apply` of the samples, a query. With the real
//! programs in real pods, which the pod security `restricted` admits.

use std::io::Write;

use crds::{ApiKey, Environment};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{PersistentVolumeClaim, Secret},
};
use kube::api::DeleteParams;
use kubernetes::{
    World, absent,
    commands::{Forward, helm, psql},
    ready, until,
    wait::says,
};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A database of its own on the server that the cluster came with.
#[expect(clippy::disallowed_methods, reason = "a cluster says by its variables what it came with")]
async fn database(world: &World) -> String {
    let server = std::env::var("SLUICE_TEST_DATABASE_URL").expect("a PostgreSQL that pods reach");
    let name = world.namespace.replace('-', "_");
    psql(&server, &format!("create database {name}")).await.ok();
    format!("{}/{name}", server.rsplit_once('/').unwrap().0)
}

/// The chart in a namespace of its own, ready by its own test.
async fn installed() -> World {
    let world = World::new("platform").await;
    let url = format!("controlPlane.database.url={}", database(&world).await);
    let confined = format!("watchNamespaces=[\"{}\"]", world.namespace);
    let chart = format!("{ROOT}/charts/sluice");
    let images = "image.tag=dev,image.pullPolicy=Never,crds.install=false,rbac.aggregateRoles=false";
    let install = ["install", "sluice", &chart, "--namespace", &world.namespace, "--wait", "--timeout=2m"];
    let settings = ["--set", &url, "--set", images, "--set-json", &confined];
    helm(&[install.as_slice(), settings.as_slice()].concat()).await;
    helm(&["test", "sluice", "--namespace", &world.namespace, "--timeout=2m"]).await;
    world
}

/// The samples, ready.
async fn environment(world: &World) -> Environment {
    world.kubectl(&["apply", "--filename", &format!("{ROOT}/manifests/samples")]).await;
    ready(&world.api::<ApiKey>(), "acme-dev-app").await;
    ready(&world.api::<Environment>(), "acme-dev").await
}

/// An entry of a Secret, as text.
async fn entry(world: &World, secret: &str, name: &str) -> String {
    let secret = world.api::<Secret>().get(secret).await.unwrap();
    String::from_utf8(secret.data.unwrap()[name].0.clone()).unwrap()
}

/// psql's way to the environment: by its Service, the certificate checked.
struct Door {
    forward: Forward,
    host: String,
    key: String,
    authority: NamedTempFile,
}

impl Door {
    async fn open(world: &World) -> Self {
        let mut authority = NamedTempFile::new().unwrap();
        authority.write_all(entry(world, "acme-dev-tls", "ca.crt").await.as_bytes()).unwrap();
        Self {
            forward: Forward::to(&world.namespace, "service/acme-dev", 5439).await,
            host: format!("acme-dev.{}.svc", world.namespace),
            key: entry(world, "acme-dev-app", "key").await,
            authority,
        }
    }

    async fn ask(&self, sql: &str) -> String {
        let (host, port, key) = (&self.host, self.forward.address.port(), &self.key);
        let trust = self.authority.path().display();
        let connection = format!(
            "host={host} hostaddr=127.0.0.1 port={port} user=app password={key} dbname=dev \
             sslmode=verify-full sslrootcert={trust}"
        );
        psql(&connection, sql).await.ok().trim().to_owned()
    }
}

#[tokio::test]
async fn an_applied_environment_answers_by_psql_and_by_rest_and_keeps_its_data() {
    let world = installed().await;
    let applied = environment(&world).await;
    let status = applied.status.unwrap();
    assert_eq!(status.env_id, applied.metadata.uid);
    assert_eq!(serde_json::to_value(status.phase).unwrap(), "active");

    let door = Door::open(&world).await;
    door.ask("create table t as select 42 as answer").await;
    assert_eq!(door.ask("select answer from t").await, "42");

    let rest = Forward::to(&world.namespace, "service/sluice-controlplane", 8080).await;
    let url = format!("http://{}/v1/environments/{}/query", rest.address, status.env_id.unwrap());
    let asked = reqwest::Client::new().post(url).header("Authorization", format!("ApiKey {}", door.key));
    let answer = asked.json(&json!({"sql": "select answer from t"})).send().await.unwrap();
    let answer: Value = answer.error_for_status().unwrap().json().await.unwrap();
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
