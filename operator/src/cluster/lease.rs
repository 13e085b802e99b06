//! The leader election of several operators on a Lease, and the fence that goes with it.
//!
//! A lease is believed by time on one's own monotonic clock, never by the times in the object:
//! - a leader may write until `renew` after it **sent** the last renewal that succeeded;
//! - a candidate takes over no sooner than `lease` after it **saw** the last change.
//!
//! A renewal is sent before it is stored, and stored before it is seen; `renew` < `lease`, so the
//! old leader has stopped before a new one starts, whatever is lost or late in between. The write
//! itself carries the resourceVersion that was seen, so of two candidates one gets a conflict.
//!
//! [`Candidate`] decides and does nothing else; `follow` is the thin part that talks.

mod follow;
#[cfg(test)]
mod simulation;

use std::time::Duration;

pub use follow::{Election, LeaseError};
use tokio::time::Instant;

/// The durations of an election, equal for all candidates of a Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// A lease that was not seen to change for so long is free.
    pub lease: Duration,
    /// A leader that could not renew for so long stops.
    pub renew: Duration,
    /// Between attempts.
    pub retry: Duration,
}

impl Timing {
    /// As Kubernetes' own controllers do.
    pub const DEFAULT: Self =
        Self { lease: Duration::from_secs(15), renew: Duration::from_secs(10), retry: Duration::from_secs(2) };
}

/// The record of an election in a Lease, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRecord {
    pub resource_version: String,
    /// Empty: given back.
    pub holder: String,
    pub transitions: i32,
}

impl LeaseRecord {
    fn version(&self) -> &str {
        &self.resource_version
    }

    fn number(&self) -> Option<u64> {
        self.resource_version.parse().ok()
    }
}

/// The next step of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElectionStep {
    /// Create the Lease with us as its holder.
    Create,
    /// Replace it, if its resourceVersion is still this one.
    Replace { resource_version: String, transitions: i32 },
    /// Look again then, or as soon as it changes.
    Wait(Instant),
}

/// A candidate of the election, with the record that it saw, and the time until which it leads.
#[derive(Debug)]
pub struct Candidate {
    identity: String,
    timing: Timing,
    seen: Option<LeaseRecord>,
    /// When `seen` became what it is.
    changed_at: Instant,
    until: Option<Instant>,
    retry_at: Instant,
    /// What was sent before is worth nothing any more.
    given_back_at: Option<Instant>,
}

impl Candidate {
    /// `identity` is of this process alone: one that was restarted is another.
    pub fn new(identity: String, timing: Timing, now: Instant) -> Self {
        Self { identity, timing, seen: None, changed_at: now, until: None, retry_at: now, given_back_at: None }
    }

    /// The Lease is this, as a list or a deletion said; absent: there is none.
    pub fn saw(&mut self, seen: Option<LeaseRecord>, now: Instant) {
        if self.seen.as_ref().map(LeaseRecord::version) == seen.as_ref().map(LeaseRecord::version) {
            return;
        }
        self.changed_at = now;
        self.seen = seen;
        if self.seen.as_ref().is_none_or(|lease| lease.holder != self.identity) {
            // somebody else holds it, or it is gone: whatever we believed is over
            self.until = None;
        }
        if self.is_free(now) {
            self.retry_at = now;
        }
    }

    /// The Lease changed to this. News that is older than what is known, such as the echo of an
    /// earlier renewal of ours, is no news.
    pub fn changed(&mut self, seen: LeaseRecord, now: Instant) {
        let older =
            |known: &LeaseRecord| matches!((seen.number(), known.number()), (Some(new), Some(old)) if new < old);
        if !self.seen.as_ref().is_some_and(older) {
            self.saw(Some(seen), now);
        }
    }

    /// Until when this one may write; absent: it may not.
    pub fn leads_until(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| now < *until)
    }

    fn is_free(&self, now: Instant) -> bool {
        self.seen.as_ref().is_none_or(|lease| {
            lease.holder.is_empty() || lease.holder == self.identity || now >= self.changed_at + self.timing.lease
        })
    }

    pub fn step(&self, now: Instant) -> ElectionStep {
        if now < self.retry_at {
            return ElectionStep::Wait(self.retry_at);
        }
        match &self.seen {
            None => ElectionStep::Create,
            Some(lease) if self.is_free(now) => ElectionStep::Replace {
                resource_version: lease.resource_version.clone(),
                transitions: lease.transitions + i32::from(lease.holder != self.identity),
            },
            Some(_) => ElectionStep::Wait((self.changed_at + self.timing.lease).max(now + self.timing.retry)),
        }
    }

    /// The write that was sent at `sent` succeeded: the Lease is ours, as `lease`. Not if it was
    /// given back since, or is known to have changed again: the answer is only late.
    pub fn won(&mut self, lease: LeaseRecord, sent: Instant, now: Instant) {
        let given_back = self.given_back_at.is_some_and(|at| sent <= at);
        let newer =
            |known: &LeaseRecord| matches!((known.number(), lease.number()), (Some(known), Some(won)) if known > won);
        if given_back || self.seen.as_ref().is_some_and(newer) {
            self.lost(now);
            return;
        }
        self.seen = Some(lease);
        self.changed_at = now;
        self.until = Some(sent + self.timing.renew);
        self.retry_at = sent + self.timing.retry;
    }

    /// The write did not succeed, or nobody knows whether it did.
    pub fn lost(&mut self, now: Instant) {
        self.retry_at = now + self.timing.retry;
    }

    /// Stops leading at once; what to write so that another need not wait, if it was ours.
    pub fn give_back(&mut self, now: Instant) -> Option<LeaseRecord> {
        self.leads_until(now)?;
        self.until = None;
        self.given_back_at = Some(now);
        self.seen.clone().map(|lease| LeaseRecord { holder: String::new(), ..lease })
    }

    pub fn identity(&self) -> &str {
        &self.identity
    }

    pub fn timing(&self) -> Timing {
        self.timing
    }
}
