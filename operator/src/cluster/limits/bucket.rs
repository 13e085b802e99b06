//! The token bucket of requests to the API server, which is slower while the server fails.

use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    pub per_second: f64,
    /// At once, after a time of rest.
    pub burst: f64,
    /// While the last answer was a failure.
    pub per_second_failing: f64,
}

/// A token bucket whose caller sleeps: taking a token that is not there yet tells how long.
#[derive(Debug)]
pub struct Bucket {
    rate: Rate,
    failing: bool,
    /// Below zero: promised to callers that sleep.
    tokens: f64,
    filled_at: Instant,
}

impl Bucket {
    pub fn new(rate: Rate, now: Instant) -> Self {
        Self { rate, failing: false, tokens: rate.burst, filled_at: now }
    }

    fn per_second(&self) -> f64 {
        if self.failing { self.rate.per_second_failing } else { self.rate.per_second }
    }

    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.filled_at).as_secs_f64();
        let most = if self.failing { 1.0 } else { self.rate.burst };
        self.tokens = (self.tokens + passed * self.per_second()).min(most);
        self.filled_at = now;
    }

    /// Takes a token; the caller goes on after this long.
    pub fn take(&mut self, now: Instant) -> Duration {
        self.fill(now);
        self.tokens -= 1.0;
        Duration::from_secs_f64((-self.tokens).max(0.0) / self.per_second())
    }

    /// The server failed, or it did not.
    pub fn failing(&mut self, failing: bool, now: Instant) {
        self.fill(now);
        if self.failing != failing {
            self.failing = failing;
            // nobody pays at the new rate for what was promised at the old one
            self.tokens = self.tokens.clamp(0.0, 1.0);
        }
    }
}
