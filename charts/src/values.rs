//! What may be set when the chart is installed: `values.yaml`, its schema and the table of the
//! README are printed from these types, so that the three cannot disagree.
//!
//! A field's documentation is what a person reads beside the value. What is not named here is
//! refused by the schema.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// What environments get that do not say otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DataPlane {
    /// Name of the image, below `image.registry`.
    #[schemars(length(min = 1, max = 200))]
    pub image: String,
    /// Tag that environments without `spec.dataPlane.version` run; empty: `image.tag`.
    #[schemars(length(max = 128), regex(pattern = "^[A-Za-z0-9_.-]*$"))]
    pub version: String,
    /// Secrets that pull the image, in the namespace of each environment.
    #[schemars(length(max = 16), inner(length(min = 1, max = 253)))]
    pub pull_secrets: Vec<String>,
    /// Suffix of the names that clients connect to.
    #[schemars(length(min = 1, max = 200))]
    pub cluster_domain: String,
    pub rollout: Rollout,
    pub model: Model,
}

/// Models that data planes ask, behind an endpoint that speaks as OpenAI's does. What is sent there leaves the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Model {
    /// Base URL of the endpoint: `https://models.example.com/v1`. Empty: no model is asked. A data plane learns of a
    /// change when its pod starts next; its way to the endpoint opens and closes at once.
    #[schemars(length(max = 1000), regex(pattern = "^(https?://[^@?#]+)?$"))]
    pub url: String,
    /// Permits an `http://` endpoint: only over a network that nobody else listens on.
    pub plain: bool,
    /// A Secret with the endpoint's key, in the namespace of each environment. Empty: no key is sent. Naming another
    /// one restarts data planes, in the waves of `rollout`.
    #[schemars(length(max = 253))]
    pub existing_secret: String,
    /// The key of that Secret.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// The model that makes vectors of memories, of 256 dimensions. Empty: the built-in embedder makes them.
    #[schemars(length(max = 200))]
    pub embedding: String,
    /// The model that is asked to correct a statement that failed. Empty: rules alone do.
    #[schemars(length(max = 200))]
    pub healing: String,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            url: String::new(),
            plain: false,
            existing_secret: String::new(),
            key: "key".to_owned(),
            embedding: String::new(),
            healing: String::new(),
        }
    }
}

/// How environments move to a new `version`. The first one that does not come up halts it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rollout {
    /// Environments that are being moved at the same time.
    #[schemars(range(min = 1, max = 1000))]
    pub max_in_flight: i32,
    /// Rising percentages of all environments; the next wave begins when one has arrived.
    #[schemars(length(min = 1, max = 16), inner(range(min = 1, max = 100)))]
    pub waves: Vec<u8>,
}

impl Default for Rollout {
    fn default() -> Self {
        Self { max_in_flight: 10, waves: vec![1, 10, 100] }
    }
}

impl Default for DataPlane {
    fn default() -> Self {
        Self {
            image: "sluice-dataplane".to_owned(),
            version: String::new(),
            pull_secrets: Vec::new(),
            cluster_domain: "cluster.local".to_owned(),
            rollout: Rollout::default(),
            model: Model::default(),
        }
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

/// For a cluster with the Prometheus operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ServiceMonitor {
    /// Make one for the metrics of the operator, and `PodMonitor`s for control plane and data planes. A
    /// Prometheus that scrapes data planes runs in the namespace of the release, which is all that their
    /// policies let in.
    pub enabled: bool,
    /// Between two scrapes.
    #[schemars(regex(pattern = "^[0-9]+(ms|s|m)$"))]
    pub interval: String,
    /// What the Prometheus selects monitors by.
    pub labels: Texts,
}

impl Default for ServiceMonitor {
    fn default() -> Self {
        Self { enabled: false, interval: "30s".to_owned(), labels: Texts::new() }
    }
}

/// For a cluster with the Prometheus operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PrometheusRule {
    /// Make one, with the alerts of `METRICS.md`.
    pub enabled: bool,
    /// What the Prometheus selects rules by.
    pub labels: Texts,
}

/// For a Grafana that reads dashboards from `ConfigMap`s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Dashboards {
    /// Make the `ConfigMap`s, one for each dashboard.
    pub enabled: bool,
    /// What the Grafana selects `ConfigMap`s by.
    pub labels: Texts,
}

impl Default for Dashboards {
    fn default() -> Self {
        Self { enabled: false, labels: Texts::from([("grafana_dashboard".to_owned(), "1".to_owned())]) }
    }
}

/// For a collector of spans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Tracing {
    /// Where control plane and data planes send spans, OTLP over gRPC: `http://collector.observability:4317`,
    /// or `https://`. Empty: none are made. A data plane learns of a change when its pod starts next.
    #[schemars(length(max = 1000), regex(pattern = "^(https?://[^@]+)?$"))]
    pub endpoint: String,
    /// Of the requests that come without a trace, the part that is told of, from `0` to `1`.
    #[schemars(regex(pattern = r"^(0(\.[0-9]{1,6})?|1)$"))]
    pub ratio: String,
    /// A Secret with what the collector wants to be shown, and whom to believe: by this name in the
    /// namespace of the release and beside each environment. A change of it replaces data planes, in the waves of
    /// `dataPlane.rollout`. Empty: none.
    #[schemars(length(max = 253), regex(pattern = "^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$"))]
    pub existing_secret: String,
    /// The key of that Secret that holds headers, as `authorization=Bearer%20…,x-scope=sluice`. Empty: none.
    #[schemars(length(max = 253), regex(pattern = "^[A-Za-z0-9._-]*$"))]
    pub headers_key: String,
    /// The key of that Secret that holds the authority, as PEM, which an `https://` collector's certificate
    /// is of. Empty: the public ones.
    #[schemars(length(max = 253), regex(pattern = "^[A-Za-z0-9._-]*$"))]
    pub ca_key: String,
}

impl Default for Tracing {
    fn default() -> Self {
        Self {
            endpoint: String::new(),
            ratio: "1".to_owned(),
            existing_secret: String::new(),
            headers_key: "headers".to_owned(),
            ca_key: String::new(),
        }
    }
}
