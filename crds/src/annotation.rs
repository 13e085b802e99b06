//! Annotations that people and programs set on our resources, and the finalizer.

/// `"true"`: the operator looks, reports in the status, and changes nothing.
pub const PAUSED: &str = "sluice.dev/paused";

/// `"true"`: the operator says in `status.plannedChanges` what it would change, and does not.
pub const DRY_RUN: &str = "sluice.dev/dry-run";

/// The environment's slug: with `deletionPolicy: Delete` or `Snapshot`, its data may go.
pub const CONFIRM_DELETE: &str = "sluice.dev/confirm-delete";

/// Raised by the control plane when a key was rotated or revoked over REST.
pub const KEY_REVISION: &str = "sluice.dev/key-revision";

/// Set by the operator; the resource is gone when all that it stands for is.
pub const FINALIZER: &str = "sluice.dev/finalizer";

/// Each with what it means, as the documentation prints it.
pub const ALL: [(&str, &str); 4] = [
    (PAUSED, "`\"true\"`: the operator looks and reports, and changes nothing."),
    (DRY_RUN, "`\"true\"`: what the operator would change stands in `status.plannedChanges`, and is not done."),
    (CONFIRM_DELETE, "The environment's slug: without it no deletion policy but `Retain` is carried out."),
    (KEY_REVISION, "Set by the control plane when a key was rotated or revoked over REST."),
];
