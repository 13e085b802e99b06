//! A workbench: a namespace that is both a release's and a tenant's, an account that may do exactly
//! what the operator's table of rules says, and operators that run under it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use contract::Entropy;
use contract::clock::SystemClock;
use crds::access::Scope;
use crds::{ConditionType, Environment, Organization, Reason};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};
use operator::config::Config;
use operator::objects::child::Kind;
use operator::rbac::RULES;
use operator::runtime::Operator;
use serde_json::{Value, json};

use crate::audit::{Audit, Request};
use crate::{World, until, wait, world};

pub const ACCOUNT: &str = "operator";
const RBAC: &str = "rbac.authorization.k8s.io/v1";
/// Short, so that a crash is got over soon.
pub const LEASE_SECS: u64 = 3;

pub struct Bench {
    pub world: World,
    kube: kube::Config,
    /// Of [`ACCOUNT`].
    pub token: String,
    /// Of the operators that are started. A short one gives a busy server little time to answer.
    pub lease_secs: u64,
    /// Where they find one; absent: nowhere.
    pub control_plane: Option<SocketAddr>,
    cluster_role: String,
}

impl Bench {
    pub async fn new(purpose: &str) -> Self {
        let world = World::new(purpose).await;
        let cluster_role = format!("{}-operator", world.namespace);
        let (kube, lease_secs) = (admin().await, LEASE_SECS);
        let mut bench = Self { kube, world, token: String::new(), lease_secs, control_plane: None, cluster_role };
        bench.roles().await;
        bench.token = bench.account(ACCOUNT).await;
        let token = Some(bench.token.clone().into());
        bench.kube.auth_info = kube::config::AuthInfo { token, ..kube::config::AuthInfo::default() };
        bench
    }

    async fn roles(&self) {
        for (name, scope) in [("watched", Scope::Watched), ("release", Scope::Release)] {
            self.world
                .apply(json!({"apiVersion": RBAC, "kind": "Role", "metadata": {"name": name}, "rules": rules(scope)}))
                .await;
        }
        let metadata = json!({"name": self.cluster_role, "labels": self.mark()});
        let role: ClusterRole = typed(json!({"metadata": metadata, "rules": rules(Scope::Cluster)}));
        Api::all(self.world.client.clone()).create(&PostParams::default(), &role).await.unwrap();
    }

    /// On what is not in the namespace, and must go with it.
    fn mark(&self) -> Value {
        json!({"sluice.dev/test-namespace": self.world.namespace})
    }

    /// An account under the operator's rules and no others; the audit log knows its requests by its
    /// name. Its token.
    pub async fn account(&self, name: &str) -> String {
        let namespace = &self.world.namespace;
        self.world.apply(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})).await;
        let subjects = json!([{"kind": "ServiceAccount", "name": name, "namespace": namespace}]);
        let reference = |kind, name| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
        for role in ["watched", "release"] {
            let metadata = json!({"name": format!("{role}-{name}")});
            self.world
                .apply(json!({
                    "apiVersion": RBAC, "kind": "RoleBinding", "metadata": metadata,
                    "roleRef": reference("Role", role), "subjects": subjects,
                }))
                .await;
        }
        let metadata = json!({"name": format!("{}-{name}", self.cluster_role), "labels": self.mark()});
        let role = reference("ClusterRole", &self.cluster_role);
        let binding: ClusterRoleBinding = typed(json!({"metadata": metadata, "roleRef": role, "subjects": subjects}));
        Api::all(self.world.client.clone()).create(&PostParams::default(), &binding).await.unwrap();
        self.token_of(name).await
    }

    async fn token_of(&self, account: &str) -> String {
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": [], "expirationSeconds": 7200},
        });
        let accounts = self.world.api::<ServiceAccount>();
        let made: TokenRequest =
            accounts.create_subresource("token", account, &PostParams::default(), &request).await.unwrap();
        made.status.unwrap().token
    }

    /// One that watches every namespace of the cluster, under the rules that it then has everywhere. To be started
    /// beside one that leads, and stopped before: other tests' objects are not its to touch.
    pub async fn operator_of_all(&self, pod: &str) -> Operator {
        let token = self.account(pod).await;
        let name = format!("{}-everywhere", self.world.namespace);
        let metadata = json!({"name": name, "labels": self.mark()});
        let role: ClusterRole = typed(json!({"metadata": metadata, "rules": rules(Scope::Watched)}));
        let reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
        let subjects = json!([{"kind": "ServiceAccount", "name": pod, "namespace": self.world.namespace}]);
        let binding: ClusterRoleBinding =
            typed(json!({"metadata": metadata, "roleRef": reference, "subjects": subjects}));
        Api::all(self.world.client.clone()).create(&PostParams::default(), &role).await.unwrap();
        Api::all(self.world.client.clone()).create(&PostParams::default(), &binding).await.unwrap();
        let mut kube = self.kube.clone();
        kube.auth_info = kube::config::AuthInfo { token: Some(token.into()), ..kube::config::AuthInfo::default() };
        let arguments = self.arguments(pod);
        let confined = arguments.iter().position(|it| it == "--watch-namespaces").unwrap();
        let everywhere = arguments.iter().enumerate().filter(|(at, _)| *at != confined && *at != confined + 1);
        let everywhere = everywhere.map(|(_, argument)| argument.clone());
        let config = Config::parse_from(["operator".to_owned()].into_iter().chain(everywhere));
        let entropy = Entropy::system().unwrap();
        Operator::start(config, kube, Arc::new(SystemClock), entropy, None).await.unwrap()
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

    /// How an operator of this bench is started.
    pub fn arguments(&self, pod: &str) -> Vec<String> {
        let namespace = self.world.namespace.as_str();
        let lease = self.lease_secs.to_string();
        let control_plane = self.control_plane.map(|address| address.to_string());
        let control_plane = control_plane.as_deref().map(|address| ("--control-plane", address));
        let settings = [
            ("--release-namespace", namespace),
            ("--watch-namespaces", namespace),
            ("--pod-name", pod),
            ("--listen", "127.0.0.1:0"),
            ("--lease-secs", lease.as_str()),
            ("--dataplane-version", "1.0.0"),
            // there is no such image: its pods are refused at once, and not when a registry is given up
            ("--pull-policy", "Never"),
        ];
        settings
            .into_iter()
            .chain(control_plane)
            .flat_map(|(name, value)| [name.to_owned(), value.to_owned()])
            .collect()
    }

    /// Where the API server is for operators of this bench, as a kubeconfig for this token.
    pub fn kubeconfig(&self, token: &str) -> Value {
        let mut whole = serde_json::to_value(Kubeconfig::read_from(world::kubeconfig()).unwrap()).unwrap();
        let server = &mut whole["clusters"][0]["cluster"];
        server["server"] = json!(self.kube.cluster_url.to_string());
        if let Some(name) = &self.kube.tls_server_name {
            server["tls-server-name"] = json!(name);
        }
        for user in whole["users"].as_array_mut().unwrap() {
            user["user"] = json!({"token": token});
        }
        whole
    }

    /// Starts one, on whatever runtime awaits it.
    pub fn start(&self, pod: &str) -> impl Future<Output = Operator> + Send + use<> {
        let config = Config::parse_from(["operator".to_owned()].into_iter().chain(self.arguments(pod)));
        let kube = self.kube.clone();
        async move {
            let entropy = Entropy::system().unwrap();
            Operator::start(config, kube, Arc::new(SystemClock), entropy, None).await.unwrap()
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
            // what other tests run beside it, or have left when they failed, must not fill the node
            "dataPlane": {"resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "2Gi"}}},
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

    /// Settled, and nothing will happen to it any more: where there is a node, its pod has been refused there.
    pub async fn still(&self, name: &str) {
        self.settled(name).await;
        if Api::<Node>::all(self.world.client.clone()).list(&ListParams::default()).await.unwrap().items.is_empty() {
            return;
        }
        until(&self.world.api::<Environment>(), name, "told that its pod does not run", |it| {
            let mut conditions = it.status.iter().flat_map(|status| &status.conditions);
            conditions.any(|it| it.type_ == ConditionType::WorkloadAvailable && it.reason == Reason::CrashLooping)
        })
        .await;
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
            let params = ListParams::default().labels(&labels);
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
        self.asked_by(ACCOUNT, audit)
    }

    /// The same of those that run under another account.
    pub fn asked_by(&self, account: &str, audit: &Audit) -> Vec<Request> {
        let user = self.user(account);
        audit.of(&user).into_iter().filter(|request| request.resource != "leases").collect()
    }

    /// What the API server calls an account.
    pub fn user(&self, account: &str) -> String {
        format!("system:serviceaccount:{}:{account}", self.world.namespace)
    }
}

pub trait HasAddress {
    fn address(&self) -> SocketAddr;
}

impl Drop for Bench {
    /// What is not in the namespace goes with the test all the same.
    fn drop(&mut self) {
        let mark = format!("sluice.dev/test-namespace={}", self.world.namespace);
        let mut command = std::process::Command::new("kubectl");
        command.args(["delete", "clusterrole,clusterrolebinding", "--selector", &mark, "--wait=false"]);
        command.env("KUBECONFIG", world::kubeconfig());
        let _ = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).status();
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
    let end = tokio::time::Instant::now() + wait::PATIENCE;
    while !is().await {
        assert!(tokio::time::Instant::now() < end, "never: {what}");
        ticks.tick().await;
    }
}
