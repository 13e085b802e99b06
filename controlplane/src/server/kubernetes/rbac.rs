//! Which requests the control plane makes of the API server, as a table: the chart's roles are
//! generated from it.
//!
//! It reads and writes our own kinds and nothing else: no pod, no status, and of Secrets those alone that the chart names
//! for storage integrations, which its template grants by name. A server-side apply is the verb `patch`, and `create` as
//! well when the object is not there yet. It deletes an environment that REST made, when an owner or admin asks for it.

use crds::access::{Rule, Scope};

/// Everything that the control plane may do.
pub const RULES: &[Rule] = &[
    watched("organizations", &["create", "get", "list", "patch", "watch"]),
    watched("environments", &["create", "delete", "get", "list", "patch", "watch"]),
    // keys are not mirrored: PostgreSQL is their truth
    watched("apikeys", &["create", "get", "list", "patch"]),
];

const fn watched(resource: &'static str, verbs: &'static [&'static str]) -> Rule {
    Rule { group: crds::GROUP, resource, verbs, scope: Scope::Watched }
}
