//! Requests that a program may make of the API server: the shape of the tables of operator and control plane,
//! from which the chart's roles are generated.

/// Verbs on one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Empty: the core group.
    pub group: &'static str,
    /// Plural, with its subresource: `environments/status`.
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
