//! How long to wait before trying again: doubling, bounded, and never in step with others.

use std::time::Duration;

use contract::Entropy;

use crate::error::{Error, struggles};

/// Of a watch that broke, and of an object while the API server does not answer: all of them together ask less than ten
/// times a second.
pub const SERVER: Range = Range { first: Duration::from_millis(200), last: Duration::from_secs(5) };
/// Of an object that could not be reconciled.
pub const OBJECT: Range = Range { first: Duration::from_millis(200), last: Duration::from_mins(5) };

#[derive(Debug, Clone, Copy)]
pub struct Range {
    pub first: Duration,
    pub last: Duration,
}

impl Range {
    /// Of an object that failed so. A server that does not answer has nothing against the object: once it is back, all is
    /// looked at within seconds, at the rate that the limits of requests allow.
    pub fn after(error: &Error) -> Self {
        match error {
            Error::Api(kube::Error::Service(_) | kube::Error::HyperError(_)) => SERVER,
            Error::Api(kube::Error::Api(status)) if struggles(status.code) => SERVER,
            _ => OBJECT,
        }
    }

    /// The wait after so many failures before this one: between half and the whole of the step.
    pub fn wait(self, failures: u32, entropy: &Entropy) -> Duration {
        let step = self.first.saturating_mul(2_u32.saturating_pow(failures.min(30))).min(self.last);
        let part = f64::from(u16::from_le_bytes(entropy.bytes())) / f64::from(u16::MAX);
        step.div_f64(2.0) + step.mul_f64(part / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Refused;

    #[test]
    fn who_failed_by_a_server_that_is_away_is_looked_at_soon_after_its_return() {
        let answered = |code| {
            let status = kube::core::Status { code, ..kube::core::Status::default() };
            Error::Api(kube::Error::Api(Box::new(status)))
        };
        let late = Error::Api(kube::Error::Service(Box::new(Refused::Timeout)));
        for error in [late, answered(429), answered(503)] {
            assert_eq!(Range::after(&error).last, Duration::from_secs(5), "{error}");
        }
        for error in [answered(403), Error::Panicked("a test".to_owned())] {
            assert_eq!(Range::after(&error).last, Duration::from_mins(5), "{error}");
        }
    }

    #[test]
    fn waits_double_up_to_a_bound_and_two_objects_do_not_wait_alike() {
        let entropy = Entropy::seeded(1);
        for (failures, low, high) in [(0, 100, 200), (1, 200, 400), (5, 3_200, 6_400), (40, 150_000, 300_000)] {
            let waits: Vec<_> = (0..50).map(|_| OBJECT.wait(failures, &entropy).as_millis()).collect();
            assert!(waits.iter().all(|wait| (low..=high).contains(wait)), "{failures}: {waits:?}");
            assert!(waits.iter().any(|wait| *wait != waits[0]));
        }
    }
}
