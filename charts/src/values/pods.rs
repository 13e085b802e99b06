//! Settings of pods beside their program: where they run, as whom, and by which names others know them.

use std::collections::BTreeMap;

use operator::objects::pods::{container_security, security};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Texts;

/// As of a container: a name with a value, or with where it comes from.
pub type Variable = BTreeMap<String, Value>;

/// A security context, as Kubernetes has it.
pub type Security = BTreeMap<String, Value>;

/// What the cluster, or a cloud, knows pods by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Account {
    /// Added to the service account, such as `eks.amazonaws.com/role-arn`.
    pub annotations: Texts,
    /// Added to the service account.
    pub labels: Texts,
}

values! {
/// Where pods may run, and as what.
pub struct Pods {
    /// Added to the pods.
    pub annotations: Texts,
    /// Added to the pods.
    pub labels: Texts,
    /// As of a pod. A field that is `null` is left out: ids, where the platform gives them.
    pub security_context: Security = members(&security()),
    /// As of a container.
    pub container_security_context: Security = members(&container_security()),
    /// Labels of the nodes that pods may run on; empty: any.
    pub node_selector: Texts,
    /// As of a pod: taints of nodes that do not keep it away.
    #[schemars(length(max = 32))]
    pub tolerations: Vec<BTreeMap<String, Value>>,
    /// As of a pod; empty: none.
    pub affinity: BTreeMap<String, Value>,
    /// Empty: the cluster's default.
    #[schemars(length(max = 253))]
    pub priority_class_name: String,
}
}

/// Pods of data planes; where they run is said of each environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DataPlanePods {
    /// Added to the pods. As with all of `pods` and `env`, a change restarts data planes, in the waves of `rollout`.
    pub annotations: Texts,
    /// Added to the pods.
    pub labels: Texts,
    /// As of a pod. A field that is `null` is left out: ids, where the platform gives them.
    pub security_context: Security,
    /// As of a container.
    pub container_security_context: Security,
}

impl Default for DataPlanePods {
    fn default() -> Self {
        let Pods { annotations, labels, security_context, container_security_context, .. } = Pods::default();
        Self { annotations, labels, security_context, container_security_context }
    }
}

/// By name; plain fields are written down without fail.
fn members(object: &impl Serialize) -> Security {
    serde_json::to_value(object).and_then(Security::deserialize).unwrap_or_default()
}
