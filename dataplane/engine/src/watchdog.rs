//! Ends statements: when their deadline passes, and when their caller wants it.
//!
//! Three steps. The engine is asked to interrupt; asked again while it does not, because a question
//! that comes as a statement starts is lost. After a second the session's socket is cut: that ends
//! a statement that waits for a caller who no longer reads. A second after that the child is killed:
//! some functions never look up.
//!
//! This file decides, the supervisor acts; the time is an argument.

use std::collections::HashMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

use crate::message::Order;

const ASK_AGAIN: Duration = Duration::from_millis(100);
const CUT: Duration = Duration::from_secs(1);
/// Behind the cut, which comes late where nobody looked for a while. The child is killed at the look after.
const KILL: Duration = Duration::from_millis(900);
/// By then a child that did not answer has been killed, and its last transaction is over.
pub const GONE: Duration = Duration::from_secs(5);

/// Why a statement was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Deadline,
    Caller,
}

#[derive(Default)]
pub struct Watchdog {
    watched: Mutex<Watched>,
    nudge: Notify,
    /// A statement has not obeyed for `CUT`: most likely the child is killed with whatever else it does.
    kill_is_near: watch::Sender<bool>,
}

#[derive(Default)]
struct Watched {
    statements: HashMap<u64, Statement>,
    /// When the supervisor looks next; a statement due before must wake it.
    planned: Option<Instant>,
}

struct Statement {
    number: u64,
    socket: Arc<UnixStream>,
    due: Instant,
    asked: Option<Instant>,
    cut: Option<SocketCut>,
    cause: Option<Cause>,
    /// Nobody in the parent waits for it any more.
    abandoned: bool,
    /// The child's side of the session is gone.
    over: bool,
}

/// The end of a socket whose statement did not obey.
struct SocketCut {
    at: Instant,
    /// It was looked at `KILL` behind it: what the child said by then is read.
    is_expired: bool,
}

/// What to do now.
#[derive(Default)]
pub struct Due {
    pub orders: Vec<Order>,
    pub kill: bool,
    /// When to look again, if nothing wakes the supervisor before.
    pub next: Option<Instant>,
}

impl Watchdog {
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn start(&self, session: u64, number: u64, socket: &Arc<UnixStream>, deadline: Instant) {
        let mut watched = self.watched();
        let statement = Statement {
            number,
            socket: Arc::clone(socket),
            due: deadline,
            asked: None,
            cut: None,
            cause: None,
            abandoned: false,
            over: false,
        };
        watched.statements.insert(session, statement);
        self.wake_for(deadline, watched);
    }

    /// Wants the session's statement ended; nothing if it has none.
    pub fn cancel(&self, session: u64, now: Instant) {
        let mut watched = self.watched();
        if let Some(statement) = watched.statements.get_mut(&session)
            && statement.asked.is_none()
        {
            statement.cause = Some(Cause::Caller);
            statement.due = now;
            self.wake_for(now, watched);
        }
    }

    /// The statement is over. The cause, if it was being ended.
    pub fn finish(&self, session: u64) -> Option<Cause> {
        self.watched().statements.remove(&session).and_then(|statement| statement.cause)
    }

    /// As `cancel`, and nobody will ask how it ended. Until the child has closed the session the
    /// statement may still run, and is still watched. The cause, if it was being ended already.
    pub fn abandon(&self, session: u64, now: Instant) -> Option<Cause> {
        let mut watched = self.watched();
        let statement = watched.statements.get_mut(&session)?;
        let cause = statement.cause;
        statement.abandoned = true;
        if statement.over {
            watched.statements.remove(&session);
        }
        drop(watched);
        self.cancel(session, now);
        cause
    }

    /// The child closed the session: there is nothing left to end. The cause is kept for whoever waits.
    pub fn closed(&self, session: u64) {
        let mut watched = self.watched();
        match watched.statements.get_mut(&session) {
            Some(statement) if statement.abandoned => drop(watched.statements.remove(&session)),
            Some(statement) => statement.over = true,
            None => {}
        }
    }

    fn wake_for(&self, due: Instant, watched: MutexGuard<'_, Watched>) {
        let sooner = watched.planned.is_none_or(|planned| due < planned);
        drop(watched);
        if sooner {
            self.nudge.notify_one();
        }
    }

    /// Waits until something is due before what was planned.
    pub async fn nudged(&self) {
        self.nudge.notified().await;
    }

    /// Whether no child is about to be killed.
    pub fn is_steady(&self) -> bool {
        !*self.kill_is_near.borrow()
    }

    /// Waits while the child may be about to be killed.
    pub async fn steady(&self) {
        // An error means that nobody kills any more.
        let _ = self.kill_is_near.subscribe().wait_for(|near| !near).await;
    }

    pub fn due(&self, now: Instant) -> Due {
        let mut watched = self.watched();
        let mut due = Due::default();
        let mut kill_is_near = false;
        for (session, statement) in watched.statements.iter_mut().filter(|(_, statement)| !statement.over) {
            if statement.due <= now {
                statement.step(*session, now, &mut due);
            }
            kill_is_near |= statement.cut.is_some();
            due.next = Some(due.next.map_or(statement.due, |next| next.min(statement.due)));
        }
        watched.planned = due.next;
        self.kill_is_near.send_if_modified(|near| std::mem::replace(near, kill_is_near) != kill_is_near);
        due
    }
}

impl Statement {
    fn step(&mut self, session: u64, now: Instant, due: &mut Due) {
        self.cause.get_or_insert(Cause::Deadline);
        let asked = *self.asked.get_or_insert(now);
        if let Some(cut) = &mut self.cut {
            // A look that comes late says nothing: the child may have obeyed long ago, and nobody has read that.
            due.kill |= cut.is_expired;
            cut.is_expired = now.duration_since(cut.at) >= KILL;
        } else if now.duration_since(asked) >= CUT {
            // An error means that the other side is gone already.
            let _ = self.socket.shutdown(Shutdown::Both);
            self.cut = Some(SocketCut { at: now, is_expired: false });
        }
        due.orders.push(Order::Cancel { session, statement: self.number });
        self.due = now + ASK_AGAIN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watchdog(deadline: Instant) -> (Watchdog, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let watchdog = Watchdog::default();
        watchdog.start(7, 1, &Arc::new(ours), deadline);
        (watchdog, theirs)
    }

    #[test]
    fn a_statement_is_asked_then_cut_then_its_process_killed() {
        let start = Instant::now();
        let (watchdog, mut theirs) = watchdog(start);
        assert!(matches!(watchdog.due(start).orders.as_slice(), [Order::Cancel { session: 7, statement: 1 }]));
        assert!(watchdog.due(start + Duration::from_millis(50)).orders.is_empty());
        assert_eq!(watchdog.due(start + ASK_AGAIN).orders.len(), 1);
        assert!(!watchdog.due(start + CUT).kill);
        assert_eq!(std::io::Read::read(&mut theirs, &mut [0]).unwrap(), 0, "the socket is cut");
        assert!(!watchdog.due(start + CUT + KILL).kill);
        assert!(watchdog.due(start + CUT + KILL + ASK_AGAIN).kill);
        assert_eq!(watchdog.finish(7), Some(Cause::Deadline));
    }

    #[test]
    fn a_look_that_comes_late_kills_nothing() {
        let start = Instant::now();
        let (watchdog, mut theirs) = watchdog(start);
        watchdog.due(start);
        let late = start + CUT + KILL * 9;
        assert!(!watchdog.due(late).kill);
        assert_eq!(std::io::Read::read(&mut theirs, &mut [0]).unwrap(), 0, "the socket is cut first");
        assert!(!watchdog.due(late + ASK_AGAIN).kill);
        let then = late + KILL * 9;
        assert!(!watchdog.due(then).kill, "what the child has said since is not read yet");
        assert!(watchdog.due(then + ASK_AGAIN).kill, "it has said nothing");
    }

    #[test]
    fn nothing_is_begun_between_the_cut_and_the_end_of_it() {
        let start = Instant::now();
        let (watchdog, _theirs) = watchdog(start);
        watchdog.due(start);
        watchdog.due(start + ASK_AGAIN);
        assert!(watchdog.is_steady(), "most obey");
        watchdog.due(start + CUT);
        assert!(!watchdog.is_steady());
        watchdog.closed(7);
        watchdog.due(start + CUT + ASK_AGAIN);
        assert!(watchdog.is_steady(), "it has obeyed the cut");
    }

    #[test]
    fn a_finished_statement_is_left_alone() {
        let start = Instant::now();
        let (watchdog, _theirs) = watchdog(start + Duration::from_secs(1));
        assert_eq!(watchdog.finish(7), None);
        let due = watchdog.due(start + Duration::from_secs(9));
        assert!(due.orders.is_empty() && !due.kill && due.next.is_none());
    }

    #[test]
    fn the_cause_outlives_the_session_for_whoever_waits_and_nobody_else() {
        let start = Instant::now();
        let (watchdog, _theirs) = watchdog(start);
        watchdog.due(start);
        watchdog.closed(7);
        assert!(watchdog.due(start + CUT + KILL).orders.is_empty());
        assert_eq!(watchdog.finish(7), Some(Cause::Deadline));
        let (watchdog, _theirs) = self::watchdog(start);
        watchdog.abandon(7, start);
        watchdog.closed(7);
        assert!(watchdog.watched().statements.is_empty());
    }

    #[test]
    fn a_cancel_names_the_caller_and_does_not_wait_for_the_deadline() {
        let start = Instant::now();
        let (watchdog, _theirs) = watchdog(start + Duration::from_secs(30));
        assert!(watchdog.due(start).orders.is_empty());
        watchdog.cancel(7, start);
        assert_eq!(watchdog.due(start).orders.len(), 1);
        assert_eq!(watchdog.finish(7), Some(Cause::Caller));
    }
}
