//! The `PodDisruptionBudget` of several replicas: one at a time may be evicted. A budget over one replica
//! would keep its node from ever being drained.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::owned;
use crate::controllers::environment::validate::Desired;
use crate::objects::names::selector;

pub fn pod_disruption_budget(desired: &Desired) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: owned(desired, desired.name.to_string()),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(LabelSelector {
                match_labels: Some(selector(desired.name.as_str()).into()),
                match_expressions: None,
            }),
            // one that does not answer anyway must not hold up a node
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            min_available: None,
        }),
        status: None,
    }
}
