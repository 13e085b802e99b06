//! A pause after failures, so that an endpoint that is away does not cost every query its timeout.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::Duration;
use contract::Timestamp;

use super::endpoint::WITHIN;

const SHORTEST_SECS: i64 = 1;
const LONGEST_SECS: i64 = 60;

/// One second after the first failure, twice as long after each that follows, a minute at most.
#[derive(Debug, Default)]
pub(super) struct Pause(Mutex<Failures>);

#[derive(Debug, Default)]
struct Failures {
    /// In a row.
    count: u32,
    until: Option<Timestamp>,
}

impl Pause {
    /// May it be asked now? When a pause is over, one finds out whether it answers; the others go without.
    pub fn admits(&self, now: Timestamp) -> bool {
        let mut failures = self.failures();
        let Some(until) = failures.until else { return true };
        // a clock that was set back makes no pause longer
        if now < until && until - now <= Duration::seconds(LONGEST_SECS) {
            return false;
        }
        failures.until = Some(now + Duration::from_std(WITHIN).unwrap_or_default());
        true
    }

    /// It answered; was that not so before?
    pub fn answered(&self) -> bool {
        std::mem::take(&mut *self.failures()).count > 0
    }

    /// It failed; is that new?
    pub fn failed(&self, now: Timestamp) -> bool {
        let mut failures = self.failures();
        let doubled = SHORTEST_SECS.checked_shl(failures.count.min(16)).unwrap_or(LONGEST_SECS);
        failures.until = Some(now + Duration::seconds(doubled.min(LONGEST_SECS)));
        failures.count = failures.count.saturating_add(1);
        failures.count == 1
    }

    fn failures(&self) -> MutexGuard<'_, Failures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + Duration::seconds(1_000 + seconds)
    }

    #[test]
    fn a_pause_grows_with_each_failure_and_ends_with_an_answer() {
        let pause = Pause::default();
        assert!(pause.admits(at(0)) && !pause.answered());
        let mut now = 0;
        for (failures, seconds) in [1, 2, 4, 8, 16, 32, 60, 60].into_iter().enumerate() {
            assert_eq!(pause.failed(at(now)), failures == 0);
            assert!(!pause.admits(at(now + seconds - 1)), "{seconds}");
            now += seconds;
            assert!(pause.admits(at(now)), "{seconds}");
        }
        assert!(pause.answered() && !pause.answered());
        assert!(pause.admits(at(now)));
    }

    #[test]
    fn after_a_pause_one_finds_out_for_all() {
        let pause = Pause::default();
        pause.failed(at(0));
        assert!(pause.admits(at(1)));
        assert!(!pause.admits(at(1)) && !pause.admits(at(5)), "one is out already");
        assert!(pause.admits(at(6)), "who never came back");
    }

    #[test]
    fn a_clock_that_is_set_back_makes_no_pause_longer() {
        let pause = Pause::default();
        pause.failed(at(600));
        assert!(pause.admits(at(0)));
    }
}
