//! Kubernetes, as far as the control plane has to do with it. Nothing else here names `kube`.

mod rbac;

pub use rbac::{RULES, Rule, Scope};
