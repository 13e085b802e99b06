//! An API key, written down by a platform team.
//!
//! The key's value is never in the resource. Without `keyId` the operator generates the key and
//! puts it, once, into the Secret that `secretRef` names; with `keyId` the control plane made the
//! key and this is its record. The truth about keys is the control plane's database, because a
//! revocation must not depend on the API server. Deleting the resource revokes the key.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Condition, NamedRef};

const SCOPE: &str =
    r"^((query|schema|policy|user|key|billing|webhook|environment):(read|write|\*)|audit:(read|\*)|agent:\*)$";

/// A key that opens one environment.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "sluice.dev",
    version = "v1alpha1",
    kind = "ApiKey",
    namespaced,
    doc = "A key that opens one environment. Its value is in the Secret of spec.secretRef, never here.",
    derive = "PartialEq",
    status = "ApiKeyStatus",
    plural = "apikeys",
    shortname = "ak",
    category = "sluice",
    selectable = ".spec.environmentRef.name",
    selectable = ".status.phase",
    printcolumn(name = "Environment", type_ = "string", json_path = ".spec.environmentRef.name"),
    printcolumn(name = "Name", type_ = "string", json_path = ".spec.name"),
    printcolumn(name = "Prefix", type_ = "string", json_path = ".status.prefix"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Expires", type_ = "string", json_path = ".status.expiresAt"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Scopes", type_ = "string", json_path = ".spec.scopes", priority = 1),
    printcolumn(name = "Key-Id", type_ = "string", json_path = ".status.keyId", priority = 1)
)]
#[x_kube(
    validation = Rule::new("has(self.keyId) || has(self.secretRef)").message("secretRef is required: it names the Secret that the key is put into"),
    validation = Rule::new("!has(self.secretRef) || !has(oldSelf.secretRef) || self.secretRef.name == oldSelf.secretRef.name || (has(self.rotation) && (!has(oldSelf.rotation) || self.rotation.id != oldSelf.rotation.id))").message("secretRef changes only together with rotation.id: a key's value is given once"),
    validation = Rule::new("has(self.keyId) == has(oldSelf.keyId) && (!has(self.keyId) || self.keyId == oldSelf.keyId)").message("keyId is immutable")
)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeySpec {
    /// The Environment that the key opens; immutable.
    #[x_kube(validation = Rule::new("self.name == oldSelf.name").message("environmentRef.name is immutable"))]
    pub environment_ref: NamedRef,
    /// Unique within the environment; immutable.
    #[schemars(length(min = 1, max = 256))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("name is immutable"))]
    pub name: String,
    /// What the key may do. A scope that ends in `*` grants all of its family.
    #[schemars(length(min = 1, max = 32), inner(regex(pattern = SCOPE), length(max = 32)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub scopes: Vec<String>,
    /// CIDR ranges that the key is usable from; empty: any.
    #[serde(default)]
    #[schemars(length(max = 100), inner(length(max = 43)))]
    #[x_kube(validation = Rule::new("self.all(range, isCIDR(range))").message("each entry must be a CIDR range, such as 10.0.0.0/8"))]
    pub ip_allowlist: Vec<String>,
    /// Counted from creation; absent: the key does not expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3650))]
    pub expires_in_days: Option<i32>,
    /// The user whom the key acts for, whose role then also limits it; absent: scopes alone do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub user_id: Option<String>,
    /// A new `id` asks for a new value; absent: never rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<Rotation>,
    /// The Secret that the operator writes the key into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<NamedRef>,
    /// Set by the control plane alone, for a key that it made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub key_id: Option<String>,
}

/// A new `id` asks for a new value of the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rotation {
    /// Any text; the rotation that was carried out is `status.rotationId`.
    #[schemars(length(min = 1, max = 64))]
    pub id: String,
    /// How long the old value stays valid.
    #[serde(default = "Rotation::default_grace")]
    #[schemars(range(min = 0, max = 168))]
    pub grace_period_hours: i32,
}

impl Rotation {
    const fn default_grace() -> i32 {
        72
    }
}

/// Computed from the conditions; never read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApiKeyPhase {
    /// Not made yet.
    Pending,
    /// Opens its environment.
    Active,
    /// Past its `expiresAt`.
    Expired,
    /// Taken back.
    Revoked,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyStatus {
    /// The generation that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The identifier that the API uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// The first characters of the key, enough to tell it from others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// RFC 3339; absent: it does not expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub expires_at: Option<String>,
    /// One word for all of it; computed from the conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<ApiKeyPhase>,
    /// The `rotation.id` that has been carried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation_id: Option<String>,
    /// The `sluice.dev/key-revision` that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_revision: Option<String>,
    /// What is true of the object, and why.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}
