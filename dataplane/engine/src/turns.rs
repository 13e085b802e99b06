//! Turns of statements: where many come at once, each waits until a session may wait for it.
//!
//! Each of them would else begin a thread of the child, a socket and a connection, and end all three, since few
//! sessions may wait: that takes longer than most statements do. So no more begin at once than sessions may wait, in
//! the order in which they come. One that takes long loses its turn as soon as another statement waits for one: it
//! goes on, and nobody waits for its end.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep_until;

/// How long a turn may keep others from theirs.
const TURN: Duration = Duration::from_millis(10);

/// The turns that there are at once.
pub struct Turns {
    places: usize,
    lasts: Duration,
    free: Semaphore,
    begun: Mutex<BegunTurns>,
}

/// The turns that are neither over nor lost, by their numbers, with when they have begun.
#[derive(Default)]
struct BegunTurns {
    since: BTreeMap<u64, Instant>,
    last_number: u64,
}

/// A turn, over when this is dropped.
pub struct Turn {
    turns: Arc<Turns>,
    number: u64,
}

/// The right to a session, with the turn in which it was taken, if in any.
pub struct SessionPermit {
    _open: OwnedSemaphorePermit,
    turn: Option<Turn>,
}

impl SessionPermit {
    pub fn new(open: OwnedSemaphorePermit, turn: Option<Turn>) -> Self {
        Self { _open: open, turn }
    }

    /// The turn is over, and the session is held.
    pub fn end_turn(&mut self) {
        drop(self.turn.take());
    }
}

impl Turns {
    /// As many as sessions may wait.
    pub fn new(places: usize) -> Arc<Self> {
        Self::lasting(places, TURN)
    }

    fn lasting(places: usize, lasts: Duration) -> Arc<Self> {
        Arc::new(Self { places, lasts, free: Semaphore::new(places), begun: Mutex::default() })
    }

    /// The next turn; none where no session waits.
    pub async fn next(self: &Arc<Self>) -> Option<Turn> {
        if self.places == 0 {
            return None;
        }
        if let Ok(permit) = self.free.try_acquire() {
            permit.forget();
            return Some(self.begin(Instant::now()));
        }
        let mut acquired = pin!(self.free.acquire());
        loop {
            let now = Instant::now();
            self.end_long(now);
            tokio::select! {
                biased;
                permit = &mut acquired => {
                    permit.ok()?.forget(); // it is free again when the turn is over
                    return Some(self.begin(Instant::now()));
                }
                () = sleep_until((now + self.lasts).into()) => {}
            }
        }
    }

    fn begin(self: &Arc<Self>, now: Instant) -> Turn {
        let mut begun = self.begun();
        begun.last_number += 1;
        let number = begun.last_number;
        begun.since.insert(number, now);
        Turn { turns: Arc::clone(self), number }
    }

    /// Ends the turns that have lasted long enough.
    fn end_long(&self, now: Instant) {
        let mut ended = 0;
        let mut begun = self.begun();
        while let Some(oldest) = begun.since.first_entry() {
            if now.duration_since(*oldest.get()) < self.lasts {
                break;
            }
            oldest.remove();
            ended += 1;
        }
        drop(begun);
        self.free.add_permits(ended);
    }

    fn begun(&self) -> MutexGuard<'_, BegunTurns> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let counted = self.turns.begun().since.remove(&self.number);
        self.turns.free.add_permits(usize::from(counted.is_some()));
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn who_comes_when_all_turns_are_taken_has_the_first_that_is_over() {
        let turns = Turns::lasting(2, Duration::from_mins(15));
        let (first, _second) = (turns.next().await.unwrap(), turns.next().await.unwrap());
        let mut third = pin!(turns.next());
        let mut fourth = pin!(turns.next());
        assert!(third.as_mut().now_or_never().is_none() && fourth.as_mut().now_or_never().is_none());
        drop(first);
        assert!(turns.next().now_or_never().is_none(), "it is behind those that wait");
        assert!(fourth.as_mut().now_or_never().is_none(), "it is the last of them");
        let third = third.await.unwrap();
        drop(third);
        assert!(fourth.await.is_some());
    }

    #[tokio::test]
    async fn a_long_turn_is_lost_once() {
        let turns = Turns::lasting(1, Duration::ZERO);
        let long = turns.next().await.unwrap();
        let next = turns.next().await.unwrap();
        drop(long);
        assert_eq!(turns.free.available_permits(), 0, "it was over before");
        drop(next);
        assert_eq!(turns.free.available_permits(), 1);
    }

    #[tokio::test]
    async fn there_are_none_where_no_session_waits() {
        assert!(Turns::new(0).next().await.is_none());
    }
}
