//! The order of recovery levels: which of them follows a failure. Pure.

use super::{FailureKind, Level};

/// L1 in a row before something else is tried.
const SAME_AGAIN_MAX: usize = 2;

/// The recoveries of a task so far, and the means that are left.
#[derive(Debug, Clone, Default)]
pub struct Past {
    /// Levels taken, from the first.
    pub levels: Vec<Level>,
    pub retries_left: bool,
    /// Something was made that can be repaired.
    pub has_artifact: bool,
    /// The task is a repair: it is not repaired in its turn.
    pub is_repair: bool,
}

pub fn step(kind: FailureKind, past: &Past) -> Level {
    use FailureKind as F;
    if matches!(kind, F::DependencyMissing | F::PolicyDenied | F::BudgetExceeded) {
        return Level::Blocked;
    }
    let repaired = past.levels.contains(&Level::L3);
    if !past.retries_left || repaired {
        return Level::L4;
    }
    let stronger = !past.levels.contains(&Level::L2);
    let may_repair = !past.is_repair && past.has_artifact;
    match kind {
        // What was made is wrong: made again it would be wrong again.
        F::ValidationFailed | F::ContractViolation if past.is_repair => Level::L4,
        F::ValidationFailed | F::ContractViolation => Level::L3,
        F::ModelError | F::LowConfidence if stronger => Level::L2,
        _ if same_again(past) < SAME_AGAIN_MAX && !matches!(kind, F::ModelError | F::LowConfidence) => Level::L1,
        _ if stronger => Level::L2,
        _ if may_repair => Level::L3,
        // Nothing better is known, and there are retries.
        _ => Level::L1,
    }
}

fn same_again(past: &Past) -> usize {
    past.levels.iter().rev().take_while(|level| **level == Level::L1).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(levels: &[Level], has_artifact: bool) -> Past {
        Past { levels: levels.to_vec(), retries_left: true, has_artifact, is_repair: false }
    }

    #[test]
    fn a_step_follows_from_the_failure_and_the_steps_before() {
        use FailureKind as F;
        use Level::{Blocked, L1, L2, L3, L4};
        for (kind, levels, has_artifact, expected) in [
            (F::Timeout, vec![], false, L1),
            (F::LeaseExpired, vec![L1], false, L1),
            (F::RateLimited, vec![L1, L1], false, L2),
            (F::ProviderError, vec![L1, L1, L2], false, L1),
            (F::ToolError, vec![L1, L1, L2, L1, L1], true, L3),
            (F::ToolError, vec![L1, L1, L2, L1, L1], false, L1),
            (F::RuntimeExceeded, vec![], false, L1),
            (F::Other, vec![L1, L1], false, L2),
            (F::ModelError, vec![], false, L2),
            (F::LowConfidence, vec![L1], false, L2),
            (F::LowConfidence, vec![L2], true, L3),
            (F::LowConfidence, vec![L2], false, L1),
            (F::ValidationFailed, vec![], true, L3),
            (F::ContractViolation, vec![L1, L2], true, L3),
            (F::ValidationFailed, vec![L3], true, L4),
            (F::Timeout, vec![L3], true, L4),
            (F::DependencyMissing, vec![], false, Blocked),
            (F::PolicyDenied, vec![L1, L1], true, Blocked),
            (F::BudgetExceeded, vec![L3], true, Blocked),
        ] {
            assert_eq!(step(kind, &past(&levels, has_artifact)), expected, "{kind:?} after {levels:?}");
        }
    }

    #[test]
    fn without_retries_only_a_person_helps() {
        let spent = Past { retries_left: false, ..past(&[Level::L1], true) };
        for kind in [FailureKind::Timeout, FailureKind::ModelError, FailureKind::ValidationFailed, FailureKind::Other] {
            assert_eq!(step(kind, &spent), Level::L4, "{kind:?}");
        }
    }

    #[test]
    fn a_repair_is_not_repaired() {
        let repair = Past { is_repair: true, ..past(&[Level::L1, Level::L1, Level::L2], true) };
        assert_eq!(step(FailureKind::ValidationFailed, &repair), Level::L4);
        assert_eq!(step(FailureKind::ToolError, &repair), Level::L1);
    }
}
