//! The status of an environment, which the operator writes.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Condition, Quantity};

/// Computed from the conditions; never read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EnvironmentPhase {
    /// Being made; never again after the first `active`.
    Provisioning,
    /// Answers queries.
    Active,
    /// Switched off, data kept.
    Suspended,
    /// Being deleted.
    Decommissioning,
}

/// A part of a deletion that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TeardownStep {
    /// No replica runs; statements were let finish.
    Drained,
    /// No key opens it any more.
    KeysRevoked,
    /// The last state of the volume is in a `VolumeSnapshot`.
    Exported,
    /// The Deployment is gone.
    WorkloadRemoved,
}

/// Where nodes get the image of a data plane from, and how; moved by the operator's rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageSource {
    /// With its registry, without a tag.
    pub name: String,
    /// `Always`, `IfNotPresent` or `Never`.
    pub pull_policy: String,
    /// Names of the Secrets that open the registry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pull_secrets: Vec<String>,
}

/// Secrets that the pods of a data plane take from beside them, as the installation names them; moved by the operator's
/// rollout.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GivenSecrets {
    /// Of a collector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collector: Option<CollectorSecret>,
    /// Of the endpoint of models: what opens it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<SecretKey>,
}

/// A Secret for a collector. Its values are the kubelet's to bring: nobody else reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CollectorSecret {
    /// The name of the Secret.
    pub name: String,
    /// The key in it of headers that the collector is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers_key: Option<String>,
    /// The key in it of the authority that the collector's certificate is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_key: Option<String>,
}

/// One value of a Secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKey {
    /// The name of the Secret.
    pub name: String,
    /// The key in it.
    pub key: String,
}

/// Where clients connect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    /// DNS name inside the cluster.
    pub host: String,
    /// Of the PostgreSQL wire.
    pub port: i32,
    /// The slug.
    pub database: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentStatus {
    /// The generation that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The identifier that the API uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_id: Option<String>,
    /// One word for all of it; computed from the conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<EnvironmentPhase>,
    /// Where clients connect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    /// The version that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where the image that runs came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageSource>,
    /// Secrets of the installation that what runs was started with; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<GivenSecrets>,
    /// What the installation adds to the pods that run, as JSON; absent: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16384))]
    pub pods: Option<String>,
    /// As much of `storage.size` as the volume has; the size may go back to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_size: Option<Quantity>,
    /// Replicas that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Selects the pods, for autoscalers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Replicas to come back to on resume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended_replicas: Option<i32>,
    /// When it first became active; what has been in use never goes back to `provisioning`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub activated_at: Option<String>,
    /// What a deletion has done so far, in order; a restarted operator goes on from there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub teardown: Vec<TeardownStep>,
    /// The last step that the operator took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_step: Option<String>,
    /// What a dry run would change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub planned_changes: Vec<String>,
    /// What is true of the object, and why.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}
