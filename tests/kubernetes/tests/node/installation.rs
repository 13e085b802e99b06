//! The chart in a namespace of its own, and an organization with an environment in it.
//!
//! Tests that run at the same time share one installation, each with an organization of its own.
//! Services are reached by their address in the cluster, as a pod would: the suite runs where the
//! node does.

use std::sync::Weak;
use std::time::{Duration, Instant};

use crds::{ApiKey, Environment};
use k8s_openapi::api::core::v1::{Pod, Secret, Service};
use kube::api::ListParams;
use kubernetes::commands::{helm, psql};
use kubernetes::wait::PATIENCE;
use kubernetes::world::Place;
use kubernetes::{World, figure, ready};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{interval, timeout};

use super::wire_client::WireClient;

pub const ROOT: &str = "../..";

const LOOK_EVERY: Duration = Duration::from_millis(20);

static SHARED: Mutex<Weak<Place>> = Mutex::const_new(Weak::new());

/// A database of its own on the server that the cluster came with.
#[expect(clippy::disallowed_methods, reason = "a cluster says by its variables what it came with")]
async fn database(world: &World) -> String {
    let server = std::env::var("SLUICE_TEST_DATABASE_URL").expect("a PostgreSQL that pods reach");
    let name = world.namespace.replace('-', "_");
    psql(&server, &format!("create database {name}")).await.ok();
    format!("{}/{name}", server.rsplit_once('/').unwrap().0)
}

/// The chart, ready by its own test, for nobody else.
pub async fn installed() -> World {
    let world = World::new("platform").await;
    let url = format!("controlPlane.database.url={}", database(&world).await);
    let confined = format!("watchNamespaces=[\"{}\"]", world.namespace);
    let chart = format!("{ROOT}/charts/sluice");
    let images = "image.tag=dev,image.pullPolicy=Never,crds.install=false,rbac.aggregateRoles=false";
    let signup = "controlPlane.signup=true";
    let install = ["install", "sluice", &chart, "--namespace", &world.namespace, "--wait", "--timeout=2m"];
    let settings = ["--set", &url, "--set", images, "--set", signup, "--set-json", &confined];
    helm(&[install.as_slice(), settings.as_slice()].concat()).await;
    helm(&["test", "sluice", "--namespace", &world.namespace, "--timeout=2m"]).await;
    world
}

/// The installation that other tests use now, or a new one.
pub async fn shared() -> World {
    let mut shared = SHARED.lock().await;
    if let Some(place) = shared.upgrade() {
        return World::shared(place).await;
    }
    let world = installed().await;
    *shared = std::sync::Arc::downgrade(world.place());
    world
}

/// An entry of a Secret, as text.
pub async fn entry(world: &World, secret: &str, name: &str) -> String {
    let secret = world.api::<Secret>().get(secret).await.unwrap();
    String::from_utf8(secret.data.unwrap()[name].0.clone()).unwrap()
}

/// Where a Service answers.
pub async fn address(world: &World, service: &str) -> String {
    let service = world.api::<Service>().get(service).await.unwrap();
    service.spec.unwrap().cluster_ip.unwrap()
}

/// Returns when it is true; fails when patience is over.
pub async fn eventually(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let look = async {
        let mut turns = interval(LOOK_EVERY);
        while !is().await {
            turns.tick().await;
        }
    };
    timeout(PATIENCE, look).await.unwrap_or_else(|_| panic!("not {what} after {} s", PATIENCE.as_secs()));
}

/// An object of ours.
pub fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "sluice.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// An organization and its environment `<organization>-dev`.
pub struct Tenant {
    pub world: World,
    pub org: &'static str,
    /// Of the environment.
    pub name: String,
}

impl Tenant {
    /// Both applied; nothing is waited for.
    pub async fn applied(world: World, org: &'static str) -> Self {
        let tenant = Self { world, org, name: format!("{org}-dev") };
        let spec =
            json!({"slug": org, "name": org, "billingEmail": format!("{org}@example.com"), "tier": "enterprise"});
        tenant.world.apply(object("Organization", org, &spec)).await;
        tenant.apply(json!({})).await;
        tenant
    }

    /// Both ready, in the installation that is shared, and a key named `app`.
    pub async fn ready(org: &'static str) -> Self {
        let world = shared().await;
        let began = Instant::now();
        let tenant = Self::applied(world, org).await;
        tenant.settled().await;
        let active = began.elapsed();
        tenant.key("app", json!({})).await;
        let answers = tenant.wire("app").await.ask("select 1").await;
        assert_eq!(answers, "1");
        let all = began.elapsed();
        figure(
            2,
            format_args!(
                "{org}, beside other tests: active {active:?} after it was applied; psql, with a key, {all:?} after"
            ),
        );
        tenant
    }

    /// Its environment, small, with other fields of the specification.
    pub async fn apply(&self, more: Value) {
        let mut spec = json!({
            "organizationRef": {"name": self.org}, "slug": "dev", "name": "Development", "storage": {"size": "1Gi"},
            "dataPlane": {"resources": {"requests": {"cpu": "50m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}},
        });
        for (field, value) in more.as_object().unwrap() {
            spec[field] = value.clone();
        }
        self.world.apply(object("Environment", &self.name, &spec)).await;
    }

    /// The environment, once it is ready.
    pub async fn settled(&self) -> Environment {
        ready(&self.world.api::<Environment>(), &self.name).await
    }

    /// Waits until it has so many pods, those that end among them.
    pub async fn has_pods(&self, count: usize) {
        let (pods, ours) = (self.world.api::<Pod>(), format!("app.kubernetes.io/instance={}", self.name));
        let ours = ListParams::default().labels(&ours);
        eventually("as many pods as wanted", async || pods.list(&ours).await.unwrap().items.len() == count).await;
    }

    /// Uids of its pods, and how often each was restarted.
    pub async fn pods(&self) -> Vec<(String, i32)> {
        let ours = ListParams::default().labels(&format!("app.kubernetes.io/instance={}", self.name));
        let pods = self.world.api::<Pod>().list(&ours).await.unwrap().items;
        let restarts = |pod: &Pod| -> i32 {
            let statuses = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
            statuses.map(|status| status.restart_count).sum()
        };
        pods.iter().map(|pod| (pod.metadata.uid.clone().unwrap(), restarts(pod))).collect()
    }

    /// How long the node took from its only pod's creation until it was ready, in whole seconds.
    pub async fn pod_started_in(&self) -> Duration {
        let pods = ListParams::default().labels(&format!("app.kubernetes.io/instance={}", self.name));
        let pod = self.world.api::<Pod>().list(&pods).await.unwrap().items.pop().unwrap();
        let conditions = pod.status.unwrap().conditions.unwrap();
        let ready = conditions.into_iter().find(|it| it.type_ == "Ready").unwrap().last_transition_time.unwrap();
        let created = pod.metadata.creation_timestamp.unwrap();
        ready.0.duration_since(created.0).unsigned_abs()
    }

    /// The name of a key's resource, and of its Secret.
    pub fn key_name(&self, key: &str) -> String {
        format!("{}-{key}", self.name)
    }

    /// A key by kubectl, ready.
    pub async fn key(&self, key: &str, more: Value) -> ApiKey {
        let name = self.key_name(key);
        let mut spec = json!({
            "environmentRef": {"name": self.name}, "name": key, "secretRef": {"name": name},
            "scopes": ["query:read", "query:write", "schema:read"],
        });
        for (field, value) in more.as_object().unwrap() {
            spec[field] = value.clone();
        }
        self.world.apply(object("ApiKey", &name, &spec)).await;
        ready(&self.world.api::<ApiKey>(), &name).await
    }

    /// A client of the environment, with the key of that name.
    pub async fn wire(&self, key: &str) -> WireClient {
        let text = entry(&self.world, &self.key_name(key), "key").await;
        WireClient::open(&self.world, &self.name, "dev", text).await
    }
}

/// REST, through the control plane's Service.
pub struct Rest {
    http: reqwest::Client,
    at: String,
    credential: String,
}

impl Rest {
    pub async fn of(world: &World, credential: String) -> Self {
        let at = format!("http://{}:8080", address(world, "sluice-controlplane").await);
        let http = reqwest::Client::builder().timeout(Duration::from_mins(1)).build().unwrap();
        Self { http, at, credential }
    }

    pub async fn send(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let asked = self.http.request(method, format!("{}{path}", self.at)).header("authorization", &self.credential);
        let asked = if body.is_null() { asked } else { asked.json(&body) };
        match asked.send().await {
            Ok(answer) => (answer.status().as_u16(), answer.json().await.unwrap_or_default()),
            Err(error) => (0, json!(error.to_string())),
        }
    }

    /// The body of an answer that has to succeed.
    pub async fn ok(&self, method: Method, path: &str, body: Value) -> Value {
        let (status, body) = self.send(method, path, body).await;
        assert!((200..300).contains(&status), "{path}: {status} {body}");
        body
    }

    pub fn bearing(self, token: &str) -> Self {
        Self { credential: format!("Bearer {token}"), ..self }
    }
}
