//! A transaction that a client holds open: BEGIN … COMMIT over one engine session.
//!
//! Each statement in it walks all stages; only the session, and so the snapshot, is shared. The
//! session comes with the first statement, so an idle BEGIN costs nothing. After a failure only
//! ROLLBACK is accepted, as PostgreSQL has it.
//!
//! Once it has changed something it is judged again, by each of its statements and by its COMMIT: it ends where the rules
//! would make something else of what it did, or its caller may not do it any more.

use std::sync::Arc;

use contract::Governance;
use contract::wire::Who;
use engine::{Session, Snapshot};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::authorization::transaction_recheck::TransactionRecheck;
use super::catalog_snapshot::{CatalogSnapshot, paths};
use super::journal::{Done, Journal, JournalPosition};
use super::stages::semaphore;
use super::stages::tables::StatementInfo;
use super::stages::transpile::Native;
use super::swap::{Away, Swaps};
use super::{Pipeline, Query, Result, startup_gate};
use crate::storage::branches::Writing;
use crate::{Ask, Error};

/// Held by a protocol between BEGIN and COMMIT or ROLLBACK. Dropped, it is rolled back.
pub struct ClientTransaction {
    who: Who,
    state: TransactionState,
    /// A table or schema was made, changed or dropped in it: others do not see that yet.
    defined: bool,
    /// The tables with those, until something more is defined.
    own: Option<CatalogSnapshot>,
    /// Tables written in it; when it is committed, answers that were kept from them are stale.
    written: Vec<String>,
    /// Statements that changed something in it.
    changes: u64,
    /// What its changes were let through by.
    admitted: Arc<TransactionRecheck>,
    /// Ruled tables that it has renamed.
    swaps: Swaps,
    /// What it did, where its client may go back to a savepoint.
    journal: Option<Journal>,
    pipeline: Arc<Pipeline>,
    /// Branches written to in it: none of them is merged or dropped before it ends.
    writing: Vec<Writing>,
}

/// Where a transaction stood at a savepoint.
#[derive(Debug, Clone)]
pub struct TransactionSavepoint {
    changes: u64,
    admitted: Arc<TransactionRecheck>,
    place: Option<JournalPosition>,
}

enum TransactionState {
    /// No statement yet.
    Idle,
    Open(TransactionSession),
    Failed,
}

struct TransactionSession {
    session: Session,
    snapshot: Snapshot,
    /// The tables as they were when it was opened: all that is asked in it is judged by these.
    seen: CatalogSnapshot,
}

impl ClientTransaction {
    pub(super) fn new(who: Who, pipeline: Arc<Pipeline>) -> Self {
        Self {
            who,
            state: TransactionState::Idle,
            defined: false,
            own: None,
            written: Vec::new(),
            changes: 0,
            admitted: Arc::default(),
            swaps: Swaps::default(),
            journal: None,
            pipeline,
            writing: Vec::new(),
        }
    }

    pub(super) fn with_savepoints(self) -> Self {
        Self { journal: Some(Journal::default()), ..self }
    }

    pub(super) fn has_savepoints(&self) -> bool {
        self.journal.is_some()
    }

    /// Ends it where what is in it would not be let through now, or would be something else.
    async fn judge(&mut self) -> Result<()> {
        let judged = Arc::make_mut(&mut self.admitted).still_holds(&self.pipeline, &self.who).await;
        if judged.is_err() {
            self.fail();
        }
        judged
    }

    /// It is about to run a statement that changes something.
    pub(super) fn admit(&mut self, rules: &Arc<Governance>, query: &Query, native: &Native) -> Result<()> {
        Arc::make_mut(&mut self.admitted).add(rules, query, native, &self.pipeline)
    }

    /// Has a statement in it failed?
    pub fn has_failed(&self) -> bool {
        matches!(self.state, TransactionState::Failed)
    }

    /// Where it stands now: for a savepoint.
    pub async fn mark(&mut self) -> Result<TransactionSavepoint> {
        if let (TransactionState::Open(TransactionSession { session, snapshot, .. }), Some(journal)) =
            (&mut self.state, &mut self.journal)
        {
            journal.look(session, snapshot).await?;
        }
        let place = self.journal.as_ref().map(Journal::place);
        Ok(TransactionSavepoint { changes: self.changes, admitted: Arc::clone(&self.admitted), place })
    }

    /// Whether nothing was changed since, so that there is nothing to take back.
    pub fn is_at(&self, mark: &TransactionSavepoint) -> bool {
        self.changes == mark.changes && !self.has_failed()
    }

    /// Takes back all that came after a mark: what came before it is done again, in a new transaction of the engine.
    pub(super) async fn go_back(&mut self, query: &Query, mark: &TransactionSavepoint) -> Result<()> {
        if self.who != query.ask.who {
            return Err(Error::FailedTransaction);
        }
        // Nothing of it is left, unless this comes to its end.
        if let TransactionState::Open(mut opened) = std::mem::replace(&mut self.state, TransactionState::Failed) {
            let _ = opened.session.rollback().await;
        }
        self.writing.clear();
        self.admitted = Arc::clone(&mark.admitted);
        self.judge().await?;
        let (Some(journal), Some(place)) = (&mut self.journal, mark.place) else {
            return Err(Error::Unsupported { what: "ROLLBACK TO SAVEPOINT here".to_owned() });
        };
        journal.go_back(place)?;
        (self.defined, self.own, self.changes) = (journal.defines(), None, mark.changes);
        if journal.is_empty() {
            journal.forget();
            self.state = TransactionState::Idle;
            return Ok(());
        }
        for branch in journal.branches() {
            let writing = tokio::time::timeout(query.left(), branch.writing()).await;
            self.writing.push(writing.map_err(|_| Error::Timeout(query.timeout))??);
        }
        let engine = self.pipeline.engine()?;
        let mut session = engine.session().await?;
        let snapshot = session.begin().await?;
        let seen = CatalogSnapshot::of(&engine, &mut session).await?;
        journal.again(query, &mut session, &snapshot).await?;
        self.state = TransactionState::Open(TransactionSession { session, snapshot, seen });
        Ok(())
    }

    /// Makes what was written last; rolls back when a statement has failed, or the rules are others by now, and says so.
    pub async fn commit(&mut self) -> Result<()> {
        let judged = self.judge().await;
        let swaps = std::mem::take(&mut self.swaps);
        self.forget();
        if let Err(changed) = judged {
            self.state = TransactionState::Idle;
            self.written.clear();
            return Err(changed);
        }
        match std::mem::replace(&mut self.state, TransactionState::Idle) {
            TransactionState::Idle => Ok(()),
            TransactionState::Open(mut opened) => {
                let (answers, written) = (self.pipeline.remembered.answers.clone(), std::mem::take(&mut self.written));
                if let Err(error) = swaps.are_whole(&mut opened.session).await {
                    self.writing.clear();
                    return Err(error); // dropped, it is rolled back
                }
                // Whatever the outcome: one of them does not tell.
                let committed = opened.session.commit_then(move || answers.wrote(&written)).await;
                self.writing.clear();
                Ok(committed?)
            }
            TransactionState::Failed => Err(Error::FailedTransaction),
        }
    }

    /// Its end: the next one has defined nothing, and was let through by nothing.
    fn forget(&mut self) {
        (self.defined, self.own, self.admitted, self.swaps) = (false, None, Arc::default(), Swaps::default());
        self.journal.iter_mut().for_each(Journal::forget);
    }

    pub async fn rollback(&mut self) -> Result<()> {
        self.forget();
        self.written.clear();
        match std::mem::replace(&mut self.state, TransactionState::Idle) {
            TransactionState::Idle | TransactionState::Failed => Ok(()),
            TransactionState::Open(mut opened) => {
                let rolled_back = opened.session.rollback().await;
                self.writing.clear();
                Ok(rolled_back?)
            }
        }
    }

    /// The session, begun if this is the first statement. For nobody but who began it, and for nothing that was
    /// judged by other tables than those it sees.
    pub(super) async fn open(&mut self, who: &Who, judged_by: &CatalogSnapshot) -> Result<(&mut Session, Snapshot)> {
        if self.who != *who {
            return Err(Error::FailedTransaction);
        }
        if matches!(self.state, TransactionState::Idle) {
            let mut session = judged_by.engine.session().await?;
            let snapshot = session.begin().await?;
            let seen = if judged_by.is_current() { judged_by.clone() } else { judged_by.by(&mut session).await? };
            self.state = TransactionState::Open(TransactionSession { session, snapshot, seen });
        }
        match &mut self.state {
            TransactionState::Open(TransactionSession { session, snapshot, seen })
                if self.defined || seen.is_the_same(judged_by) =>
            {
                Ok((session, snapshot.clone()))
            }
            TransactionState::Open(_) => Err(Error::Redefined),
            TransactionState::Idle | TransactionState::Failed => Err(Error::FailedTransaction),
        }
    }

    /// Until the end of the transaction.
    pub(super) fn holds(&mut self, writing: Option<Writing>) {
        self.writing.extend(writing);
    }

    /// A statement is about to read and to write these.
    pub(super) fn touches(&mut self, about: &StatementInfo, sql: &sql::EngineSql) {
        let Some(journal) = &mut self.journal else { return };
        journal.touch(paths(about, sql));
        if let Some(branch) = &about.branch {
            let on_branch: Vec<String> = about.tables.iter().map(|path| branch.names(path)).collect();
            journal.touch(on_branch.iter().map(String::as_str));
        }
    }

    pub(super) fn did(&mut self, done: Done) {
        if let Some(journal) = &mut self.journal {
            journal.add(done);
        }
    }

    pub(super) fn wrote(&mut self, tables: Vec<String>) {
        self.written.extend(tables);
        self.changes += 1;
    }

    /// At its COMMIT another table has the name.
    pub(super) fn renamed_away(&mut self, away: Away) -> Result<()> {
        self.swaps.add(away)
    }

    /// A definition was made in it.
    pub(super) fn defined(&mut self) {
        (self.defined, self.own) = (true, None);
    }

    /// The tables that it sees, with what was defined in it; none before its first statement.
    pub(super) async fn seen(&mut self, has_runtime: bool) -> Result<Option<CatalogSnapshot>> {
        self.judge().await?;
        let TransactionState::Open(TransactionSession { session, seen, .. }) = &mut self.state else { return Ok(None) };
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
            TransactionState::Open(opened) if self.defined || !opened.seen.is_current() => Some(&mut opened.session),
            _ => None,
        }
    }

    pub(super) fn session(&mut self) -> Result<&mut Session> {
        match &mut self.state {
            TransactionState::Open(opened) => Ok(&mut opened.session),
            TransactionState::Idle | TransactionState::Failed => Err(Error::FailedTransaction),
        }
    }

    /// A statement failed: the engine's side of it is given up.
    pub fn fail(&mut self) {
        self.state = TransactionState::Failed;
        self.writing.clear();
    }
}

impl Pipeline {
    /// A transaction that a client holds open over several asks. Its session starts with the first.
    pub fn begin(self: &Arc<Self>, who: Who) -> Arc<Mutex<ClientTransaction>> {
        Arc::new(Mutex::new(ClientTransaction::new(who, Arc::clone(self))))
    }

    /// The same for a client that may go back to a savepoint: what it does is kept, within bounds.
    pub fn begin_with_savepoints(self: &Arc<Self>, who: Who) -> Arc<Mutex<ClientTransaction>> {
        Arc::new(Mutex::new(ClientTransaction::new(who, Arc::clone(self)).with_savepoints()))
    }

    /// Takes the transaction of an ask back to where it stood. It may work as long as a statement.
    pub async fn roll_back_to(&self, ask: Ask, mark: &TransactionSavepoint) -> Result<()> {
        let query = startup_gate::cross(self, ask).await?;
        let _slot = semaphore::enter(self, &query).await?;
        let mut transaction = query.transaction().await?.ok_or(Error::FailedTransaction)?;
        Box::pin(transaction.go_back(&query, mark)).await
    }
}

impl Query {
    /// The client's transaction, once the statement before has let go of it.
    pub(super) async fn transaction(&self) -> Result<Option<OwnedMutexGuard<ClientTransaction>>> {
        let Some(transaction) = &self.ask.transaction else { return Ok(None) };
        let locked = tokio::time::timeout(self.left(), Arc::clone(transaction).lock_owned()).await;
        locked.map(Some).map_err(|_| Error::Timeout(self.timeout))
    }

    /// Rows of it failed in the engine, which has given up the client's transaction. Whoever holds it finds out.
    pub(super) fn transaction_failed(&self) {
        if let Some(Ok(mut transaction)) = self.ask.transaction.as_ref().map(|transaction| transaction.try_lock()) {
            transaction.fail();
        }
    }
}

impl std::fmt::Debug for ClientTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.state {
            TransactionState::Idle => "idle",
            TransactionState::Open(..) => "open",
            TransactionState::Failed => "failed",
        };
        f.debug_struct("ClientTransaction").field("state", &state).finish_non_exhaustive()
    }
}
