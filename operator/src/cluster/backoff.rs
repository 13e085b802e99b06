//! How long to wait before trying again: doubling, bounded, and never in step with others.

use std::time::Duration;

use contract::Entropy;

/// Of a watch that broke: all of them together ask less than ten times a second.
pub const WATCH: Range = Range { first: Duration::from_millis(200), last: Duration::from_secs(5) };
/// Of an object that could not be reconciled.
pub const OBJECT: Range = Range { first: Duration::from_millis(200), last: Duration::from_mins(5) };

#[derive(Debug, Clone, Copy)]
pub struct Range {
    pub first: Duration,
    pub last: Duration,
}

impl Range {
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
