//! "Tier quotas", row "Storage": the tier's gigabytes are the organization's, over all its environments.
//!
//! What it stores is told by the control plane each minute (`governance::stored`). Beyond the limit a
//! statement that adds is refused; reading, and whatever makes room, goes on. A file of a stage, whose bytes are known,
//! is refused where it would pass the limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use contract::Governance;
use contract::policy::abac::Operation;

use super::{Pipeline, Result};
use crate::Error;

const GB: u64 = 1_000_000_000;

/// Bytes that the organization stores, as was last told.
#[derive(Debug, Clone, Default)]
pub struct Storage(Arc<AtomicU64>);

impl Storage {
    pub fn told(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn has_room(&self, rules: &Governance, operation: Operation) -> Result<()> {
        let Some(limit) = rules.organization.limits.storage_limit_gb else { return Ok(()) };
        let is_full = self.0.load(Ordering::Relaxed) >= limit.saturating_mul(GB);
        if is_full && adds(operation) { Err(Error::StorageLimit { limit }) } else { Ok(()) }
    }

    /// Whether so many bytes more are within the limit.
    fn holds(&self, rules: &Governance, bytes: u64) -> Result<()> {
        let Some(limit) = rules.organization.limits.storage_limit_gb else { return Ok(()) };
        let passes = self.0.load(Ordering::Relaxed).saturating_add(bytes) > limit.saturating_mul(GB);
        if passes { Err(Error::StorageLimit { limit }) } else { Ok(()) }
    }
}

impl Pipeline {
    /// Whether the organization may store so many bytes more.
    pub fn has_room_for(&self, bytes: u64) -> Result<()> {
        let Some(ledger) = self.startup_gate.opened() else { return Ok(()) };
        ledger.storage.holds(&*self.rules()?, bytes)
    }
}

const fn adds(operation: Operation) -> bool {
    match operation {
        Operation::Insert | Operation::Update | Operation::Merge | Operation::Create => true,
        Operation::Select | Operation::Delete | Operation::Alter | Operation::Drop => false,
    }
}
