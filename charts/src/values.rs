//! Settings of an installation of the chart: `values.yaml`, its schema and the table of the
//! README are printed from these types, so that the three cannot disagree.
//!
//! A field's documentation is what a person reads beside the value. What is not named here is
//! refused by the schema.

/// Values of the chart: each with its default, where that is not the one of its type.
macro_rules! values {
    (@ $type:ty = $default:expr) => { $default };
    (@ $type:ty) => { <$type as Default>::default() };
    ($($(#[$($about:tt)+])* pub struct $name:ident {
        $($(#[$($field_about:tt)+])* pub $field:ident: $type:ty $(= $default:expr)?,)+
    })+) => {$(
        $(#[$($about)+])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$($field_about)+])* pub $field: $type),+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: values!(@ $type $(= $default)?)),+ }
            }
        }
    )+};
}

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

values! {
/// Every value of the chart.
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
    pub listen_address: String = "0.0.0.0".to_owned(),
    /// Seconds that an HTTP connection of control plane and data planes lives between two requests: more than a balancer
    /// in front keeps it. A data plane learns of a change when its pod starts next.
    #[schemars(range(min = 1, max = 3600))]
    pub http_idle_secs: i32 = 75,
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

pub struct Crds {
    /// Install and upgrade the custom resource definitions with the chart. An uninstall keeps them,
    /// because with a definition all of its resources go.
    pub install: bool = true,
}

pub struct Rbac {
    /// Add the resources to the cluster's own roles `view`, `edit` and `admin`.
    pub aggregate_roles: bool = true,
}

/// What the three images have in common.
pub struct Image {
    /// Where the images are, such as `registry.example.com/platform`; empty: named without one.
    #[schemars(length(max = 200), regex(pattern = "^([a-z0-9][a-z0-9._:/-]*[a-z0-9])?$"))]
    pub registry: String,
    /// Empty: the version of the chart.
    #[schemars(length(max = 128), regex(pattern = "^[A-Za-z0-9_.-]*$"))]
    pub tag: String,
    /// Of all three images.
    pub pull_policy: PullPolicy = PullPolicy::IfNotPresent,
    /// Secrets of the release's namespace that pull the images of operator and control plane.
    #[schemars(length(max = 16), inner(length(min = 1, max = 253)))]
    pub pull_secrets: Vec<String>,
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

values! {
pub struct Operator {
    /// Name of the image, below `image.registry`.
    #[schemars(length(min = 1, max = 200))]
    pub image: String = "sluice-operator".to_owned(),
    /// One leads; the others wait with warm caches.
    #[schemars(range(min = 1, max = 9))]
    pub replicas: i32 = 2,
    /// Objects that are worked on at the same time.
    #[schemars(range(min = 1, max = 256))]
    pub concurrency: i32 = 16,
    /// Requests to the API server in a second, at most.
    #[schemars(range(min = 1, max = 65535))]
    pub api_rate: i32 = 200,
    /// A filter of log lines, such as `info` or `operator=debug,kube=info`.
    #[schemars(length(min = 1, max = 200))]
    pub log: String = "info".to_owned(),
    /// Variables beside those that the chart sets, as of a container.
    #[schemars(length(max = 64))]
    pub env: Vec<Variable>,
    pub resources: Resources = resources("50m", "64Mi", "256Mi"),
    pub service_account: Account,
    pub pods: Pods,
}

pub struct ControlPlane {
    /// Name of the image, below `image.registry`.
    #[schemars(length(min = 1, max = 200))]
    pub image: String = "sluice-controlplane".to_owned(),
    /// All serve.
    #[schemars(range(min = 1, max = 20))]
    pub replicas: i32 = 2,
    /// The URL that callers reach REST under: issuer and audience of its tokens. Empty: made from
    /// the host of the Ingress, or else the address inside the cluster.
    #[schemars(length(max = 200), regex(pattern = "^(https?://[^/]+)?$"))]
    pub public_url: String,
    /// Whether `POST /v1/signup` makes new organizations for anybody who can reach REST. Without it organizations are
    /// made as resources, by whoever may write these.
    pub signup: bool,
    /// Whether `/v2`, the governed runtime of agents' tasks, answers.
    pub runtime: bool = true,
    /// Networks whose `X-Forwarded-For` is believed, such as that of the Ingress's pods.
    #[schemars(length(max = 32), inner(length(min = 1, max = 43)))]
    pub trusted_proxies: Vec<String>,
    /// A filter of log lines, such as `info` or `controlplane=debug`.
    #[schemars(length(min = 1, max = 200))]
    pub log: String = "info".to_owned(),
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
    pub resources: Resources = resources("100m", "256Mi", "1Gi"),
    pub service_account: Account,
    pub pods: Pods,
}

/// PostgreSQL, the control plane's one store.
pub struct Database {
    /// `postgresql://user:password@host/database`, put into a Secret by the chart. Empty: the Secret
    /// `existingSecret` is there already, or is made before the control plane can start.
    #[schemars(length(max = 2000), regex(pattern = "^(postgres(ql)?://.+)?$"))]
    pub url: String,
    /// A Secret of the release's namespace that holds the URL. Not used when `url` is set. Another user or password in
    /// it is taken over within two minutes, without a restart; another host or database by `kubectl rollout restart`.
    #[schemars(length(min = 1, max = 253))]
    pub existing_secret: String = "sluice-database".to_owned(),
    /// The key of that Secret.
    #[schemars(length(min = 1, max = 253))]
    pub key: String = "url".to_owned(),
    /// Connections of one replica.
    #[schemars(range(min = 2, max = 1000))]
    pub max_connections: i32 = 20,
}

/// The mail server that invitations and links to sign in leave by.
pub struct Mail {
    /// A Secret of the release's namespace that holds `smtps://user:password@host` or
    /// `smtp://user:password@host?tls=required`. Empty: no mail leaves, and what needs one is refused.
    #[schemars(length(max = 253))]
    pub existing_secret: String,
    /// The key of that Secret.
    #[schemars(length(min = 1, max = 253))]
    pub key: String = "url".to_owned(),
    /// The sender.
    #[schemars(length(min = 3, max = 320))]
    pub from: String = "Sluice <sluice@localhost>".to_owned(),
}
}
