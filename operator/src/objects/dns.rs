//! Where the cluster's DNS answers, as this installation is set up.

use serde::{Deserialize, Serialize};

use super::json;
use super::pods::Texts;

/// The ports and selectors of the cluster's DNS, which data planes may always reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Dns {
    /// As its pods listen: a policy sees a port after a Service's translation.
    pub ports: Vec<u16>,
    /// Labels of the namespace of its pods; both selectors empty: anywhere.
    pub namespace_selector: Texts,
    /// Labels of its pods.
    pub pod_selector: Texts,
}

impl Default for Dns {
    fn default() -> Self {
        Self { ports: vec![53], namespace_selector: Texts::new(), pod_selector: Texts::new() }
    }
}

impl Dns {
    /// From a setting of the operator.
    pub fn parse(text: &str) -> Result<Self, String> {
        let given: Self = json::whole(text)?;
        if given.ports.is_empty() || given.ports.contains(&0) {
            return Err("ports: DNS answers on one at least, and on none that is 0".to_owned());
        }
        Ok(given)
    }
}
