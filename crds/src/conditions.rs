//! Conditions: what is true of an object, why, and of which generation it was said.
//!
//! Names and reasons are closed lists; each reason is also a metric label and a row of the
//! documentation. A condition that does not carry `observedGeneration` would let `Ready` speak for
//! a specification that nobody has looked at yet, so every one carries it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a condition is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConditionType {
    /// The summary: everything below is as it should be, for this generation.
    Ready,
    /// A change is being carried out.
    Progressing,
    /// It works, but not as it was asked to.
    Degraded,
    /// The specification can be carried out.
    SpecValid,
    /// Enough replicas answer.
    WorkloadAvailable,
    /// Keys and secrets in the cluster are those of the control plane.
    CredentialsSynced,
    /// The certificate is valid and not due for renewal.
    CertificateReady,
    /// The organization exists and is active.
    OrganizationActive,
    /// Switched off on purpose; data kept.
    Suspended,
    /// Running statements are being let finish.
    Draining,
    /// Nothing is changed because the object asks so by annotation.
    Paused,
    /// The volume is being made larger.
    StorageResizing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It is so.
    True,
    /// It is not.
    False,
    /// Nobody has looked, or could not tell.
    Unknown,
}

/// Why a condition is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Reason {
    /// As it should be.
    AsSpecified,
    /// A generation that is not in force yet: it was just seen, or is being rolled out.
    NewGeneration,
    /// The object does not describe something possible; its message says what to change.
    Invalid,
    /// A limit of the organization's tier is reached.
    QuotaExceeded,
    /// The object that is referred to is not there.
    ReferenceNotFound,
    /// The organization is suspended, cancelled or not paid for.
    OrganizationNotActive,
    /// Replicas are starting.
    Starting,
    /// Replicas start and end again.
    CrashLooping,
    /// No replica could be placed on a node.
    Unschedulable,
    /// The cluster refused to make a replica, as a quota or an admission does; its message says why.
    ReplicaFailure,
    /// A new version is being rolled out.
    RollingOut,
    /// The rollout did not finish in its time and was halted.
    RolloutTimedOut,
    /// Running statements are being let finish.
    WaitingForQueries,
    /// `spec.suspended` is set.
    SuspendedBySpec,
    /// The annotation that pauses is set.
    PausedByAnnotation,
    /// Deletion waits for the annotation that confirms it.
    DeletionNotConfirmed,
    /// Deletion is being carried out.
    Decommissioning,
    /// The certificate is being issued or renewed.
    CertificatePending,
    /// The control plane could not be reached.
    ControlPlaneUnreachable,
    /// A key of the environment is not in force; the message names it, and its own conditions say why.
    KeyNotSynced,
    /// The key reached its `expiresAt`.
    Expired,
    /// The key was revoked.
    Revoked,
    /// The volume is being made larger.
    Resizing,
    /// The storage class does not let a volume grow.
    ExpansionNotAllowed,
    /// Somebody else sets a field of a child again and again; the message names both.
    DriftContested,
    /// The API server refused a write; its message says why.
    ApplyFailed,
}

/// One condition, in the shape of Kubernetes' own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What it is about; each type stands once.
    #[serde(rename = "type")]
    pub type_: ConditionType,
    /// Whether it is so.
    pub status: ConditionStatus,
    /// The generation of the object that this was said of.
    pub observed_generation: i64,
    /// When `status` last changed. RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// Why, as one word of a closed list.
    pub reason: Reason,
    /// For a person; holds no secret.
    #[schemars(length(max = 1024))]
    pub message: String,
}
