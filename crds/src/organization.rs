//! An organization: who pays, with which tier, and what it may use.
//!
//! "`slug`: required, unique, URL-safe, immutable after creation", "`cloud_region`: optional on
//! create, default `us-east-1`, immutable after creation". The object's name is the slug, which
//! makes it unique in its namespace.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Condition;
use crate::fields::{SLUG, SLUG_MAX};

/// An organization: the unit of billing, users and limits.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "sluice.dev",
    version = "v1alpha1",
    kind = "Organization",
    namespaced,
    doc = "An organization: the unit of billing, users and limits.",
    derive = "PartialEq",
    status = "OrganizationStatus",
    shortname = "org",
    category = "sluice",
    selectable = ".status.phase",
    validation = Rule::new("self.metadata.name == self.spec.slug").message("metadata.name must be spec.slug"),
    printcolumn(name = "Tier", type_ = "string", json_path = ".spec.tier"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Region", type_ = "string", json_path = ".spec.cloudRegion"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Org-Id", type_ = "string", json_path = ".status.orgId", priority = 1),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationSpec {
    /// Unique and URL-safe; immutable.
    #[schemars(regex(pattern = SLUG), length(max = SLUG_MAX))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("slug is immutable"))]
    pub slug: String,
    /// Shown to people.
    #[schemars(length(min = 1, max = 128))]
    pub name: String,
    /// Where invoices go.
    #[schemars(regex(pattern = r"^[^@\s]+@[^@\s]+$"), length(max = 254))]
    pub billing_email: String,
    /// Where it is at home; immutable.
    #[serde(default = "OrganizationSpec::default_region")]
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("cloudRegion is immutable"))]
    pub cloud_region: String,
    /// What it pays for, and with that its limits.
    #[serde(default)]
    pub tier: Tier,
    /// Overrides of what the tier grants.
    #[serde(default)]
    pub quotas: Quotas,
    /// Every environment is drained and switched off; data is kept.
    #[serde(default)]
    pub suspended: bool,
    /// How its people sign in.
    #[serde(default)]
    pub settings: OrganizationSettings,
}

impl OrganizationSpec {
    fn default_region() -> String {
        "us-east-1".to_owned()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// 1,000 credits a month, one environment.
    #[default]
    Free,
    /// 10,000 credits a month, five environments.
    Cloud,
    /// 100,000 credits a month, twenty environments.
    Growth,
    /// No limits but those of `quotas`.
    Enterprise,
}

/// Absent: what the tier grants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Quotas {
    /// Credits that its queries may use in a month.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub monthly_credit_limit: Option<i64>,
    /// Queries that run at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_concurrent_queries: Option<i32>,
    /// Rows of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_rows_per_query: Option<i64>,
    /// Gigabytes of data.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub storage_limit_gb: Option<i64>,
    /// Environments.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_environments: Option<i32>,
    /// People.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_users: Option<i32>,
    /// Keys that are not revoked, in one environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_api_keys_per_environment: Option<i32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationSettings {
    /// A second factor is asked of every user.
    #[serde(default)]
    pub mfa_required: bool,
    /// Password login is disabled.
    #[serde(default)]
    pub enforce_sso: bool,
}

/// Computed from the conditions; never read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OrganizationPhase {
    /// Its environments run.
    Active,
    /// Nothing runs until it is paid.
    PendingPayment,
    /// Not looked at yet.
    Provisioning,
    /// Its environments are switched off.
    Suspended,
    /// It has ended.
    Cancelled,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationStatus {
    /// The generation that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The identifier that the API uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// One word for all of it; computed from the conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<OrganizationPhase>,
    /// What is true of the object, and why.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}
