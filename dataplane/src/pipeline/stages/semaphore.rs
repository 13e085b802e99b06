//! Stage 1. "Semaphore: concurrency control; configurable, default 100."
//!
//! First come, first served, in a queue of twice as many places as there are slots. Who would wait
//! longer than five seconds, or past the statement's own timeout, is refused: a client that is told
//! to come back is better off than one that hangs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::Governance;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Error;
use crate::pipeline::{Pipeline, Query, Result};

const WAIT_MAX: Duration = Duration::from_secs(5);

/// The slots of one environment. Their number follows the environment's settings.
#[derive(Debug)]
pub struct Gate {
    slots: Arc<Semaphore>,
    size: Mutex<usize>,
    configured: usize,
    waiting: AtomicUsize,
}

/// A slot, free again when dropped.
#[derive(Debug)]
pub(in crate::pipeline) struct Slot(#[expect(dead_code, reason = "held, not read")] OwnedSemaphorePermit);

impl Gate {
    /// At most `configured` slots, whatever the environment's settings say.
    pub fn new(configured: usize) -> Self {
        let configured = configured.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            slots: Arc::new(Semaphore::new(configured)),
            size: Mutex::new(configured),
            configured,
            waiting: AtomicUsize::new(0),
        }
    }

    /// Slots that are used and free, and queries that wait for one.
    pub fn standing(&self) -> ((usize, usize), usize) {
        let size = *self.size.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.slots.available_permits().min(size);
        ((size - free, free), self.waiting.load(Ordering::Acquire))
    }

    /// Makes or takes away slots, so that there are as many as the rules allow now; slots in use
    /// are taken when they come back. Says how many there are.
    fn fit(&self, rules: &Governance) -> usize {
        let tier = rules.organization.limits.max_concurrent_queries.unwrap_or(u32::MAX);
        let allowed = rules.environment.settings.slots().min(tier);
        let wanted = usize::try_from(allowed).unwrap_or(usize::MAX).clamp(1, self.configured);
        let mut size = self.size.lock().unwrap_or_else(PoisonError::into_inner);
        if *size < wanted {
            self.slots.add_permits(wanted - *size);
            *size = wanted;
        } else {
            *size -= self.slots.forget_permits(*size - wanted);
        }
        *size
    }
}

pub(in crate::pipeline) async fn enter(pipeline: &Pipeline, query: &Query) -> Result<Slot> {
    let gate = &pipeline.gate;
    let slots = gate.fit(&*pipeline.rules()?);
    if let Ok(permit) = Arc::clone(&gate.slots).try_acquire_owned() {
        return Ok(Slot(permit));
    }
    // Who has waited for the data is among a bounded number, and is not sent away now.
    let (places, patience) =
        if query.waited { (usize::MAX, query.left()) } else { (slots.saturating_mul(2), query.left().min(WAIT_MAX)) };
    let queue = WaitingPlace::join(&gate.waiting, places).ok_or(Error::ConcurrentLimit)?;
    let permit = tokio::select! {
        permit = Arc::clone(&gate.slots).acquire_owned() => permit.map_err(|_| Error::ShuttingDown),
        () = query.ask.cancel.cancelled() => Err(Error::Cancelled),
        () = pipeline.closed.cancelled() => Err(Error::ShuttingDown),
        () = tokio::time::sleep(patience) => Err(Error::ConcurrentLimit),
    };
    drop(queue);
    permit.map(Slot)
}

/// A place in the queue.
pub(in crate::pipeline) struct WaitingPlace<'a>(&'a AtomicUsize);

impl<'a> WaitingPlace<'a> {
    pub fn join(waiting: &'a AtomicUsize, places: usize) -> Option<Self> {
        let before = waiting.fetch_add(1, Ordering::AcqRel);
        let place = Self(waiting);
        (before < places).then_some(place)
    }
}

impl Drop for WaitingPlace<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::governance;

    fn with_slots(slots: i32) -> Governance {
        let mut rules = governance();
        rules.environment.settings.max_concurrent_queries = slots;
        rules
    }

    #[test]
    fn slots_follow_the_settings_and_the_tier_up_to_what_is_configured() {
        let gate = Gate::new(8);
        for (wanted, slots) in [(3, 3), (100, 8), (1, 1), (0, 1)] {
            assert_eq!(gate.fit(&with_slots(wanted)), slots, "{wanted}");
            assert_eq!(gate.slots.available_permits(), slots);
        }
        let mut free = with_slots(100);
        free.organization.limits.max_concurrent_queries = Some(2);
        assert_eq!(gate.fit(&free), 2);
    }

    #[test]
    fn a_slot_in_use_is_taken_away_when_it_comes_back() {
        let gate = Gate::new(2);
        let held = gate.slots.try_acquire().unwrap();
        let other = gate.slots.try_acquire().unwrap();
        assert_eq!(gate.fit(&with_slots(1)), 2);
        drop((held, other));
        assert_eq!(gate.fit(&with_slots(1)), 1);
    }

    #[test]
    fn the_queue_is_bounded() {
        let waiting = AtomicUsize::new(0);
        let places: Vec<_> = (0..3).filter_map(|_| WaitingPlace::join(&waiting, 2)).collect();
        assert_eq!(places.len(), 2);
        drop(places);
        assert_eq!(waiting.load(Ordering::Acquire), 0);
    }
}
