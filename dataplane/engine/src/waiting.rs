//! Sessions that wait for their next statement, in place of a new thread, socket and connection for each.
//!
//! Only what has read, and changed rows, waits here, once it is reset: its transaction is over, its random numbers begin
//! anew. What made anything of its own, failed or was given up is closed, and so is what may have. There are at most
//! [`PER_PROCESSOR`] for each processor, since each keeps a thread of the child, and those that nobody takes are closed:
//! an idle environment holds none.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::engine::Shared;
use crate::line::Connected;
use crate::processors;
use crate::session::Session;
use crate::turns::SessionPermit;

/// How long one waits for nothing, at most twice.
const UNUSED: Duration = Duration::from_secs(10);

/// Sessions that may wait, for each processor.
///
/// Where many clients ask at once, the system goes from parent to child and back for so many statements each time. Caches
/// stay warm so: with 2, a quarter fewer are answered in a second.
const PER_PROCESSOR: usize = 8;

pub fn places() -> usize {
    processors::available().map_or(1, NonZeroUsize::get) * PER_PROCESSOR
}

type Waiter = Arc<tokio::sync::Mutex<Connected>>;

pub struct Waiting {
    places: usize,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    /// The one that came last is taken first.
    waiters: Vec<(Waiter, Instant)>,
    /// Places of those that are being reset.
    reserved: usize,
    closed: bool,
}

impl Waiting {
    pub fn new(places: usize) -> Self {
        Self { places, queue: Mutex::default() }
    }

    /// One that is as a new session is; the permit comes back if there is none.
    pub fn take(&self, mut permit: SessionPermit) -> Result<Session, SessionPermit> {
        loop {
            let Some((waiter, _)) = self.queue().waiters.pop() else { return Err(permit) };
            let Ok(mut connected) = waiter.try_lock() else { continue };
            match connected.taken(permit) {
                Ok(()) => {
                    drop(connected);
                    return Ok(Session::of(waiter));
                }
                Err(back) => permit = back,
            }
        }
    }

    /// Whether there is a place for one more, which is then kept for it.
    pub fn reserve(&self) -> bool {
        let mut queue = self.queue();
        let is_free = !queue.closed && queue.waiters.len() + queue.reserved < self.places;
        queue.reserved += usize::from(is_free);
        is_free
    }

    /// Takes the place that was kept, or gives it back.
    pub fn add(&self, waiter: Option<Waiter>, now: Instant) {
        let mut queue = self.queue();
        queue.reserved = queue.reserved.saturating_sub(1);
        if queue.closed {
            return;
        }
        queue.waiters.extend(waiter.map(|waiter| (waiter, now)));
    }

    /// Ends all of them, and takes no more.
    pub fn close(&self) {
        let waiters = {
            let mut queue = self.queue();
            queue.closed = true;
            std::mem::take(&mut queue.waiters)
        };
        drop(waiters); // outside of the lock
    }

    fn close_unused(&self, now: Instant) {
        let unused: Vec<_> = {
            let is_unused = |(_, since): &mut (Waiter, Instant)| now.duration_since(*since) > UNUSED;
            self.queue().waiters.extract_if(.., is_unused).collect()
        };
        drop(unused);
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes what nobody takes, for as long as there is an engine.
pub async fn close_unused(shared: Weak<Shared>, stop: CancellationToken) {
    while stop.run_until_cancelled(tokio::time::sleep(UNUSED)).await.is_some() {
        let Some(shared) = shared.upgrade() else { return };
        shared.waiting().close_unused(Instant::now());
    }
}
