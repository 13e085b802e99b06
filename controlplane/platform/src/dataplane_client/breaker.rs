//! The circuit breaker of one data plane: after [`FAILURES`] calls in a row that did not reach it,
//! calls are refused for [`COOLDOWN`]; then one call at a time tries.

use std::sync::{Mutex, PoisonError};

use chrono::Duration;
use contract::Timestamp;

const FAILURES: u32 = 5;
/// "default cooldown 30 seconds".
const COOLDOWN: Duration = Duration::seconds(30);

#[derive(Debug, Default)]
pub struct Breaker(Mutex<BreakerState>);

#[derive(Debug, Default)]
struct BreakerState {
    failures: u32,
    opened_at: Option<Timestamp>,
}

impl Breaker {
    /// May a call be tried now? Else the seconds to wait.
    pub fn try_pass(&self, now: Timestamp) -> Result<(), u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(opened_at) = state.opened_at else {
            return Ok(());
        };
        let left = opened_at + COOLDOWN - now;
        if left > Duration::zero() {
            return Err(u64::try_from(left.num_seconds()).unwrap_or(0).max(1));
        }
        // This call is the trial: until it ends, others wait as long again.
        state.opened_at = Some(now);
        Ok(())
    }

    /// Did the last call reach it, or was there none yet?
    pub fn is_untroubled(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).failures == 0
    }

    pub fn succeeded(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = BreakerState::default();
    }

    pub fn failed(&self, now: Timestamp) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures = state.failures.saturating_add(1);
        if state.failures >= FAILURES {
            state.opened_at = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        chrono::DateTime::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn it_opens_after_five_failures_in_a_row_and_says_how_long() {
        let breaker = Breaker::default();
        for _ in 0..4 {
            breaker.failed(at(0));
        }
        assert_eq!(breaker.try_pass(at(0)), Ok(()));
        breaker.failed(at(0));
        assert_eq!(breaker.try_pass(at(10)), Err(20));
    }

    #[test]
    fn after_the_cooldown_one_call_tries_and_decides() {
        let breaker = Breaker::default();
        for _ in 0..5 {
            breaker.failed(at(0));
        }
        assert_eq!(breaker.try_pass(at(30)), Ok(()));
        assert!(breaker.try_pass(at(31)).is_err(), "the trial is not over");
        breaker.succeeded();
        assert_eq!(breaker.try_pass(at(31)), Ok(()));
    }

    #[test]
    fn a_success_between_failures_starts_the_count_again() {
        let breaker = Breaker::default();
        for _ in 0..4 {
            breaker.failed(at(0));
        }
        assert!(!breaker.is_untroubled());
        breaker.succeeded();
        assert!(breaker.is_untroubled());
        breaker.failed(at(1));
        assert_eq!(breaker.try_pass(at(1)), Ok(()));
    }
}
