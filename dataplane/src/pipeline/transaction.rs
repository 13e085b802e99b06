//! A transaction that a client holds open: BEGIN … COMMIT over one engine session.
//!
//! Each statement in it walks all stages; only the session, and so the snapshot, is shared. The
//! session comes with the first statement, so an idle BEGIN costs nothing. After a failure only
//! ROLLBACK is accepted, as PostgreSQL has it.
//!
//! Once it has changed something it is judged again, by each of its statements and by its COMMIT: it ends where the rules
//! would make something else of what it did, or its caller may not do it any more.

use std::sync::Arc;

use contract::wire::Who;
use contract::Governance;
use engine::{Session, Snapshot};

use super::admitted::Admitted;
use super::seen::Seen;
use super::transpile::Native;
use super::{Pipeline, Query, Result};
use crate::Error;
use crate::branches::Writing;

/// Held by a door between BEGIN and COMMIT or ROLLBACK. Dropped, it is rolled back.
pub struct ClientTransaction {
    who: Who,
    state: State,
    /// A table or schema was made, changed or dropped in it: others do not see that yet.
    defined: bool,
    /// The tables with those, until something more is defined.
    own: Option<Seen>,
    /// Tables written in it; when it is committed, answers that were kept from them are stale.
    written: Vec<String>,
    /// Statements that changed something in it.
    changes: u64,
    /// What its changes were let through by.
    admitted: Admitted,
    pipeline: Arc<Pipeline>,
    /// Branches written to in it: none of them is merged or dropped before it ends.
    writing: Vec<Writing>,
}

enum State {
    /// No statement yet.
    Idle,
    Open(Opened),
    Failed,
}

struct Opened {
    session: Session,
    snapshot: Snapshot,
    /// The tables as they were when it was opened: all that is asked in it is judged by these.
    seen: Seen,
}

impl ClientTransaction {
    pub(super) fn new(who: Who, pipeline: Arc<Pipeline>) -> Self {
        Self {
            who,
            state: State::Idle,
            defined: false,
            own: None,
            written: Vec::new(),
            changes: 0,
            admitted: Admitted::default(),
            pipeline,
            writing: Vec::new(),
        }
    }

    /// Ends it where what is in it would not be let through now, or would be something else.
    async fn judge(&mut self) -> Result<()> {
        let judged = self.admitted.still_holds(&self.pipeline, &self.who).await;
        if judged.is_err() {
            self.fail();
        }
        judged
    }

    /// It is about to run a statement that changes something.
    pub(super) fn admit(&mut self, rules: &Arc<Governance>, query: &Query, native: &Native) -> Result<()> {
        self.admitted.add(rules, query, native, &self.pipeline)
    }

    /// Has a statement in it failed?
    pub fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed)
    }

    /// How many of its statements changed something: while this stays, there is nothing to take back.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Makes what was written last; rolls back when a statement has failed, or the rules are others by now, and says so.
    pub async fn commit(&mut self) -> Result<()> {
        let judged = self.judge().await;
        self.forget();
        if let Err(changed) = judged {
            self.state = State::Idle;
            self.written.clear();
            return Err(changed);
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => Ok(()),
            State::Open(mut opened) => {
                let (answers, written) = (self.pipeline.remembered.answers.clone(), std::mem::take(&mut self.written));
                // Whatever the outcome: one of them does not tell.
                let committed = opened.session.commit_then(move || answers.wrote(&written)).await;
                self.writing.clear();
                Ok(committed?)
            }
            State::Failed => Err(Error::FailedTransaction),
        }
    }

    /// Its end: the next one has defined nothing, and was let through by nothing.
    fn forget(&mut self) {
        (self.defined, self.own, self.admitted) = (false, None, Admitted::default());
    }

    pub async fn rollback(&mut self) -> Result<()> {
        self.forget();
        self.written.clear();
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle | State::Failed => Ok(()),
            State::Open(mut opened) => {
                let rolled_back = opened.session.rollback().await;
                self.writing.clear();
                Ok(rolled_back?)
            }
        }
    }

    /// The session, begun if this is the first statement. For nobody but who began it, and for nothing that was
    /// judged by other tables than those it sees.
    pub(super) async fn open(&mut self, who: &Who, judged_by: &Seen) -> Result<(&mut Session, Snapshot)> {
        if self.who != *who {
            return Err(Error::FailedTransaction);
        }
        if matches!(self.state, State::Idle) {
            let mut session = judged_by.engine.session().await?;
            let snapshot = session.begin().await?;
            let seen = if judged_by.is_current() { judged_by.clone() } else { judged_by.by(&mut session).await? };
            self.state = State::Open(Opened { session, snapshot, seen });
        }
        match &mut self.state {
            State::Open(Opened { session, snapshot, seen }) if self.defined || seen.is_the_same(judged_by) => {
                Ok((session, snapshot.clone()))
            }
            State::Open(_) => Err(Error::Redefined),
            State::Idle | State::Failed => Err(Error::FailedTransaction),
        }
    }

    /// Until the end of the transaction.
    pub(super) fn holds(&mut self, writing: Option<Writing>) {
        self.writing.extend(writing);
    }

    pub(super) fn wrote(&mut self, tables: Vec<String>) {
        self.written.extend(tables);
        self.changes += 1;
    }

    /// A definition was made in it.
    pub(super) fn defined(&mut self) {
        (self.defined, self.own) = (true, None);
    }

    /// The tables that it sees, with what was defined in it; none before its first statement.
    pub(super) async fn seen(&mut self, has_runtime: bool) -> Result<Option<Seen>> {
        self.judge().await?;
        let State::Open(Opened { session, seen, .. }) = &mut self.state else { return Ok(None) };
        let seen = match &self.own {
            _ if !self.defined => seen.clone(),
            Some(own) => own.clone(),
            None => self.own.insert(seen.by(session).await?).clone(),
        };
        Ok(Some(seen.with_runtime(has_runtime)))
    }

    /// The session to ask about tables, where its view may differ from everybody's.
    pub(super) fn own_view(&mut self) -> Option<&mut Session> {
        match &mut self.state {
            State::Open(opened) if self.defined || !opened.seen.is_current() => Some(&mut opened.session),
            _ => None,
        }
    }

    pub(super) fn session(&mut self) -> Result<&mut Session> {
        match &mut self.state {
            State::Open(opened) => Ok(&mut opened.session),
            State::Idle | State::Failed => Err(Error::FailedTransaction),
        }
    }

    /// A statement failed: the engine's side of it is given up.
    pub fn fail(&mut self) {
        self.state = State::Failed;
        self.writing.clear();
    }
}

impl std::fmt::Debug for ClientTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.state {
            State::Idle => "idle",
            State::Open(..) => "open",
            State::Failed => "failed",
        };
        f.debug_struct("ClientTransaction").field("state", &state).finish_non_exhaustive()
    }
}
