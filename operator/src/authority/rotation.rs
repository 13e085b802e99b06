//! An authority and its successor: which signs, which are trusted, and what comes next.

use jiff::Timestamp;

use super::{OVERLAP, Pair, facts, renewal};
use crate::error::AuthorityError;

/// The keys in the Secret of an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// What signs.
    pub current: Pair,
    pub trust: Trust,
}

/// The authority that is trusted besides `current`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Nobody.
    Alone,
    /// The next one, which signs nothing yet.
    Next { pair: Pair, since: Timestamp },
    /// The last one, whose certificates may still be in use.
    Old { certificate: String, since: Timestamp },
}

/// The next step of the rotation of an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RotationStep {
    /// Nothing before then.
    Wait(Timestamp),
    /// Make a successor, and have it trusted.
    TrustNext,
    /// The successor signs from now on.
    IssueNext,
    /// Nothing that the old one signed is in use any more.
    DropOld,
}

impl Keys {
    /// What everybody believes: the signer first.
    pub fn bundle(&self) -> String {
        let mut bundle = self.current.certificate.clone();
        match &self.trust {
            Trust::Alone => {}
            Trust::Next { pair, .. } => bundle.push_str(&pair.certificate),
            Trust::Old { certificate, .. } => bundle.push_str(certificate),
        }
        bundle
    }

    pub fn step(&self, now: Timestamp) -> Result<RotationStep, AuthorityError> {
        let after = |since: Timestamp| since.checked_add(OVERLAP).unwrap_or(Timestamp::MAX);
        let (at, step) = match &self.trust {
            Trust::Alone => {
                let own = facts(&self.current.certificate)?;
                (renewal(own.not_before, own.not_after), RotationStep::TrustNext)
            }
            Trust::Next { since, .. } => (after(*since), RotationStep::IssueNext),
            Trust::Old { since, .. } => (after(*since), RotationStep::DropOld),
        };
        Ok(if now < at { RotationStep::Wait(at) } else { step })
    }

    /// The step done. `next` is used by `TrustNext` alone.
    #[must_use]
    pub fn stepped(self, step: RotationStep, next: Pair, now: Timestamp) -> Self {
        match (step, self.trust) {
            (RotationStep::TrustNext, Trust::Alone) => {
                Self { current: self.current, trust: Trust::Next { pair: next, since: now } }
            }
            (RotationStep::IssueNext, Trust::Next { pair, .. }) => {
                Self { current: pair, trust: Trust::Old { certificate: self.current.certificate, since: now } }
            }
            (RotationStep::DropOld, Trust::Old { .. }) => Self { current: self.current, trust: Trust::Alone },
            (_, trust) => Self { current: self.current, trust },
        }
    }
}
