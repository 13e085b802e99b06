//! Why attempts fail, and the pause before the next one.
//!
//! "A retry counter `retry_count` is compared to `max_retries`": a task is tried once and then
//! `max_retries` times more. The pause is `min(5 · 2^n, 300)` seconds, give or take a fifth.

use chrono::Duration;
use contract::{Entropy, Timestamp};
use platform::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::runtime::tasks::{Task, TaskStatus};

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::Type, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum FailureKind {
    Timeout,
    LeaseExpired,
    ClaimTimeout,
    RuntimeExceeded,
    RateLimited,
    ProviderError,
    ModelError,
    LowConfidence,
    ValidationFailed,
    ContractViolation,
    ToolError,
    DependencyMissing,
    PolicyDenied,
    BudgetExceeded,
    CancelledByUser,
    Other,
}

impl FailureKind {
    /// Kinds that are concluded from what was said, by its words; the first that fits.
    pub const WORDS: [(Self, &[&str]); 7] = [
        (Self::RateLimited, &["rate limit", "rate-limit", "too many requests", "429"]),
        (Self::Timeout, &["timeout", "timed out", "deadline exceeded"]),
        (Self::ValidationFailed, &["validation failed", "did not validate", "validator"]),
        (Self::ContractViolation, &["contract", "schema mismatch"]),
        (Self::LowConfidence, &["low confidence", "not confident"]),
        (Self::ProviderError, &["provider", "overloaded", "502", "503"]),
        (Self::ModelError, &["model error", "context length", "refused to answer"]),
    ];
}

const FIRST_PAUSE_SECS: i64 = 5;
const LONGEST_PAUSE_SECS: i64 = 300;

/// The pause before the try after `retries` retries; `swing` is from 0 to 1.
fn pause(retries: i32, swing: f64) -> Duration {
    let doubled = FIRST_PAUSE_SECS.checked_shl(u32::try_from(retries).unwrap_or_default().min(20));
    let secs = doubled.unwrap_or(LONGEST_PAUSE_SECS).min(LONGEST_PAUSE_SECS);
    // 800 to 1200 thousandths.
    #[expect(clippy::cast_possible_truncation, reason = "between 0 and 400")]
    let thousandths = 800 + (swing.clamp(0.0, 1.0) * 400.0) as i64;
    Duration::milliseconds(secs.saturating_mul(thousandths))
}

/// Spreads tasks that failed together.
fn swing(entropy: &Entropy) -> f64 {
    f64::from(u16::from_le_bytes(entropy.bytes())) / f64::from(u16::MAX)
}

/// The task waits for its next attempt, after a pause, and has one retry less.
pub fn again(task: &mut Task, now: Timestamp, entropy: &Entropy) -> Result<()> {
    task.not_before = Some(now + pause(task.retry_count, swing(entropy)));
    task.retry_count = task.retry_count.saturating_add(1);
    task.turn(TaskStatus::Pending, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_five_minutes_and_swing_by_a_fifth() {
        let middle: Vec<_> = (0..8).map(|n| pause(n, 0.5).num_seconds()).collect();
        assert_eq!(middle, [5, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!((pause(0, 0.0).num_milliseconds(), pause(0, 1.0).num_milliseconds()), (4_000, 6_000));
        assert_eq!((pause(20, 0.0).num_seconds(), pause(20, 1.0).num_seconds()), (240, 360));
    }
}
