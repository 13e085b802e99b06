//! What may be set when the chart is installed: `values.yaml`, its schema and the table of the
//! README are printed from these types, so that the three cannot disagree.
//!
//! A field's documentation is what a person reads beside the value. What is not named here is
//! refused by the schema.

mod data_plane;
mod monitoring;
mod network;
mod pods;
mod storage_integrations;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::data_plane::DataPlane;
use self::monitoring::{Dashboards, PrometheusRule, ServiceMonitor, Tracing};
use self::network::{Ingress, NetworkPolicy};
use self::pods::{Account, Pods, Variable};
use self::storage_integrations::StorageIntegrations;

/// Labels, annotations, selectors.
type Texts = BTreeMap<String, String>;

/// Every value of the chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Values {
    pub crds: Crds,
    /// Namespaces whose resources are served; empty: all. With a list the operator gets a Role in
    /// each of them instead of a `ClusterRole`. The namespace of the release, which REST writes to,
    /// belongs in the list.
    #[schemars(length(max = 64), inner(length(min = 1, max = 63)))]
    pub watch_namespaces: Vec<String>,
    pub rbac: Rbac,
    pub image: Image,
    /// The address that every pod listens on: `::` where pods have IPv6. A data plane learns of a change when its pod
    /// starts next.
    #[schemars(regex(pattern = r"^(0\.0\.0\.0|::)$"))]
    pub listen_address: String,
    /// Seconds that an HTTP connection of control plane and data planes lives between two requests: more than a balancer
    /// in front keeps it. A data plane learns of a change when its pod starts next.
    #[schemars(range(min = 1, max = 3600))]
    pub http_idle_secs: i32,
    pub operator: Operator,
    pub control_plane: ControlPlane,
    pub data_plane: DataPlane,
    pub storage_integrations: StorageIntegrations,
    pub ingress: Ingress,
    pub network_policy: NetworkPolicy,
    pub service_monitor: ServiceMonitor,
    pub prometheus_rule: PrometheusRule,
    pub dashboards: Dashboards,
    pub tracing: Tracing,
    /// What a parent chart passes to all of its children. Not used.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub global: BTreeMap<String, Value>,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            crds: Crds::default(),
            watch_namespaces: Vec::new(),
            rbac: Rbac::default(),
            image: Image::default(),
            listen_address: "0.0.0.0".to_owned(),
            http_idle_secs: 75,
            operator: Operator::default(),
            control_plane: ControlPlane::default(),
            data_plane: DataPlane::default(),
            storage_integrations: StorageIntegrations::default(),
            ingress: Ingress::default(),
            network_policy: NetworkPolicy::default(),
            service_monitor: ServiceMonitor::default(),
            prometheus_rule: PrometheusRule::default(),
            dashboards: Dashboards::default(),
            tracing: Tracing::default(),
            global: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Crds {
    /// Install and upgrade the custom resource definitions with the chart. An uninstall keeps them,
    /// because with a definition all of its resources go.
    pub install: bool,
}

impl Default for Crds {
    fn default() -> Self {
        Self { install: true }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rbac {
    /// Add the resources to the cluster's own roles `view`, `edit` and `admin`.
    pub aggregate_roles: bool,
}

impl Default for Rbac {
    fn default() -> Self {
        Self { aggregate_roles: true }
    }
}

/// What the three images have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Image {
    /// Where the images are, such as `registry.example.com/platform`; empty: named without one.
    #[schemars(length(max = 200), regex(pattern = "^([a-z0-9][a-z0-9._:/-]*[a-z0-9])?$"))]
    pub registry: String,
    /// Empty: the version of the chart.
    #[schemars(length(max = 128), regex(pattern = "^[A-Za-z0-9_.-]*$"))]
    pub tag: String,
    /// Of all three images.
    pub pull_policy: PullPolicy,
    /// Secrets of the release's namespace that pull the images of operator and control plane.
    #[schemars(length(max = 16), inner(length(min = 1, max = 253)))]
    pub pull_secrets: Vec<String>,
}

impl Default for Image {
    fn default() -> Self {
        Self {
            registry: String::new(),
            tag: String::new(),
            pull_policy: PullPolicy::IfNotPresent,
            pull_secrets: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PullPolicy {
    Always,
    IfNotPresent,
    Never,
}

/// As of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Resources {
    /// What a pod is sure to get.
    pub requests: Texts,
    /// What a container may not exceed.
    pub limits: Texts,
}

fn resources(cpu: &str, memory: &str, memory_limit: &str) -> Resources {
    let text = |name: &str, amount: &str| (name.to_owned(), amount.to_owned());
    Resources {
        requests: [text("cpu", cpu), text("memory", memory)].into(),
        limits: [text("memory", memory_limit)].into(),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Operator {
    /// Name of the image, below `image.registry`.
    #[schemars(length(min = 1, max = 200))]
    pub image: String,
    /// One leads; the others wait with warm caches.
    #[schemars(range(min = 1, max = 9))]
    pub replicas: i32,
    /// Objects that are worked on at the same time.
    #[schemars(range(min = 1, max = 256))]
    pub concurrency: i32,
    /// Requests to the API server in a second, at most.
    #[schemars(range(min = 1, max = 65535))]
    pub api_rate: i32,
    /// A filter of log lines, such as `info` or `operator=debug,kube=info`.
    #[schemars(length(min = 1, max = 200))]
    pub log: String,
    /// Variables beside those that the chart sets, as of a container.
    #[schemars(length(max = 64))]
    pub env: Vec<Variable>,
    pub resources: Resources,
    pub service_account: Account,
    pub pods: Pods,
}

impl Default for Operator {
    fn default() -> Self {
        Self {
            image: "sluice-operator".to_owned(),
            replicas: 2,
            concurrency: 16,
            api_rate: 200,
            log: "info".to_owned(),
            env: Vec::new(),
            resources: resources("50m", "64Mi", "256Mi"),
            service_account: Account::default(),
            pods: Pods::default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ControlPlane {
    /// Name of the image, below `image.registry`.
    #[schemars(length(min = 1, max = 200))]
    pub image: String,
    /// All serve.
    #[schemars(range(min = 1, max = 20))]
    pub replicas: i32,
    /// The URL that callers reach REST under: issuer and audience of its tokens. Empty: made from
    /// the host of the Ingress, or else the address inside the cluster.
    #[schemars(length(max = 200), regex(pattern = "^(https?://[^/]+)?$"))]
    pub public_url: String,
    /// Whether `POST /v1/signup` makes new organizations for anybody who can reach REST. Without it organizations are
    /// made as resources, by whoever may write these.
    pub signup: bool,
    /// Whether `/v2`, the governed runtime of agents' tasks, answers.
    pub runtime: bool,
    /// Networks whose `X-Forwarded-For` is believed, such as that of the Ingress's pods.
    #[schemars(length(max = 32), inner(length(min = 1, max = 43)))]
    pub trusted_proxies: Vec<String>,
    /// A filter of log lines, such as `info` or `controlplane=debug`.
    #[schemars(length(min = 1, max = 200))]
    pub log: String,
    /// Where audit exports and the signed heads of audit chains are kept: `s3://bucket/prefix`. Empty:
    /// no exports and no heads.
    #[schemars(length(max = 1000), regex(pattern = "^(s3://.+)?$"))]
    pub audit_store: String,
    /// A Secret of the release's namespace whose variables, such as `AWS_ACCESS_KEY_ID`, reach that
    /// bucket. Empty: as whoever the pod is.
    #[schemars(length(max = 253))]
    pub audit_store_secret: String,
    pub database: Database,
    pub mail: Mail,
    /// Variables beside those that the chart sets, as of a container.
    #[schemars(length(max = 64))]
    pub env: Vec<Variable>,
    pub resources: Resources,
    pub service_account: Account,
    pub pods: Pods,
}

impl Default for ControlPlane {
    fn default() -> Self {
        Self {
            image: "sluice-controlplane".to_owned(),
            replicas: 2,
            public_url: String::new(),
            signup: false,
            runtime: true,
            trusted_proxies: Vec::new(),
            log: "info".to_owned(),
            audit_store: String::new(),
            audit_store_secret: String::new(),
            database: Database::default(),
            mail: Mail::default(),
            env: Vec::new(),
            resources: resources("100m", "256Mi", "1Gi"),
            service_account: Account::default(),
            pods: Pods::default(),
        }
    }
}

/// PostgreSQL, the control plane's one store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Database {
    /// `postgresql://user:password@host/database`, put into a Secret by the chart. Empty: the Secret
    /// `existingSecret` is there already, or is made before the control plane can start.
    #[schemars(length(max = 2000), regex(pattern = "^(postgres(ql)?://.+)?$"))]
    pub url: String,
    /// A Secret of the release's namespace that holds the URL. Not used when `url` is set. Another user or password in
    /// it is taken over within two minutes, without a restart; another host or database by `kubectl rollout restart`.
    #[schemars(length(min = 1, max = 253))]
    pub existing_secret: String,
    /// The key of that Secret.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// Connections of one replica.
    #[schemars(range(min = 2, max = 1000))]
    pub max_connections: i32,
}

impl Default for Database {
    fn default() -> Self {
        Self {
            url: String::new(),
            existing_secret: "sluice-database".to_owned(),
            key: "url".to_owned(),
            max_connections: 20,
        }
    }
}

/// The mail server that invitations and links to sign in leave by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Mail {
    /// A Secret of the release's namespace that holds `smtps://user:password@host` or
    /// `smtp://user:password@host?tls=required`. Empty: no mail leaves, and what needs one is refused.
    #[schemars(length(max = 253))]
    pub existing_secret: String,
    /// The key of that Secret.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// The sender.
    #[schemars(length(min = 3, max = 320))]
    pub from: String,
}

impl Default for Mail {
    fn default() -> Self {
        Self { existing_secret: String::new(), key: "url".to_owned(), from: "Sluice <sluice@localhost>".to_owned() }
    }
}
