//! What may be set when the chart is installed: `values.yaml`, its schema and the table of the
//! README are printed from these types, so that the three cannot disagree.
//!
//! A field's documentation is what a person reads beside the value. What is not named here is
//! refused by the schema.

mod data_plane;
mod monitoring;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::data_plane::DataPlane;
use self::monitoring::{Dashboards, PrometheusRule, ServiceMonitor, Tracing};

/// Labels, annotations, selectors.
type Texts = BTreeMap<String, String>;

/// Every value of the chart.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    pub operator: Operator,
    pub control_plane: ControlPlane,
    pub data_plane: DataPlane,
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

/// Where pods may run, and as what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Pods {
    /// Added to the pods.
    pub annotations: Texts,
    /// Added to the pods.
    pub labels: Texts,
    /// Labels of the nodes that pods may run on; empty: any.
    pub node_selector: Texts,
    /// As of a pod: taints of nodes that do not keep it away.
    #[schemars(length(max = 32))]
    pub tolerations: Vec<BTreeMap<String, Value>>,
    /// As of a pod; empty: none.
    pub affinity: BTreeMap<String, Value>,
    /// Empty: the cluster's default.
    #[schemars(length(max = 253))]
    pub priority_class_name: String,
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
    pub resources: Resources,
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
            resources: resources("50m", "64Mi", "256Mi"),
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
    /// Whether `POST /v1/signup` makes new organizations for anybody who can reach REST.
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
    pub resources: Resources,
    pub pods: Pods,
}

impl Default for ControlPlane {
    fn default() -> Self {
        Self {
            image: "sluice-controlplane".to_owned(),
            replicas: 2,
            public_url: String::new(),
            signup: true,
            runtime: true,
            trusted_proxies: Vec::new(),
            log: "info".to_owned(),
            audit_store: String::new(),
            audit_store_secret: String::new(),
            database: Database::default(),
            mail: Mail::default(),
            resources: resources("100m", "256Mi", "1Gi"),
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
    /// A Secret of the release's namespace that holds the URL. Not used when `url` is set.
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

/// REST from outside of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Ingress {
    /// Make one.
    pub enabled: bool,
    /// Empty: the cluster's default class.
    #[schemars(length(max = 253))]
    pub class_name: String,
    /// Empty: any host.
    #[schemars(length(max = 253))]
    pub host: String,
    /// The Secret with the host's certificate; empty: plain HTTP.
    #[schemars(length(max = 253))]
    pub tls_secret: String,
    /// What the controller of the class is told.
    pub annotations: Texts,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NetworkPolicy {
    /// Let in only what operator and control plane serve. Each environment has its own policy, made
    /// by the operator.
    pub enabled: bool,
}

impl Default for NetworkPolicy {
    fn default() -> Self {
        Self { enabled: true }
    }
}
