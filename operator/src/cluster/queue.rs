//! The work queue: which objects wait for a reconcile, and until when.
//!
//! Each item is in the queue once, however often it was woken, and is never worked on twice at the
//! same time: woken meanwhile, it runs again afterwards. What is being deleted or suspended goes
//! before the rest, and the hourly rounds and rollouts after it.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Changes that belong together arrive together: an item rests this long after it was woken.
pub const DEBOUNCE: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    Urgent,
    Normal,
    Background,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    due: Instant,
    priority: Priority,
    sequence: u64,
    since: Instant,
}

/// The state of the queue, without a clock of its own.
#[derive(Debug)]
struct Line<T> {
    waiting: HashMap<T, Waiting>,
    due: BTreeSet<(Instant, u64)>,
    by_sequence: HashMap<u64, T>,
    ready: BTreeSet<(Priority, u64)>,
    /// In work; `true`: woken meanwhile.
    working: HashMap<T, Option<(Instant, Priority)>>,
    sequence: u64,
}

impl<T: Clone + Eq + Hash> Line<T> {
    fn new() -> Self {
        Self {
            waiting: HashMap::new(),
            due: BTreeSet::new(),
            by_sequence: HashMap::new(),
            ready: BTreeSet::new(),
            working: HashMap::new(),
            sequence: 0,
        }
    }

    fn wake(&mut self, item: T, due: Instant, priority: Priority, now: Instant) {
        if let Some(again) = self.working.get_mut(&item) {
            let sooner = again.map_or((due, priority), |(at, before)| (at.min(due), before.min(priority)));
            *again = Some(sooner);
            return;
        }
        let old = self.waiting.get(&item).copied();
        let (due, priority) = old.map_or((due, priority), |old| (old.due.min(due), old.priority.min(priority)));
        if let Some(old) = old {
            self.due.remove(&(old.due, old.sequence));
            self.ready.remove(&(old.priority, old.sequence));
            self.by_sequence.remove(&old.sequence);
        }
        self.sequence += 1;
        let sequence = old.map_or(self.sequence, |old| old.sequence);
        let since = old.filter(|old| old.due <= now).map_or(due, |old| old.since);
        self.by_sequence.insert(sequence, item.clone());
        self.due.insert((due, sequence));
        self.waiting.insert(item, Waiting { due, priority, sequence, since });
    }

    /// The next item that is due; it is in work until `done`.
    fn take(&mut self, now: Instant) -> Option<T> {
        while let Some(&(due, sequence)) = self.due.first().filter(|(due, _)| *due <= now) {
            self.due.remove(&(due, sequence));
            if let Some(waiting) = self.by_sequence.get(&sequence).and_then(|item| self.waiting.get(item)) {
                self.ready.insert((waiting.priority, sequence));
            }
        }
        let (_, sequence) = self.ready.pop_first()?;
        let item = self.by_sequence.remove(&sequence)?;
        self.waiting.remove(&item);
        self.working.insert(item.clone(), None);
        Some(item)
    }

    fn done(&mut self, item: &T, again: Option<(Instant, Priority)>, now: Instant) {
        let woken = self.working.remove(item).flatten();
        for (due, priority) in woken.into_iter().chain(again) {
            self.wake(item.clone(), due, priority, now);
        }
    }

    fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// How many are overdue, and since when the oldest is.
    fn overdue(&self, now: Instant) -> (usize, Duration) {
        let late = self.waiting.values().filter(|waiting| waiting.due <= now);
        late.fold((0, Duration::ZERO), |(count, oldest), waiting| {
            (count + 1, oldest.max(now.saturating_duration_since(waiting.since)))
        })
    }
}

/// A work queue with many producers and many workers.
#[derive(Debug)]
pub struct Queue<T> {
    line: Mutex<Line<T>>,
    changed: Notify,
}

impl<T: Clone + Eq + Hash> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Clone + Eq + Hash> Queue<T> {
    pub fn new() -> Self {
        Self { line: Mutex::new(Line::new()), changed: Notify::new() }
    }

    fn line(&self) -> MutexGuard<'_, Line<T>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something about it changed.
    pub fn wake(&self, item: T, priority: Priority) {
        let now = Instant::now();
        self.line().wake(item, now + DEBOUNCE, priority, now);
        self.changed.notify_one();
    }

    /// Waits for an item that is due. Dropping the future loses nothing.
    pub async fn next(&self) -> T {
        loop {
            let changed = self.changed.notified();
            let (taken, due) = {
                let mut line = self.line();
                (line.take(Instant::now()), line.next_due())
            };
            if let Some(item) = taken {
                // there may be more for others
                self.changed.notify_one();
                return item;
            }
            match due {
                Some(due) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(due) => {}
                },
                None => changed.await,
            }
        }
    }

    /// It was looked at; again after so long.
    pub fn done(&self, item: &T, again: Option<(Duration, Priority)>) {
        let now = Instant::now();
        self.line().done(item, again.map(|(after, priority)| (now + after, priority)), now);
        self.changed.notify_one();
    }

    /// How many wait that should be in work, and how long the oldest has.
    pub fn overdue(&self) -> (usize, Duration) {
        self.line().overdue(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn an_item_woken_often_is_looked_at_once_and_again_if_woken_meanwhile() {
        let (mut line, now) = (Line::new(), Instant::now());
        for _ in 0..5 {
            line.wake("a", now, Priority::Normal, now);
        }
        assert_eq!((line.take(now), line.take(now)), (Some("a"), None));
        line.wake("a", now, Priority::Normal, now);
        assert_eq!(line.take(now), None, "it is in work");
        line.done(&"a", None, now);
        assert_eq!((line.take(now), line.take(now)), (Some("a"), None));
        line.done(&"a", Some((now + SECOND, Priority::Normal)), now);
        assert_eq!((line.take(now), line.take(now + SECOND)), (None, Some("a")));
    }

    #[test]
    fn what_is_urgent_goes_first_and_within_a_priority_who_came_first() {
        let (mut line, now) = (Line::new(), Instant::now());
        for (item, priority) in [
            ("round", Priority::Background),
            ("change", Priority::Normal),
            ("other", Priority::Normal),
            ("deletion", Priority::Urgent),
        ] {
            line.wake(item, now, priority, now);
        }
        line.wake("other", now, Priority::Urgent, now);
        let order: Vec<_> = std::iter::from_fn(|| line.take(now)).collect();
        assert_eq!(order, ["other", "deletion", "change", "round"]);
    }

    #[test]
    fn a_later_timer_never_delays_an_earlier_one() {
        let (mut line, now) = (Line::new(), Instant::now());
        line.wake("a", now + SECOND, Priority::Normal, now);
        line.wake("a", now + 60 * SECOND, Priority::Background, now);
        assert_eq!(line.next_due(), Some(now + SECOND));
        line.wake("a", now, Priority::Background, now);
        assert_eq!(line.take(now), Some("a"));
        assert_eq!(line.next_due(), None);
    }

    #[test]
    fn the_oldest_that_is_overdue_tells_how_far_behind_the_workers_are() {
        let (mut line, now) = (Line::new(), Instant::now());
        line.wake("a", now, Priority::Normal, now);
        line.wake("b", now + 60 * SECOND, Priority::Normal, now);
        line.wake("a", now + SECOND, Priority::Normal, now + SECOND);
        assert_eq!(line.overdue(now + 3 * SECOND), (1, 3 * SECOND));
    }

    #[tokio::test]
    async fn workers_share_what_there_is() {
        let queue = Queue::new();
        for item in 0..10 {
            queue.wake(item, Priority::Normal);
        }
        let (a, b) = tokio::join!(queue.next(), queue.next());
        assert_ne!(a, b);
        queue.done(&a, Some((Duration::from_millis(20), Priority::Normal)));
        let mut rest = Vec::new();
        for _ in 0..9 {
            rest.push(tokio::time::timeout(10 * SECOND, queue.next()).await.unwrap());
        }
        assert_eq!(rest.last(), Some(&a), "its timer comes after the others, and alone");
    }
}
