//! A control plane over a namespace of a real API server, with a database of its own.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use contract::key::HashCost;
use contract::{Entropy, Keyring, SystemClock};
use controlplane::platform::identity::Pems;
use controlplane::server::kubernetes::{Cluster, RULES};
use controlplane::{Config, Parts};
use crds::access::Rule;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use kubernetes::World;
use kubernetes::wait::PATIENCE;
use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const PASSWORD: &str = "correct horse battery";
/// The one Secret that storage integrations may name.
pub const NAMED_SECRET: &str = "lake";
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub struct Platform {
    pub world: World,
    database: String,
    running: Option<(controlplane::Running, CancellationToken)>,
    pub http: reqwest::Client,
    /// Of Ada, who signed up.
    pub bearer: String,
    pub org: Value,
}

impl Platform {
    /// Ada has signed up: `ada`, an organization, is a resource.
    pub async fn start(purpose: &str) -> Self {
        let world = World::new(purpose).await;
        let database = database(&world.namespace).await;
        let mut platform = Self {
            world,
            database,
            running: None,
            http: reqwest::Client::new(),
            bearer: String::new(),
            org: Value::Null,
        };
        platform.resume().await;
        let opened = platform.signup().await;
        platform.bearer = format!("Bearer {}", opened["token"].as_str().unwrap());
        platform.org = opened["org"].clone();
        platform
    }

    /// Starts the control plane, again.
    pub async fn resume(&mut self) {
        let client = as_control_plane(&self.world).await;
        self.running = Some(start(&self.database, &self.world.namespace, client, None).await);
    }

    /// Stops it; everything else goes on.
    pub async fn pause(&mut self) {
        let (running, stop) = self.running.take().unwrap();
        stop.cancel();
        running.drained().await;
    }

    pub fn app(&self) -> &controlplane::App {
        &self.running.as_ref().unwrap().0.app
    }

    async fn signup(&self) -> Value {
        let body = json!({"name": "Ada", "email": "ada@example.com", "password": PASSWORD, "org_name": "Ada"});
        let (status, body) = self.send(Method::POST, "/v1/signup", body).await;
        assert_eq!(status, 201, "{body}");
        body
    }

    pub async fn send(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let request =
            self.http.request(method, format!("http://{}{path}", self.address())).header("authorization", &self.bearer);
        let request = if body.is_null() { request } else { request.json(&body) };
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// Of an answer that has to have this status.
    pub async fn expect(&self, status: u16, method: Method, path: &str, body: Value) -> Value {
        let (was, body) = self.send(method, path, body).await;
        assert_eq!(was, status, "{body}");
        body
    }

    /// A path below Ada's organization.
    pub fn path(&self, rest: &str) -> String {
        format!("/v1/organizations/{}{rest}", self.org["id"].as_str().unwrap())
    }

    /// What REST shows of an environment, once `is` is true of it.
    pub async fn shows(&self, slug: &str, is: impl Fn(&Value) -> bool) -> Value {
        let path = self.path("/environments");
        let mut last = Value::Null;
        let look = async {
            let mut next = tokio::time::interval(LOOK_EVERY);
            loop {
                next.tick().await;
                last = self.expect(200, Method::GET, &path, Value::Null).await["data"].take();
                let found = last.as_array().unwrap().iter().find(|found| found["slug"] == slug && is(found));
                if let Some(found) = found {
                    return found.clone();
                }
            }
        };
        let seen = tokio::time::timeout(PATIENCE, look).await.ok();
        seen.unwrap_or_else(|| panic!("{slug}: not shown as it should be; last: {last:#}"))
    }

    /// What REST shows of Ada's organization, once `is` is true of it.
    pub async fn organization(&self, is: impl Fn(&Value) -> bool) -> Value {
        let path = self.path("");
        let look = async {
            let mut next = tokio::time::interval(LOOK_EVERY);
            loop {
                next.tick().await;
                let found = self.expect(200, Method::GET, &path, Value::Null).await;
                if is(&found) {
                    return found;
                }
            }
        };
        tokio::time::timeout(PATIENCE, look).await.expect("the organization is shown as it should be")
    }

    pub fn address(&self) -> SocketAddr {
        self.running.as_ref().unwrap().0.http
    }

    /// The text that a query answers, once it answers one.
    pub async fn row(&self, sql: &str) -> String {
        row(&self.database, sql).await
    }

    /// Stops everything in order.
    pub async fn done(mut self) {
        self.pause().await;
    }

    /// An Environment of Ada's organization, as somebody applies it.
    pub async fn kubectl_applies(&self, slug: &str, change: Value) -> Value {
        let mut object = json!({
            "apiVersion": "sluice.dev/v1alpha1", "kind": "Environment", "metadata": {"name": format!("ada-{slug}")},
            "spec": {"organizationRef": {"name": "ada"}, "slug": slug, "name": "Applied"},
        });
        for (name, value) in change.as_object().into_iter().flatten() {
            object["spec"][name] = value.clone();
        }
        serde_json::to_value(self.world.apply(object).await).unwrap()
    }
}

/// With an identity it serves operators and data planes too.
pub async fn start(
    database: &str,
    namespace: &str,
    client: Client,
    identity: Option<Pems>,
) -> (controlplane::Running, CancellationToken) {
    let mut config = Config::new(database.to_owned(), Keyring::new([7; 32]));
    config.kubernetes = true;
    config.watch_namespaces = vec![namespace.to_owned()];
    config.storage.storage_secrets = vec![NAMED_SECRET.to_owned()];
    let cluster = Cluster::new(client, &config, namespace.to_owned());
    let stop = CancellationToken::new();
    let parts = Parts {
        clock: Arc::new(SystemClock),
        entropy: Entropy::system().unwrap(),
        hash_cost: HashCost::OWASP,
        telemetry: telemetry::Telemetry::default(),
        provisioner: Arc::new(cluster),
        identity,
        dashboard: None,
        sql: Arc::new(sql::Analyzer),
        shutdown: stop.clone(),
    };
    (controlplane::start(config, parts).await.unwrap(), stop)
}

/// A client that may do what the chart lets the control plane do, in this namespace.
pub async fn as_control_plane(world: &World) -> Client {
    const NAME: &str = "sluice-controlplane";
    let rule = |rule: &Rule| json!({"apiGroups": [rule.group], "resources": [rule.resource], "verbs": rule.verbs});
    // as the chart adds it for the Secrets that it names
    let named = json!({"apiGroups": [""], "resources": ["secrets"], "resourceNames": [NAMED_SECRET], "verbs": ["get"]});
    let rules: Vec<Value> = RULES.iter().map(rule).chain([named]).collect();
    let metadata = json!({"name": NAME, "namespace": world.namespace});
    let head = |kind: &str, version: &str| json!({"apiVersion": version, "kind": kind, "metadata": metadata});
    let with = |mut object: Value, more: Value| {
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    world.apply(head("ServiceAccount", "v1")).await;
    world.apply(with(head("Role", "rbac.authorization.k8s.io/v1"), json!({"rules": rules}))).await;
    let subject = json!({"kind": "ServiceAccount", "name": NAME, "namespace": world.namespace});
    let granted = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME});
    let binding = json!({"roleRef": granted, "subjects": [subject]});
    world.apply(with(head("RoleBinding", "rbac.authorization.k8s.io/v1"), binding)).await;
    let request: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": []}, "metadata": {}})).unwrap();
    let accounts: Api<ServiceAccount> = world.api();
    let token: TokenRequest =
        accounts.create_subresource("token", NAME, &PostParams::default(), &request).await.unwrap();
    let file = Kubeconfig::read_from(kubernetes::world::kubeconfig()).unwrap();
    let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    config.auth_info = AuthInfo { token: Some(token.status.unwrap().token.into()), ..AuthInfo::default() };
    Client::try_from(config).unwrap()
}

/// A database of this name on the server that tests have; its URL.
#[expect(clippy::disallowed_methods, reason = "a cluster says by its variables what it came with")]
pub async fn database(namespace: &str) -> String {
    let admin = std::env::var("SLUICE_TEST_POSTGRES").unwrap();
    let name = namespace.replace('-', "_");
    let (client, connection) = tokio_postgres::connect(&admin, tokio_postgres::NoTls).await.unwrap();
    let create = async move {
        client.batch_execute(&format!("create database {name}")).await.unwrap();
        name
    };
    let (name, _) = tokio::join!(create, connection);
    format!("{}/{name}", admin.rsplit_once('/').unwrap().0)
}

/// The text that a query of this database answers, once it answers one.
pub async fn row(database: &str, sql: &str) -> String {
    let (client, connection) = tokio_postgres::connect(database, tokio_postgres::NoTls).await.unwrap();
    let look = async move {
        let mut next = tokio::time::interval(LOOK_EVERY);
        loop {
            next.tick().await;
            let rows = client.query(sql, &[]).await.unwrap();
            if let Some(text) = rows.first().and_then(|row| row.get::<_, Option<String>>(0)) {
                return text;
            }
        }
    };
    tokio::select! {
        found = tokio::time::timeout(PATIENCE, look) => found.expect(sql),
        ended = connection => panic!("the database connection ended: {ended:?}"),
    }
}

/// The members that a manager decides of an object's specification.
pub fn managed(object: &Value, manager: &str) -> BTreeMap<String, Value> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let of = entries.iter().filter(|entry| entry["manager"] == manager && entry["subresource"].is_null());
    of.flat_map(|entry| entry["fieldsV1"]["f:spec"].as_object().cloned().unwrap_or_default()).collect()
}
