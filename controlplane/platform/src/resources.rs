//! Organizations, environments and keys as resources that others write too: what one says, in the
//! control plane's own words, and whoever writes them for REST ([`Resources`]).
//!
//! The resource is the truth for an organization and an environment: REST writes it first, takes
//! its uid for the id, and projects what it says into the row, in the request's transaction. What
//! others wrote is projected by the followers of resources, by the same functions. Where there is
//! nobody who writes resources, on one machine, the row is the truth.

use std::collections::BTreeMap;
use std::fmt::Debug;

use async_trait::async_trait;
use contract::caller::Limits;
use contract::governance::EnvironmentStatus;
use contract::{EnvId, EnvironmentSettings, EnvironmentSettingsChange, KeyId, OrgId, Redacted, Tier, UserId};
use ipnet::IpNet;

use crate::{App, Result};

/// Which state of which resource was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceRevision {
    pub namespace: String,
    /// Grows with every change; a projection never goes back.
    pub revision: i64,
    /// Who last wrote what is wanted: a field manager's name.
    pub writer: String,
}

/// The spec of an Organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganizationResource {
    pub org_id: OrgId,
    pub source: ResourceRevision,
    pub slug: String,
    pub name: String,
    pub billing_email: String,
    pub cloud_region: String,
    pub tier: Tier,
    pub quotas: Limits,
    pub status: &'static str,
    pub mfa_required: bool,
    pub enforce_sso: bool,
}

/// The spec of an Environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentResource {
    pub env_id: EnvId,
    pub source: ResourceRevision,
    /// Slug of its organization, which is in the same namespace.
    pub organization: String,
    pub slug: String,
    pub name: String,
    pub status: EnvironmentStatus,
    pub settings: EnvironmentSettings,
    pub allowed_networks: Vec<IpNet>,
    pub placed: Option<Placed>,
}

/// Where a data plane is reached: hosts and ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    pub pg: (String, i32),
    pub tools: (String, i32),
    /// REST, for the control plane alone.
    pub internal: String,
}

/// A resource by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespacedName {
    pub namespace: String,
    pub name: String,
}

#[derive(Debug)]
pub struct NewOrganization<'a> {
    pub slug: &'a str,
    pub name: &'a str,
    pub billing_email: &'a str,
    pub cloud_region: &'a str,
    pub mfa_required: bool,
    pub enforce_sso: bool,
}

/// Members that differ; `None` stays.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct OrganizationChange {
    pub name: Option<String>,
    pub billing_email: Option<String>,
    pub mfa_required: Option<bool>,
    pub enforce_sso: Option<bool>,
}

#[derive(Debug)]
pub struct NewEnvironment<'a> {
    pub organization: &'a NamespacedName,
    pub slug: &'a str,
    pub name: &'a str,
    pub settings: EnvironmentSettings,
}

/// Members that differ; `None` stays.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct EnvironmentChange {
    pub name: Option<String>,
    pub settings: EnvironmentSettingsChange,
    pub suspended: Option<bool>,
}

/// A key as its resource describes it. Never its text, never its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub key_id: KeyId,
    /// The Environment.
    pub environment: NamespacedName,
    /// The resource that the key was made of; absent: the control plane made the key.
    pub resource_uid: Option<String>,
    pub name: String,
    pub scopes: Vec<String>,
    pub ip_allowlist: Vec<String>,
    pub user_id: Option<UserId>,
    pub expires_in_days: Option<i64>,
    pub revoked: bool,
    /// Another text whenever the operator is to look again.
    pub revision: String,
}

/// The annotation of a Secret that names the Environments that may use it, with commas between them.
pub const SECRET_ENVIRONMENTS: &str = "sluice.dev/environments";

/// The annotation of a Secret that says which of its keys a part of an access key is under, as `part=key`, with commas
/// between them. A part that it does not name is under a key of its own name.
pub const SECRET_KEYS: &str = "sluice.dev/keys";

/// The annotation of a Secret that names where its password or shared access signature may be sent, as `host` or
/// `host:port`, with commas between them.
pub const SECRET_HOSTS: &str = "sluice.dev/hosts";

/// The values of a Secret of the cluster, and whom they are for.
#[derive(Debug, Clone, Default)]
pub struct SecretValues {
    /// Names of Environments, which may use it.
    pub environments: Vec<String>,
    /// Where its password or shared access signature may be sent.
    pub hosts: Vec<String>,
    /// The key of each part that it names.
    pub keys: BTreeMap<String, String>,
    /// By key.
    pub values: BTreeMap<String, Redacted<String>>,
}

/// The result of reading a Secret of the cluster.
#[derive(Debug, Clone)]
pub enum SecretRead {
    There(SecretValues),
    Absent,
    /// The control plane may not read it, or may no longer.
    Denied,
}

/// Writes resources for REST, as one of several writers: what somebody else decides is not taken
/// from them.
#[async_trait]
pub trait Resources: Debug + Send + Sync {
    /// The slug is free, else 409.
    async fn create_organization(&self, new: &NewOrganization<'_>) -> Result<OrganizationResource>;

    async fn change_organization(
        &self,
        place: &NamespacedName,
        change: &OrganizationChange,
    ) -> Result<OrganizationResource>;

    /// The slug is free in the organization, else 409.
    async fn create_environment(&self, new: &NewEnvironment<'_>) -> Result<EnvironmentResource>;

    async fn change_environment(
        &self,
        place: &NamespacedName,
        change: &EnvironmentChange,
    ) -> Result<EnvironmentResource>;

    /// Deletes the resource that has this uid, if REST made it; its finalizer may take its time.
    async fn delete_environment(&self, place: &NamespacedName, env_id: &EnvId) -> Result<()>;

    /// Writes the resource of a key, or makes the operator look at it again; its uid. `None`: it is
    /// gone, and nothing has to be said any more.
    async fn write_key(&self, key: &Key) -> Result<Option<String>>;

    /// What a Secret holds that the installation lets integrations name. An error: the cluster does not tell.
    async fn secret(&self, place: &NamespacedName) -> Result<SecretRead>;

    /// Projects what others write, until shutdown.
    async fn follow(&self, app: &App);
}
