//! An environment: one data plane with its data, policies and keys.
//!
//! "Each environment has independent policies, API keys and connection credentials." The object's
//! name is `<organization>-<slug>`, which makes the slug unique within the organization. The
//! resource is the truth for what a platform team decides (size, place, suspension, deletion);
//! policies, keys and audit are the control plane's.

mod status;

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fields::{SLUG, SLUG_MAX};
use crate::{NamedRef, Quantity};

pub use status::{
    CollectorSecret, Connection, EnvironmentPhase, EnvironmentStatus, GivenSecrets, ImageSource, SecretKey,
    TeardownStep,
};

/// One data plane with its data.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "sluice.dev",
    version = "v1alpha1",
    kind = "Environment",
    namespaced,
    doc = "One data plane with its data, policies and keys.",
    derive = "PartialEq",
    status = "EnvironmentStatus",
    shortname = "env",
    category = "sluice",
    selectable = ".spec.organizationRef.name",
    selectable = ".status.phase",
    scale(
        spec_replicas_path = ".spec.dataPlane.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    validation = Rule::new("self.metadata.name == self.spec.organizationRef.name + '-' + self.spec.slug").message("metadata.name must be <organizationRef.name>-<slug>"),
    validation = Rule::new("!isQuantity(self.spec.storage.size) || !isQuantity(oldSelf.spec.storage.size) || !quantity(self.spec.storage.size).isLessThan(quantity(oldSelf.spec.storage.size)) || (has(self.status) && has(self.status.volumeSize) && isQuantity(self.status.volumeSize) && !quantity(self.spec.storage.size).isLessThan(quantity(self.status.volumeSize)))").message("spec.storage.size may only grow, or go back to what the volume has: status.volumeSize"),
    printcolumn(name = "Org", type_ = "string", json_path = ".spec.organizationRef.name"),
    printcolumn(name = "Slug", type_ = "string", json_path = ".spec.slug"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.replicas"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.version"),
    printcolumn(name = "Host", type_ = "string", json_path = ".status.connection.host"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Generation", type_ = "integer", json_path = ".metadata.generation", priority = 1),
    printcolumn(name = "Observed", type_ = "integer", json_path = ".status.observedGeneration", priority = 1),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason", priority = 1)
)]
#[x_kube(
    validation = Rule::new("self.dataPlane.replicas <= 1 || self.storage.format == 'lake'").message("more than one replica needs storage.format lake: a native file has one writer"),
    validation = Rule::new("has(self.bootstrap) == has(oldSelf.bootstrap) && (!has(self.bootstrap) || self.bootstrap.fromSnapshot == oldSelf.bootstrap.fromSnapshot)").message("bootstrap is immutable")
)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentSpec {
    /// The Organization that the environment belongs to; immutable.
    #[x_kube(validation = Rule::new("self.name == oldSelf.name").message("organizationRef.name is immutable"))]
    pub organization_ref: NamedRef,
    /// Unique within the organization, and the name of its database; immutable.
    #[schemars(regex(pattern = SLUG), length(max = SLUG_MAX))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("slug is immutable"))]
    pub slug: String,
    /// Shown to people.
    #[schemars(length(min = 1, max = 128))]
    pub name: String,
    /// Limits of its queries.
    #[serde(default)]
    #[x_kube(validation = Rule::new("self.testMode == oldSelf.testMode").message("testMode is immutable"))]
    pub settings: EnvironmentSettings,
    /// Drained and switched off; volume, secrets and addresses are kept.
    #[serde(default)]
    pub suspended: bool,
    /// What becomes of the data when the resource is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// Where the data lies.
    #[serde(default)]
    pub storage: Storage,
    /// What runs its queries.
    #[serde(default)]
    #[x_kube(validation = Rule::new("!has(self.version) || (size(self.version) <= 63 && self.version.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$'))").message("version must be the tag of an image: at most 63 letters, digits, dots, hyphens and underscores, such as 1.2.3"))]
    pub data_plane: DataPlane,
    /// Who may connect.
    #[serde(default)]
    pub network: Network,
    /// Where the certificate that clients see comes from.
    #[serde(default)]
    pub tls: Tls,
    /// Where the first data comes from; absent: none. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<Bootstrap>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvironmentSettings {
    /// A query's longest run, in milliseconds, unless it asks for less.
    #[schemars(range(min = 1, max = 300_000))]
    pub query_timeout_ms: i32,
    /// Queries that run at the same time; others wait their turn.
    #[schemars(range(min = 1, max = 10_000))]
    pub max_concurrent_queries: i32,
    /// Answers of repeated queries may come from a cache.
    pub cache_enabled: bool,
    /// How far a statement that fails may be corrected and run.
    pub heal: Heal,
    /// Its keys begin with `svc_test_` instead of `svc_live_`; immutable.
    pub test_mode: bool,
}

impl Default for EnvironmentSettings {
    fn default() -> Self {
        Self {
            query_timeout_ms: 30_000,
            max_concurrent_queries: 100,
            cache_enabled: true,
            heal: Heal::default(),
            test_mode: false,
        }
    }
}

// `Never` is what the API calls `off`, which YAML takes for a boolean.
/// How far a statement that fails may be corrected and run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Heal {
    /// Not at all.
    Never,
    /// By rule, where that cannot change which data is read: a misspelt keyword, a name's letter case.
    #[default]
    Safe,
    /// Besides, a model may write a query in its place, where one is set up.
    Auto,
}

/// What becomes of the data when the resource is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// The volume stays.
    #[default]
    Retain,
    /// A snapshot is taken, then the volume goes; confirmed as for `Delete`.
    Snapshot,
    /// The volume goes, once the annotation `sluice.dev/confirm-delete: <slug>` says so too.
    Delete,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("(self.format == 'lake') == has(self.objectStore)").message("objectStore is required by format lake, and used by no other"),
    validation = Rule::new("has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)").message("storageClassName is immutable")
)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// How the data is kept; immutable.
    #[serde(default)]
    #[x_kube(validation = Rule::new("self == oldSelf").message("format is immutable"))]
    pub format: StorageFormat,
    /// Of the volume; may only grow, or go back to `status.volumeSize` where it could not.
    #[serde(default = "Storage::default_size")]
    #[x_kube(validation = Rule::new("isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))").message("size must be a quantity above zero, such as 10Gi"))]
    pub size: Quantity,
    /// Absent: the cluster's default. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub storage_class_name: Option<String>,
    /// Required by format `lake`, and used by no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_store: Option<ObjectStore>,
}

impl Storage {
    fn default_size() -> Quantity {
        Quantity("10Gi".to_owned())
    }
}

impl Default for Storage {
    fn default() -> Self {
        Self { format: StorageFormat::Native, size: Self::default_size(), storage_class_name: None, object_store: None }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StorageFormat {
    /// One file on a volume, one writer.
    #[default]
    Native,
    /// Parquet in an object store, any number of replicas. No data plane serves it yet: the operator refuses
    /// such an environment with `SpecValid=False`.
    Lake,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectStore {
    /// Bucket and prefix.
    #[schemars(regex(pattern = "^(s3|gs|az|abfss)://.+"), length(max = 1024))]
    pub url: String,
    /// A Secret with the credentials; absent: those of the service account.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DataPlane {
    /// Of the data plane; absent: moved by the operator's rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub version: Option<String>,
    /// Plans that are kept of texts that come again; absent: as the installation says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plans: Option<Plans>,
    /// How many run; more than one needs `storage.format: lake`.
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,
    /// What each replica asks for and may use.
    pub resources: Resources,
    /// Where replicas may run.
    pub scheduling: Scheduling,
}

impl Default for DataPlane {
    fn default() -> Self {
        let (resources, scheduling) = (Resources::default(), Scheduling::default());
        Self { version: None, plans: None, replicas: 1, resources, scheduling }
    }
}

/// Bounds of the plans that a data plane and its engine keep; in force from its next start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Plans {
    /// Bytes of all plans of the data plane; 0: it keeps none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_073_741_824))]
    pub bytes: Option<i32>,
    /// Seconds after which one goes that nobody uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub idle_secs: Option<i32>,
    /// Plans that each session of the engine keeps; 0: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub in_engine: Option<i32>,
}

/// As of a container: quantities by name, `cpu` and `memory`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("!has(self.requests) || !has(self.limits) || self.requests.all(name, !(name in self.limits) || !isQuantity(self.requests[name]) || !isQuantity(self.limits[name]) || !quantity(self.requests[name]).isGreaterThan(quantity(self.limits[name])))").message("a request must not be above its limit"),
    validation = Rule::new("(has(self.limits) && 'memory' in self.limits) ? (!isQuantity(self.limits['memory']) || !quantity(self.limits['memory']).isLessThan(quantity('384Mi'))) : (!has(self.requests) || !('memory' in self.requests) || !isQuantity(self.requests['memory']) || !quantity(self.requests['memory']).isLessThan(quantity('384Mi')))").message("memory must be at least 384Mi")
)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// Amounts by name that a node must have free.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 8))]
    #[x_kube(validation = Rule::new("self.all(name, isQuantity(self[name]))").message("each request must be a quantity, such as 500m or 2Gi"))]
    pub requests: BTreeMap<String, Quantity>,
    /// Amounts by name that a replica never exceeds; the engine's memory and threads follow from them.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 8))]
    #[x_kube(validation = Rule::new("self.all(name, isQuantity(self[name]))").message("each limit must be a quantity, such as 500m or 2Gi"))]
    pub limits: BTreeMap<String, Quantity>,
}

/// Where replicas may run; added to the spread over zones and hosts that they have anyway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Scheduling {
    /// Labels that a node must have.
    pub node_selector: BTreeMap<String, String>,
    /// Taints of nodes that do not keep replicas away.
    #[schemars(length(max = 32))]
    pub tolerations: Vec<Toleration>,
    /// The `PriorityClass` of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
}

/// As of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Toleration {
    /// Of the taint; absent with `Exists`: every taint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `Exists` or `Equal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^(Exists|Equal)$"))]
    pub operator: Option<String>,
    /// Of the taint, for `Equal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^(NoSchedule|PreferNoSchedule|NoExecute)$"))]
    pub effect: Option<String>,
    /// How long a `NoExecute` taint is borne; absent: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// CIDR ranges that may connect; empty: any. Judged is the address that arrives at the pod, by a `NetworkPolicy`
    /// and, where no plugin enforces one, by the data plane. REST through the control plane is not meant.
    #[serde(default)]
    #[schemars(length(max = 64), inner(length(max = 43)))]
    #[x_kube(validation = Rule::new("self.all(range, isCIDR(range))").message("each entry must be a CIDR range, such as 10.0.0.0/8"))]
    pub allowed_cidrs: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("(self.mode == 'CertManager') == has(self.issuerRef)").message("issuerRef is required by mode CertManager, and used by no other"),
    validation = Rule::new("(self.mode == 'Secret') == has(self.secretRef)").message("secretRef is required by mode Secret, and used by no other")
)]
#[serde(rename_all = "camelCase")]
pub struct Tls {
    /// Who signs.
    #[serde(default)]
    pub mode: TlsMode,
    /// The cert-manager Issuer that signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer_ref: Option<NamedRef>,
    /// The Secret that holds `tls.crt` and `tls.key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<NamedRef>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TlsMode {
    /// Signed by the organization's own authority.
    #[default]
    SelfSigned,
    /// Issued by cert-manager from `issuerRef`.
    CertManager,
    /// Given in `secretRef`, renewed by whoever gives it.
    Secret,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// The `VolumeSnapshot` that the volume starts from.
    #[schemars(length(min = 1, max = 253))]
    pub from_snapshot: String,
}
