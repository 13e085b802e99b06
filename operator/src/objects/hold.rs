//! The annotations by which somebody holds back changes of an environment.

use crds::Environment;
use kube::ResourceExt as _;

use super::names::annotation;

/// Whether an annotation holds back changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    No,
    DryRun,
    /// The stronger of the two.
    Paused,
}

impl Hold {
    pub fn of(environment: &Environment) -> Self {
        let set = |name: &str| environment.annotations().get(name).is_some_and(|value| value == "true");
        if set(annotation::PAUSED) {
            Self::Paused
        } else if set(annotation::DRY_RUN) {
            Self::DryRun
        } else {
            Self::No
        }
    }
}
