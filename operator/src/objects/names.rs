//! Names of an environment's children, and the labels that find them.

use std::fmt;

use crds::Environment;

/// Label and annotation names.
pub mod label {
    pub const NAME: &str = "app.kubernetes.io/name";
    /// The environment. Nothing else carries it: what does and is not wanted is an orphan.
    pub const INSTANCE: &str = "app.kubernetes.io/instance";
    pub const COMPONENT: &str = "app.kubernetes.io/component";
    pub const PART_OF: &str = "app.kubernetes.io/part-of";
    pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
    pub const VERSION: &str = "app.kubernetes.io/version";
    /// Name of the organization; on a Secret, of the one whose authority is in it.
    pub const ORGANIZATION: &str = "sluice.dev/organization";
    /// On the volume alone, which outlives its environment: who may take it up again.
    pub const ORGANIZATION_ID: &str = "sluice.dev/organization-id";
    /// On the volume alone: whose deletion may take it away.
    pub const ENVIRONMENT_ID: &str = "sluice.dev/environment-id";
    /// The uid of the `ApiKey` whose value is in the Secret.
    pub const API_KEY: &str = "sluice.dev/api-key";
    /// Annotation: its name.
    pub const API_KEY_NAME: &str = "sluice.dev/api-key-name";
    /// Annotation: the rotation whose value is in the Secret.
    pub const ROTATION: &str = "sluice.dev/rotation-id";

    /// Value of [`MANAGED_BY`], and the field manager.
    pub const OPERATOR: &str = "sluice-operator";
    /// Value of [`NAME`].
    pub const DATA_PLANE: &str = "sluice-dataplane";

    /// Whether a text may be the value of a label; such a text may be the tag of an image too.
    pub fn is_value(text: &str) -> bool {
        let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let bytes = text.as_bytes();
        bytes.len() <= 63 && edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(|byte| inside(*byte))
    }
}

/// Annotations: those that people set on an environment, and the operator's own.
pub mod annotation {
    pub use crds::annotation::{CONFIRM_DELETE, DRY_RUN, PAUSED};

    /// On the pods: hash of the settings that only a restart brings into force.
    pub const CONFIG_HASH: &str = "sluice.dev/config-hash";
    /// On the workload: what the installation adds to its pods, as JSON.
    pub const PODS: &str = "sluice.dev/pods";
}

/// An environment's name, short enough that its children's fit into 63 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// Two slugs of 25 and the hyphen between them.
    const LONGEST: usize = 51;

    /// The name must be the one that makes the slug unique in its organization.
    pub fn of(environment: &Environment) -> Result<Self, String> {
        let name = environment.metadata.name.clone().unwrap_or_default();
        let spec = &environment.spec;
        let label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name != format!("{}-{}", spec.organization_ref.name, spec.slug) {
            return Err("metadata.name must be <organizationRef.name>-<slug>".to_owned());
        }
        if name.len() > Self::LONGEST
            || !name.starts_with(|c: char| c.is_ascii_lowercase())
            || name.ends_with('-')
            || !name.bytes().all(label)
        {
            return Err(format!(
                "metadata.name must be at most {} lower-case letters, digits and hyphens, and begin with a letter",
                Self::LONGEST
            ));
        }
        Ok(Self(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn volume(&self) -> String {
        format!("{self}-data")
    }

    pub fn config(&self) -> String {
        format!("{self}-config")
    }

    /// The Secret with the identity among planes.
    pub fn identity(&self) -> String {
        format!("{self}-identity")
    }

    /// The Secret with the certificate that clients see.
    pub fn tls(&self) -> String {
        format!("{self}-tls")
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The labels that choose an environment's pods. Immutable in a Deployment.
pub fn selector(environment: &str) -> [(String, String); 2] {
    [(label::NAME.to_owned(), label::DATA_PLANE.to_owned()), (label::INSTANCE.to_owned(), environment.to_owned())]
}

/// The same for autoscalers and `kubectl -l`.
pub fn selector_text(environment: &str) -> String {
    let [(name, data_plane), (instance, environment)] = selector(environment);
    format!("{name}={data_plane},{instance}={environment}")
}

#[cfg(test)]
mod tests {
    use super::label::is_value;

    #[test]
    fn a_label_value_is_short_and_plain() {
        for good in ["1.2.3", "v1", "a", "2026-01-01_rc.1"] {
            assert!(is_value(good), "{good}");
        }
        for bad in ["", "-a", "a-", "a/b", "a:b", "a@sha256", "a b", &"a".repeat(64)] {
            assert!(!is_value(bad), "{bad:?}");
        }
    }
}
