//! Answers whose rows wait for whoever asked, and the one task that looks after all of them.
//!
//! A task for each would begin and end with each statement, and wake another thread for both.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Flow, lock};

/// The answers of a pipeline that have not come to their end.
#[derive(Debug, Default)]
pub struct UnreadAnswers(Arc<Mutex<WatchedAnswers>>);

#[derive(Debug, Default)]
struct WatchedAnswers {
    by_number: HashMap<u64, WatchedAnswer>,
    next_number: u64,
    /// The task that looks after them, while there are any.
    looking: Option<AbortHandle>,
    tasks: TaskTracker,
}

#[derive(Debug)]
struct WatchedAnswer {
    flow: Weak<Mutex<Flow>>,
    /// The moment of the next look at it.
    due: Instant,
}

/// The place of an answer among those that are looked after, until this is dropped.
#[derive(Debug)]
pub(super) struct UnreadPlace {
    watched: Arc<Mutex<WatchedAnswers>>,
    number: u64,
}

impl UnreadAnswers {
    /// Looks after an answer: it is given up where its rows wait for longer than `patience`, which is the same for all.
    pub(super) fn watch(&self, flow: Weak<Mutex<Flow>>, patience: Duration, closed: &CancellationToken) -> UnreadPlace {
        let mut watched = locked(&self.0);
        let number = watched.next_number;
        watched.next_number += 1;
        watched.by_number.insert(number, WatchedAnswer { flow, due: Instant::now() + patience });
        if watched.looking.as_ref().is_none_or(AbortHandle::is_finished) {
            let task = watched.tasks.spawn(look_after(Arc::downgrade(&self.0), patience, closed.clone()));
            watched.looking = Some(task.abort_handle());
        }
        drop(watched);
        UnreadPlace { watched: Arc::clone(&self.0), number }
    }
}

impl Drop for UnreadPlace {
    fn drop(&mut self) {
        locked(&self.watched).by_number.remove(&self.number);
    }
}

fn locked(watched: &Mutex<WatchedAnswers>) -> MutexGuard<'_, WatchedAnswers> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks when the first of them is due; one that comes later is due later. Ends when none is left.
async fn look_after(watched: Weak<Mutex<WatchedAnswers>>, patience: Duration, closed: CancellationToken) {
    let mut due = Instant::now() + patience;
    while closed.run_until_cancelled(tokio::time::sleep_until(due.into())).await.is_some() {
        let next = watched.upgrade().and_then(|watched| look(&watched, patience, Instant::now()));
        let Some(next) = next else { return };
        due = next;
    }
}

/// Gives up those whose rows have waited for too long. The moment of the next look; none where no answer is left.
fn look(watched: &Mutex<WatchedAnswers>, patience: Duration, now: Instant) -> Option<Instant> {
    let due: Vec<(u64, Weak<Mutex<Flow>>)> = {
        let watched = locked(watched);
        let is_due = watched.by_number.iter().filter(|(_, answer)| answer.due <= now);
        is_due.map(|(number, answer)| (*number, Weak::clone(&answer.flow))).collect()
    };
    for (number, flow) in due {
        // not under the lock of all: one that is given up takes itself out of them
        let next = flow.upgrade().and_then(|flow| {
            let mut flow = lock(&flow);
            flow.given_up_or_due(patience, now)
        });
        let mut watched = locked(watched);
        match (next, watched.by_number.get_mut(&number)) {
            (Some(next), Some(answer)) => answer.due = next,
            (None, Some(_)) => drop(watched.by_number.remove(&number)),
            (_, None) => {}
        }
    }
    let mut watched = locked(watched);
    let next = watched.by_number.values().map(|answer| answer.due).min();
    if next.is_none() {
        watched.looking = None; // the next answer begins another
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that has come to its end.
    fn ended() -> Arc<Mutex<Flow>> {
        Arc::new(Mutex::new(Flow {
            first: std::collections::VecDeque::new(),
            rest: None,
            even: None,
            fails_anyhow: false,
            changed: None,
            delivered: 0,
            limit: None,
            wanted: None,
            truncated: false,
            holds_end: false,
            began: Instant::now(),
            place: None,
            unread_since: None,
            given_up: None,
            watch: None,
            end: None,
        }))
    }

    #[tokio::test]
    async fn one_task_looks_after_all_answers_while_there_are_any() {
        let (unread, closed, patience) = (UnreadAnswers::default(), CancellationToken::new(), Duration::from_mins(15));
        let flow = ended();
        let places = [1, 2].map(|_| unread.watch(Arc::downgrade(&flow), patience, &closed));
        let now = Instant::now();
        let tasks = locked(&unread.0).tasks.clone();
        assert_eq!(tasks.len(), 1);
        assert!(look(&unread.0, patience, now).is_some_and(|next| next > now), "none is due yet");
        drop(places);
        assert_eq!(look(&unread.0, patience, now), None);
        let _place = unread.watch(Arc::downgrade(&flow), patience, &closed);
        assert_eq!(tasks.len(), 2, "the first ends at its next look");
        closed.cancel();
        tasks.close();
        tasks.wait().await;
    }

    #[tokio::test]
    async fn an_answer_that_is_over_is_not_given_up() {
        let (unread, closed, patience) = (UnreadAnswers::default(), CancellationToken::new(), Duration::from_mins(15));
        let flow = ended();
        let _place = unread.watch(Arc::downgrade(&flow), patience, &closed);
        assert_eq!(look(&unread.0, patience, Instant::now() + patience * 2), None);
        assert!(lock(&flow).given_up.is_none());
        closed.cancel();
    }
}
