//! A workbench: a namespace that is both a release's and a tenant's, an account that may do exactly
//! what the operator's table of rules says, and operators that run under it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use contract::Entropy;
use contract::clock::SystemClock;
use crds::{Environment, Organization};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};
use kubernetes::audit::{Audit, Request};
use kubernetes::{World, until, world};
use operator::config::Config;
use operator::environment::child::Kind;
use operator::rbac::{RULES, Scope};
use operator::runtime::Operator;
use serde_json::{Value, json};

pub const ACCOUNT: &str = "operator";
/// Short, so that a crash is got over soon.
const LEASE_SECS: &str = "3";

pub struct Bench {
    pub world: World,
    kube: kube::Config,
    cluster_role: String,
}

impl Bench {
    pub async fn new(purpose: &str) -> Self {
        let world = World::new(purpose).await;
        let cluster_role = format!("{}-operator", world.namespace);
        let mut bench = Self { kube: admin().await, world, cluster_role };
        bench.roles().await;
        let token = Some(bench.token().await.into());
        bench.kube.auth_info = kube::config::AuthInfo { token, ..kube::config::AuthInfo::default() };
        bench
    }

    async fn roles(&self) {
        let namespace = &self.world.namespace;
        self.world.apply(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}})).await;
        let subjects = json!([{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}]);
        for (name, scope) in [("watched", Scope::Watched), ("release", Scope::Release)] {
            let rbac = "rbac.authorization.k8s.io/v1";
            self.world
                .apply(json!({"apiVersion": rbac, "kind": "Role", "metadata": {"name": name}, "rules": rules(scope)}))
                .await;
            let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
            let binding = json!({"apiVersion": rbac, "kind": "RoleBinding", "metadata": {"name": name}, "roleRef": role, "subjects": subjects});
            self.world.apply(binding).await;
        }
        let name = &self.cluster_role;
        let role: ClusterRole = typed(json!({"metadata": {"name": name}, "rules": rules(Scope::Cluster)}));
        let reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
        let binding: ClusterRoleBinding =
            typed(json!({"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}));
        let client = self.world.client.clone();
        Api::all(client.clone()).create(&PostParams::default(), &role).await.unwrap();
        Api::all(client).create(&PostParams::default(), &binding).await.unwrap();
    }

    async fn token(&self) -> String {
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": [], "expirationSeconds": 7200},
        });
        let accounts = self.world.api::<ServiceAccount>();
        let made: TokenRequest =
            accounts.create_subresource("token", ACCOUNT, &PostParams::default(), &request).await.unwrap();
        made.status.unwrap().token
    }

    /// Starts an operator and waits until it has seen everything.
    pub async fn operator(&self, pod: &str) -> Operator {
        let operator = self.start(pod).await;
        operator.ready().await;
        operator
    }

    /// From now on operators reach the API server by a proxy, which is made to the address given.
    pub async fn through<P: HasAddress, F: Future<Output = P>>(&mut self, make: impl FnOnce(String) -> F) -> P {
        let (host, port) =
            (self.kube.cluster_url.host().unwrap().to_owned(), self.kube.cluster_url.port_u16().unwrap());
        let proxy = make(format!("{host}:{port}")).await;
        self.kube.cluster_url = format!("https://{}", proxy.address()).parse().unwrap();
        self.kube.tls_server_name = Some(host);
        proxy
    }

    /// Starts one, on whatever runtime awaits it.
    pub fn start(&self, pod: &str) -> impl Future<Output = Operator> + Send + use<> {
        let namespace = self.world.namespace.as_str();
        let settings = [
            ("--release-namespace", namespace),
            ("--watch-namespaces", namespace),
            ("--pod-name", pod),
            ("--listen", "127.0.0.1:0"),
            ("--lease-secs", LEASE_SECS),
            ("--dataplane-version", "1.0.0"),
        ];
        let arguments = settings.into_iter().flat_map(|(name, value)| [name, value]);
        let config = Config::parse_from(["operator"].into_iter().chain(arguments));
        let kube = self.kube.clone();
        async move {
            let entropy = Entropy::system().unwrap();
            Operator::start(config, kube, Arc::new(SystemClock), entropy).await.unwrap()
        }
    }

    /// An organization and one environment of it, as a user applies them.
    pub async fn tenant(&self, organization: &str, slug: &str) -> String {
        self.organization(organization).await;
        self.environment(organization, slug, json!({})).await
    }

    pub async fn organization(&self, name: &str) {
        let spec = json!({"slug": name, "name": name, "billingEmail": "a@example.org", "tier": "enterprise"});
        self.world.apply(resource("Organization", name, &spec)).await;
    }

    pub async fn environment(&self, organization: &str, slug: &str, more: Value) -> String {
        let name = format!("{organization}-{slug}");
        let mut spec = json!({
            "organizationRef": {"name": organization}, "slug": slug, "name": slug, "storage": {"size": "1Gi"},
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.world.apply(resource("Environment", &name, &spec)).await;
        name
    }

    /// Waits until nothing is left to be done about an environment.
    pub async fn settled(&self, name: &str) -> Environment {
        let environments = self.world.api::<Environment>();
        until(&environments, name, "looked at", |it: &Environment| {
            it.status.as_ref().and_then(|status| status.observed_generation) == it.metadata.generation
        })
        .await;
        until(&self.children(Kind::Deployment), name, "there", |_| true).await;
        until(&environments, name, "said to be rolling out", |it: &Environment| {
            it.status.as_ref().is_some_and(|status| status.phase.is_some())
        })
        .await
    }

    pub fn children(&self, kind: Kind) -> Api<DynamicObject> {
        Api::namespaced_with(self.world.client.clone(), &self.world.namespace, &kind.resource())
    }

    /// Name and uid of everything that belongs to an environment, by kind.
    pub async fn all_children(&self, environment: &str) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for kind in PRESENT {
            let labels =
                format!("app.kubernetes.io/instance={environment},app.kubernetes.io/managed-by=sluice-operator");
            let params = kube::api::ListParams::default().labels(&labels);
            for object in self.children(kind).list(&params).await.unwrap() {
                all.insert(format!("{kind}/{}", object.name_any()), object.uid().unwrap_or_default());
            }
        }
        all
    }

    pub async fn delete_environment(&self, name: &str) {
        self.world.api::<Environment>().delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub async fn delete_organization(&self, name: &str) {
        self.world.api::<Organization>().delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub async fn merge<K>(&self, name: &str, fields: Value)
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
        K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        self.world.api::<K>().patch(name, &PatchParams::default(), &Patch::Merge(&fields)).await.unwrap();
    }

    /// What the operators of this bench have asked for, leases aside.
    pub fn asked(&self, audit: &Audit) -> Vec<Request> {
        let user = format!("system:serviceaccount:{}:{ACCOUNT}", self.world.namespace);
        audit.of(&user).into_iter().filter(|request| request.resource != "leases").collect()
    }
}

pub trait HasAddress {
    fn address(&self) -> std::net::SocketAddr;
}

impl Drop for Bench {
    /// What is not in the namespace goes with the test all the same.
    fn drop(&mut self) {
        let name = self.cluster_role.clone();
        for kind in ["clusterrole", "clusterrolebinding"] {
            let mut command = std::process::Command::new("kubectl");
            command.args(["delete", kind, &name, "--wait=false"]).env("KUBECONFIG", world::kubeconfig());
            let _ = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).status();
        }
    }
}

/// Kinds of children that this cluster can have.
pub const PRESENT: [Kind; 8] = [
    Kind::ServiceAccount,
    Kind::PersistentVolumeClaim,
    Kind::ConfigMap,
    Kind::Secret,
    Kind::Service,
    Kind::NetworkPolicy,
    Kind::PodDisruptionBudget,
    Kind::Deployment,
];

fn resource(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "sluice.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn typed<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn rules(scope: Scope) -> Value {
    let rules = RULES.iter().filter(|rule| rule.scope == scope);
    rules.map(|rule| json!({"apiGroups": [rule.group], "resources": [rule.resource], "verbs": rule.verbs})).collect()
}

async fn admin() -> kube::Config {
    let config = Kubeconfig::read_from(world::kubeconfig()).unwrap();
    kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap()
}

/// Waits for something that no watch tells of.
pub async fn eventually(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    let end = tokio::time::Instant::now() + kubernetes::wait::PATIENCE;
    while !is().await {
        assert!(tokio::time::Instant::now() < end, "never: {what}");
        ticks.tick().await;
    }
}
