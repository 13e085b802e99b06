//! The event streams of this process: what wakes them, and how many places of an organization are taken.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use contract::OrgId;
use tokio::sync::watch;

/// Streams of one organization at once, in this process.
pub const STREAMS_MAX: usize = 20;

/// Wakes the streams of this process, and counts those of either kind.
#[derive(Debug)]
pub struct Streams {
    grown: watch::Sender<u64>,
    /// The places that are taken, by organization.
    places: Mutex<HashMap<OrgId, usize>>,
}

impl Default for Streams {
    fn default() -> Self {
        Self { grown: watch::Sender::new(0), places: Mutex::default() }
    }
}

impl Streams {
    /// Some chain has grown.
    pub fn wake(&self) {
        self.grown.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Changes whenever some chain has grown.
    pub fn grown(&self) -> watch::Receiver<u64> {
        self.grown.subscribe()
    }

    /// Takes a place of the organization; false where none is left.
    pub(crate) fn take_place(&self, org_id: &OrgId) -> bool {
        let mut taken = self.locked();
        let count = taken.entry(org_id.clone()).or_default();
        if *count >= STREAMS_MAX {
            return false;
        }
        *count = count.saturating_add(1);
        true
    }

    /// Gives a place of the organization back.
    pub(crate) fn free_place(&self, org_id: &OrgId) {
        let mut taken = self.locked();
        if let Some(count) = taken.get_mut(org_id) {
            *count = count.saturating_sub(1);
        }
        taken.retain(|_, count| *count > 0);
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<OrgId, usize>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
