//! Kubernetes types of Sluice: the resources that a platform team applies, and nothing else.
//!
//! Three kinds, all namespaced; a reference stays in its namespace. Every static rule is a CEL rule
//! of the schema, so that no webhook stands between a user and the API server. What needs more than
//! one object (a quota, an organization that is not there) is the operator's to judge, in a
//! condition of the status.
//!
//! `crds.yaml` beside this crate is what `crdgen` prints, `fields.md` what `crddoc` prints; a test fails
//! when they are not.
#![forbid(unsafe_code)]

pub mod access;
pub mod annotation;
#[expect(clippy::duplicated_attributes, reason = "kube reads one group of attributes a column")]
mod api_key;
#[cfg(any(test, feature = "testing"))]
pub mod cases;
mod conditions;
mod environment;
mod fields;
mod organization;
#[cfg(test)]
mod tests;

pub use api_key::{ApiKey, ApiKeyPhase, ApiKeySpec, ApiKeyStatus, Rotation};
pub use conditions::{Condition, ConditionStatus, ConditionType, Reason};
pub use environment::{
    Bootstrap, CollectorSecret, Connection, DataPlane, DeletionPolicy, Environment, EnvironmentPhase,
    EnvironmentSettings, EnvironmentSpec, EnvironmentStatus, GivenSecrets, Heal, ImageSource, Network, ObjectStore,
    Plans, Resources, Scheduling, SecretKey, Storage, StorageFormat, TeardownStep, Tls, TlsMode, Toleration,
};
pub use fields::{NamedRef, Quantity};
pub use organization::{
    Organization, OrganizationPhase, OrganizationSettings, OrganizationSpec, OrganizationStatus, Quotas, Tier,
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

/// The API group of every kind.
pub const GROUP: &str = "sluice.dev";
/// The one version so far.
pub const VERSION: &str = "v1alpha1";

/// Every definition, in the order in which they depend on each other.
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![Organization::crd(), Environment::crd(), ApiKey::crd()]
}

/// The definitions could not be written down.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("as JSON")]
    Json(#[from] serde_json::Error),
    #[error("as YAML")]
    Yaml(#[from] serde_yaml_ng::Error),
}

/// What `crds.yaml` holds: every definition as one YAML stream.
pub fn yaml() -> Result<String, Error> {
    let mut stream = String::from("# Printed by `cargo run -p crds --bin crdgen`; not edited by hand.\n");
    for definition in all() {
        // by way of JSON text: only there is a number of arbitrary precision a number
        let json = serde_json::to_string(&definition)?;
        let value: serde_yaml_ng::Value = serde_yaml_ng::from_str(&json)?;
        stream.push_str("---\n");
        stream.push_str(&serde_yaml_ng::to_string(&value)?);
    }
    Ok(stream)
}
