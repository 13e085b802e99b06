//! Which requests the operator makes, as a table: the chart's roles are generated from it.
//!
//! A verb that is not in the table is refused by the API server, because the operator runs under
//! these roles in every test. There is no wildcard. That every verb is needed is not proven: no test
//! looks for unused ones.
//!
//! A server-side apply is the verb `patch`, and `create` as well when the object is not there yet.

use crds::access::{Rule, Scope};

const OWNED: &[&str] = &["create", "delete", "list", "patch", "watch"];

/// Everything that the operator may do.
pub const RULES: &[Rule] = &[
    watched("sluice.dev", "organizations", &["list", "patch", "watch"]),
    watched("sluice.dev", "organizations/status", &["patch"]),
    watched("sluice.dev", "environments", &["list", "patch", "watch"]),
    watched("sluice.dev", "environments/status", &["patch"]),
    // `delete`: with their environment
    watched("sluice.dev", "apikeys", &["delete", "list", "patch", "watch"]),
    watched("sluice.dev", "apikeys/status", &["patch"]),
    watched("", "configmaps", OWNED),
    watched("", "persistentvolumeclaims", OWNED),
    // only why one does not run
    watched("", "pods", &["list", "watch"]),
    // `get`: the key of an organization's authority, which is not kept in memory
    watched("", "secrets", &["create", "delete", "get", "list", "patch", "watch"]),
    watched("", "serviceaccounts", OWNED),
    watched("", "services", OWNED),
    watched("apps", "deployments", OWNED),
    watched("networking.k8s.io", "networkpolicies", OWNED),
    watched("policy", "poddisruptionbudgets", OWNED),
    watched("cert-manager.io", "certificates", OWNED),
    watched("snapshot.storage.k8s.io", "volumesnapshots", &["create", "list", "patch", "watch"]),
    watched("events.k8s.io", "events", &["create", "patch"]),
    Rule { group: "storage.k8s.io", resource: "storageclasses", verbs: &["list", "watch"], scope: Scope::Cluster },
    release("", "secrets", &["create", "get", "list", "patch", "watch"]),
    release("coordination.k8s.io", "leases", &["create", "list", "update", "watch"]),
];

const fn watched(group: &'static str, resource: &'static str, verbs: &'static [&'static str]) -> Rule {
    Rule { group, resource, verbs, scope: Scope::Watched }
}

const fn release(group: &'static str, resource: &'static str, verbs: &'static [&'static str]) -> Rule {
    Rule { group, resource, verbs, scope: Scope::Release }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rule_is_a_wildcard_and_each_kind_is_named_once_in_a_scope() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(!rule.verbs.is_empty() && rule.verbs.is_sorted(), "{rule:?}");
            assert!(!rule.verbs.contains(&"*") && !rule.resource.contains('*') && rule.group != "*", "{rule:?}");
            let same =
                |other: &&Rule| (other.group, other.resource, other.scope) == (rule.group, rule.resource, rule.scope);
            assert_eq!(RULES.iter().position(|other| same(&other)), Some(index), "{rule:?}");
        }
    }

    #[test]
    fn nothing_may_change_roles_namespaces_or_what_runs_in_a_pod() {
        for kind in ["roles", "rolebindings", "clusterroles", "namespaces", "pods/exec", "nodes"] {
            assert!(RULES.iter().all(|rule| rule.resource != kind), "{kind}");
        }
        let pods = RULES.iter().find(|rule| rule.resource == "pods").map(|rule| rule.verbs);
        assert_eq!(pods, Some(["list", "watch"].as_slice()));
    }
}
