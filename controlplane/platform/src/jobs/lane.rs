//! Lanes of the job queue: which jobs wait for each other.

use std::time::Duration as Wait;

use chrono::Duration;

/// A worker that holds a common job longer is taken for dead.
const LOCK: Duration = Duration::minutes(5);

/// Jobs of one lane run one after another, beside those of the others: nothing that takes its time
/// keeps a lost lease from being found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Common,
    Leases,
    /// Data planes are asked, and some do not answer.
    Bindings,
}

impl Lane {
    pub const ALL: [Self; 3] = [Self::Common, Self::Leases, Self::Bindings];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Leases => "leases",
            Self::Bindings => "bindings",
        }
    }

    /// A worker that holds a job longer is taken for dead. A sweep of leases may run twice at once,
    /// and one whose worker died must not keep the next waiting.
    pub const fn lock(self) -> Duration {
        match self {
            Self::Common | Self::Bindings => LOCK,
            Self::Leases => Duration::seconds(3),
        }
    }

    /// The longest wait after a failure. A sweep that failed has found nothing yet.
    pub(crate) const fn longest_wait(self) -> Duration {
        match self {
            Self::Common | Self::Bindings => Duration::MAX,
            Self::Leases => Duration::seconds(1),
        }
    }

    /// A notification may be missed, and time makes jobs due without one.
    pub(crate) const fn poll(self) -> Wait {
        match self {
            Self::Common | Self::Bindings => Wait::from_secs(5),
            Self::Leases => Wait::from_secs(1),
        }
    }
}
