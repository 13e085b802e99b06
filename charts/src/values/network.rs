//! Ways into the pods, and out of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Texts;

/// REST from outside of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Ingress {
    /// Make one.
    pub enabled: bool,
    /// Empty: the cluster's default class.
    #[schemars(length(max = 253))]
    pub class_name: String,
    /// Empty: any host.
    #[schemars(length(max = 253))]
    pub host: String,
    /// The Secret with the host's certificate; empty: plain HTTP.
    #[schemars(length(max = 253))]
    pub tls_secret: String,
    /// What the controller of the class is told.
    pub annotations: Texts,
}

values! {
pub struct NetworkPolicy {
    /// Let in only what operator and control plane serve. Each environment has its own policy, made
    /// by the operator.
    pub enabled: bool = true,
    pub dns: Dns,
}

/// The cluster's DNS, which policies of environments let data planes reach.
pub struct Dns {
    /// Ports that its pods listen on, over UDP and TCP: a policy sees a port after a Service's translation.
    #[schemars(length(min = 1, max = 8), inner(range(min = 1, max = 65535)))]
    pub ports: Vec<u16> = vec![53],
    /// Labels of the namespace of its pods. This and `podSelector` empty: data planes reach these ports anywhere, as they
    /// must where names are asked of an address of the node.
    pub namespace_selector: Texts,
    /// Labels of its pods.
    pub pod_selector: Texts,
}
}
