//! Lanes of the job queue: which jobs wait for each other.

use std::time::Duration as Wait;

use chrono::Duration;

/// A worker that holds a common job longer is taken for dead.
const LOCK: Duration = Duration::minutes(5);

contract::named! {
    /// Jobs of one lane run one after another, beside those of the others: nothing that takes its time
    /// keeps a lost lease from being found.
    pub enum Lane {
        Common = "common",
        Leases = "leases",
        /// Data planes are asked, and some do not answer.
        Bindings = "bindings",
    }
}

impl Lane {
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
