//! The reach of storage integrations, and their credentials.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What storage integrations may use, for all organizations. Owners and admins of these make them over REST.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StorageIntegrations {
    /// Stores and databases outside of the public internet that they may name: `host` or `host:port`, each as a URL has
    /// it. They may be asked without TLS. What is taken away is disabled; a data plane learns of what is added when its
    /// pod starts next.
    #[schemars(length(max = 32), inner(length(min = 1, max = 253)))]
    pub hosts: Vec<String>,
    /// Ports of stores and databases that policies of environments let data planes reach, such as 443 and 5432: a policy
    /// sees a port after a Service's translation. Empty: no way to them is open.
    #[schemars(length(max = 16), inner(range(min = 1, max = 65535)))]
    pub ports: Vec<u16>,
    /// Networks that data planes may reach at these ports, such as `198.51.100.0/24`. Empty: any. No policy names a host:
    /// which of them are reached is the data plane's own rule.
    #[schemars(length(max = 64), inner(length(min = 1, max = 43)))]
    pub cidrs: Vec<String>,
    /// They may use the credentials that a data plane's surroundings give it: the role that a cloud gives to accounts with
    /// `dataPlane.serviceAccount.annotations`. Whoever manages them then reaches whatever that role does. The metadata
    /// address of a node is never asked. Data planes learn of it when their pods start next.
    pub ambient: bool,
    /// Secrets that they may take an access key, a password or a shared access signature from. Each stands beside the
    /// environment, and its annotation `sluice.dev/environments` names who may use it. That of a password or a signature
    /// names in `sluice.dev/hosts` where it may be sent, as `host` or `host:port`. Keys of other names than
    /// `access_key_id`, `secret_access_key`, `session_token`, `user`, `password` and `sas_token` it says in
    /// `sluice.dev/keys`, as `access_key_id=id,secret_access_key=secret`. The control plane may get these, in every
    /// watched namespace, and no other, and reads them each minute.
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)))]
    pub secrets: Vec<String>,
}
