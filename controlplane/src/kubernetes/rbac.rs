//! Which requests the control plane makes of the API server, as a table: the chart's roles are
//! generated from it. Of the same shape as the operator's table.
//!
//! It reads and writes our own kinds and nothing else: no Secret, no pod, no status. A server-side
//! apply is the verb `patch`, and `create` as well when the object is not there yet.

/// Verbs on one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub group: &'static str,
    /// Plural.
    pub resource: &'static str,
    pub verbs: &'static [&'static str],
    pub scope: Scope,
}

/// Where a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// A kind without namespace: always a `ClusterRole`.
    Cluster,
    /// Each watched namespace: one `ClusterRole` when all are, a `Role` in each otherwise.
    Watched,
    /// The namespace of the release: a `Role` there.
    Release,
}

/// Everything that the control plane may do.
pub const RULES: &[Rule] = &[
    watched("organizations", &["create", "get", "list", "patch", "watch"]),
    watched("environments", &["create", "get", "list", "patch", "watch"]),
    // keys are not mirrored: PostgreSQL is their truth
    watched("apikeys", &["create", "get", "list", "patch"]),
];

const fn watched(resource: &'static str, verbs: &'static [&'static str]) -> Rule {
    Rule { group: crds::GROUP, resource, verbs, scope: Scope::Watched }
}
