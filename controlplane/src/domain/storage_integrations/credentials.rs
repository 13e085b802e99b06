//! Credentials of storage integrations as they are sent, and what is answered of them.

use contract::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::secret::source::{KeptSecret, SecretKeys};

/// Credentials as they are sent. They are never answered.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "StorageCredentialsInput")]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum CredentialsInput {
    /// None are sent to the store.
    Anonymous,
    /// Those of the data plane's surroundings, where the installation allows it.
    Ambient,
    /// Of `azure`, its id is the account's name, and its secret a key of the account.
    AccessKey { access_key_id: String, secret_access_key: String, session_token: Option<String> },
    /// Of `azure`: a shared access signature.
    SasToken { sas_token: String },
    /// Of `postgres`.
    Password { user: String, password: String },
    /// Those of a Secret of Kubernetes, where the installation reads it. One of a password or signature names its hosts.
    KubernetesSecret {
        name: String,
        /// Absent: each part is under its own name. Others are those that its annotation `sluice.dev/keys` says.
        keys: Option<SecretKeys>,
    },
}

/// That there are credentials, and since when.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StorageCredentialsKept")]
pub struct CredentialsAnswer {
    pub r#type: String,
    /// Null where none are kept.
    pub since: Option<Timestamp>,
    /// The Secret of Kubernetes that they come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<KeptSecret>,
}
