//! Calls of the engine that go on: one that does so at two looks is long.
//!
//! Between two calls a statement asks by itself whether it has run for long. Some calls are long themselves: a checkpoint,
//! a commit that makes one, a step over long texts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The calls of one connection, which makes one at a time.
#[derive(Debug, Default)]
pub(super) struct ConnectionCalls {
    /// How often one has begun or ended: odd while one goes on.
    turns: AtomicU64,
    /// The same at the last look.
    seen: AtomicU64,
}

/// A call of the engine, which goes on until this is dropped.
pub(super) struct EngineCall<'a>(&'a ConnectionCalls);

/// The calls of all connections of a database.
#[derive(Debug, Default)]
pub(super) struct DatabaseCalls(Mutex<Vec<Weak<ConnectionCalls>>>);

/// The calls that a look has found.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallsSeen {
    /// One went on at the look before, and still does.
    pub is_any_long: bool,
    /// How often one has begun or ended since the look before.
    pub turns: u64,
}

impl ConnectionCalls {
    pub fn begin(&self) -> EngineCall<'_> {
        self.turns.fetch_add(1, Ordering::Relaxed);
        EngineCall(self)
    }
}

impl Drop for EngineCall<'_> {
    fn drop(&mut self) {
        self.0.turns.fetch_add(1, Ordering::Relaxed);
    }
}

impl DatabaseCalls {
    /// Those of a new connection, which are known for as long as it lives.
    pub fn add(&self) -> Arc<ConnectionCalls> {
        let calls = Arc::<ConnectionCalls>::default();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|of_one| of_one.strong_count() > 0);
        known.push(Arc::downgrade(&calls));
        calls
    }

    pub fn look(&self) -> CallsSeen {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = CallsSeen::default();
        for calls in known.iter().filter_map(Weak::upgrade) {
            let turns = calls.turns.load(Ordering::Relaxed);
            let before = calls.seen.swap(turns, Ordering::Relaxed);
            found.is_any_long |= turns == before && !turns.is_multiple_of(2);
            found.turns += turns.wrapping_sub(before);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_long_where_two_looks_find_the_same_one() {
        let all = DatabaseCalls::default();
        let (one, other) = (all.add(), all.add());
        let call = one.begin();
        assert_eq!(all.look(), CallsSeen { is_any_long: false, turns: 1 }, "it may have begun just now");
        drop(other.begin());
        assert_eq!(all.look(), CallsSeen { is_any_long: true, turns: 2 });
        assert!(all.look().is_any_long, "it still goes on");
        drop(call);
        let next = one.begin();
        assert_eq!(all.look(), CallsSeen { is_any_long: false, turns: 2 }, "this is another");
        drop(next);
        assert!(!all.look().is_any_long && !all.look().is_any_long, "none goes on");
    }

    #[test]
    fn a_connection_that_is_closed_is_not_known_any_more() {
        let all = DatabaseCalls::default();
        drop(all.add());
        assert_eq!(all.look(), CallsSeen::default());
        let _one = all.add();
        assert_eq!(all.0.lock().unwrap().len(), 1);
    }
}
