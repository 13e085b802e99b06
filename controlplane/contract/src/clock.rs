//! Time as a parameter. "Timestamps are ISO 8601 UTC strings."
//!
//! Nothing reads the machine's clock but [`SystemClock`]; tests move a [`TestClock`].

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Duration, SubsecRound, Utc};

/// A moment in UTC, to the microsecond: what PostgreSQL and the engine store.
pub type Timestamp = DateTime<Utc>;

/// A source of the present moment.
pub trait Clock: Debug + Send + Sync {
    fn now(&self) -> Timestamp;
}

pub type SharedClock = Arc<dyn Clock>;

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    fn now(&self) -> Timestamp {
        Utc::now().trunc_subsecs(6)
    }
}

/// A clock that stands still until it is told to move.
#[derive(Debug, Clone)]
pub struct TestClock(Arc<Mutex<Timestamp>>);

impl TestClock {
    pub fn at(start: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(start.trunc_subsecs(6))))
    }

    pub fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now += by;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_clock_moves_only_when_told() {
        let clock = TestClock::at(DateTime::UNIX_EPOCH);
        let before = clock.now();
        clock.advance(Duration::hours(12));
        assert_eq!(clock.now() - before, Duration::hours(12));
    }

    #[test]
    fn the_system_clock_stops_at_microseconds() {
        assert_eq!(SystemClock.now().timestamp_subsec_nanos() % 1_000, 0);
    }
}
