//! The phase of an environment, one of four.
//!
//! `provisioning → active ⇄ suspended`, any → `decommissioning`. What has been active once never
//! goes back to `provisioning`: an update, a crash or a slow start does not make a live environment
//! a new one.

use crds::{Condition, ConditionStatus, ConditionType, EnvironmentPhase};

use crate::conditions::find;

/// From the conditions, and from whether it was ever in use.
pub fn phase(deleting: bool, activated: bool, conditions: &[Condition]) -> EnvironmentPhase {
    let suspended = find(conditions, ConditionType::Suspended).is_some_and(|it| it.status == ConditionStatus::True);
    match (deleting, suspended, activated) {
        (true, ..) => EnvironmentPhase::Decommissioning,
        (_, true, _) => EnvironmentPhase::Suspended,
        (_, _, true) => EnvironmentPhase::Active,
        _ => EnvironmentPhase::Provisioning,
    }
}
