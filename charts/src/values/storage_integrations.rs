//! What storage integrations reach, and by which credentials.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What storage integrations may use, for all organizations. Owners and admins of these make them over REST.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StorageIntegrations {
    /// Stores outside of the public internet that they may name: `host` or `host:port`, each as its URL has it. They may
    /// be plain HTTP. What is taken away is disabled; a data plane learns of what is added when its pod starts next.
    #[schemars(length(max = 32), inner(length(min = 1, max = 253)))]
    pub hosts: Vec<String>,
}
