//! A transaction that a client holds open: BEGIN … COMMIT over one engine session.
//!
//! Each statement in it walks all stages; only the session, and so the snapshot, is shared. The
//! session comes with the first statement, so an idle BEGIN costs nothing. After a failure only
//! ROLLBACK is accepted, as PostgreSQL has it.
//!
//! Once it has changed something it is judged again, by each of its statements and by its COMMIT: it ends where the rules
//! would make something else of what it did, or its caller may not do it any more.
//!
//! Where its connection has temporary tables, it runs on the session that keeps them (`temporary_tables`).

use std::sync::Arc;

use contract::Governance;
use contract::wire::Who;
use engine::{Session, Snapshot};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::authorization::transaction_recheck::TransactionRecheck;
use super::catalog_snapshot::{BesideTables, CatalogSnapshot, paths};
use super::journal::{Done, Journal};
use super::renamed_away::{Away, Swaps};
use super::stages::tables::StatementInfo;
use super::stages::transpile::Native;
use super::temporary_tables::TemporaryTables;
use super::{Pipeline, Query, Result};
use crate::Error;
use crate::storage::branches::Writing;

mod savepoint;

pub use savepoint::TransactionSavepoint;

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
    /// Those of the connection, where its client keeps one for all its transactions.
    temporary: Option<TemporaryTables>,
    pipeline: Arc<Pipeline>,
    /// Branches written to in it: none of them is merged or dropped before it ends.
    writing: Vec<Writing>,
}

enum TransactionState {
    /// No statement yet.
    Idle,
    Open(TransactionSession),
    /// With the session that keeps the temporary tables of its connection; it is not rolled back yet.
    Failed(Option<Session>),
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
            temporary: None,
            pipeline,
            writing: Vec::new(),
        }
    }

    /// For a connection: it may have savepoints and temporary tables.
    pub(super) fn of_connection(self) -> Self {
        Self { journal: Some(Journal::default()), temporary: Some(TemporaryTables::default()), ..self }
    }

    pub(super) fn has_savepoints(&self) -> bool {
        self.journal.is_some()
    }

    /// Ends it where what is in it would not be let through now, or would be something else.
    async fn judge(&mut self) -> Result<()> {
        let mut judged = Arc::make_mut(&mut self.admitted).still_holds(&self.pipeline, &self.who).await;
        let is_open = matches!(self.state, TransactionState::Open(_)) && judged.is_ok();
        if let Some(temporary) = self.temporary.as_mut().filter(|_| is_open)
            && temporary.filling().still_holds(&self.pipeline, &self.who).await.is_err()
        {
            temporary.lose();
            judged = Err(Error::Rejudged);
        }
        if judged.is_err() {
            self.fail();
        }
        judged
    }

    /// It is about to run a statement that changes something.
    pub(super) fn admit(&mut self, rules: &Arc<Governance>, query: &Query, native: &Native) -> Result<()> {
        Arc::make_mut(&mut self.admitted).add(rules, query, native, &self.pipeline)?;
        if let Some(temporary) = &mut self.temporary
            && temporary.changes(&native.about)
        {
            temporary.filling().add(rules, query, native, &self.pipeline)?;
        }
        Ok(())
    }

    /// Has a statement in it failed?
    pub fn has_failed(&self) -> bool {
        matches!(self.state, TransactionState::Failed(_))
    }

    /// Makes what was written last; rolls back when a statement has failed, or the rules are others by now, and says so.
    pub async fn commit(&mut self) -> Result<()> {
        let judged = self.judge().await;
        let swaps = std::mem::take(&mut self.swaps);
        self.forget();
        let committed = match (judged, &self.state) {
            (Err(changed), _) => Err(changed),
            (Ok(()), TransactionState::Idle) => Ok(()),
            (Ok(()), TransactionState::Open(_)) => self.commit_open(&swaps).await,
            (Ok(()), TransactionState::Failed(_)) => Err(Error::FailedTransaction),
        };
        self.written.clear();
        self.settle().await;
        committed
    }

    async fn commit_open(&mut self, swaps: &Swaps) -> Result<()> {
        let TransactionState::Open(TransactionSession { session, .. }) = &mut self.state else { return Ok(()) };
        let (answers, written) = (self.pipeline.remembered.answers.clone(), std::mem::take(&mut self.written));
        swaps.are_whole(session).await?;
        let left = match &mut self.temporary {
            Some(temporary) => temporary.before_commit(session).await?,
            None => None,
        };
        // Whatever the outcome: one of them does not tell.
        let committed = session.commit_then(Vec::new(), move || answers.wrote(&written)).await;
        committed.map_err(|error| Error::from(error).of_load())?;
        if let TransactionState::Open(opened) = std::mem::replace(&mut self.state, TransactionState::Idle)
            && let (Some(temporary), Some(left)) = (&mut self.temporary, left)
        {
            temporary.committed(left, opened.session);
        }
        Ok(())
    }

    /// The engine's session, if there is one: nothing is open now.
    fn taken(&mut self) -> Option<Session> {
        match std::mem::replace(&mut self.state, TransactionState::Idle) {
            TransactionState::Open(opened) => Some(opened.session),
            TransactionState::Failed(session) => session,
            TransactionState::Idle => None,
        }
    }

    /// The engine's session of what has ended, rolled back, where the temporary tables of its connection are in it.
    async fn give_up(&mut self) -> Option<Session> {
        let session = self.taken();
        self.writing.clear();
        let mut session = session?;
        let is_rolled_back = session.rollback().await.is_ok();
        let has_any = self.temporary.as_ref().is_some_and(|temporary| !temporary.is_empty());
        (is_rolled_back && has_any).then_some(session)
    }

    /// Its end, if it has not come yet: nothing is open, and the temporary tables are as before it.
    async fn settle(&mut self) {
        let session = self.give_up().await;
        if let Some(temporary) = &mut self.temporary {
            temporary.rolled_back(session);
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
        let rolled_back = match &mut self.state {
            TransactionState::Open(opened) => opened.session.rollback().await,
            TransactionState::Idle | TransactionState::Failed(_) => Ok(()),
        };
        self.settle().await;
        Ok(rolled_back?)
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
            TransactionState::Idle | TransactionState::Failed(_) => Err(Error::FailedTransaction),
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
    pub(super) async fn seen(&mut self, beside: BesideTables) -> Result<Option<CatalogSnapshot>> {
        self.judge().await?;
        if matches!(self.state, TransactionState::Idle) {
            self.resume().await?;
        }
        let TransactionState::Open(TransactionSession { session, seen, .. }) = &mut self.state else { return Ok(None) };
        let seen = match &self.own {
            _ if !self.defined => seen.clone(),
            Some(own) => own.clone(),
            None => self.own.insert(seen.by(session).await?).clone(),
        };
        Ok(Some(seen.beside(beside)))
    }

    /// Begins on the session that keeps the temporary tables, if there are any, and if they may still be had.
    async fn resume(&mut self) -> Result<()> {
        let Some(temporary) = self.temporary.as_mut().filter(|temporary| !temporary.is_empty()) else { return Ok(()) };
        if temporary.filling().still_holds(&self.pipeline, &self.who).await.is_err() {
            temporary.lose();
        }
        let Some(mut session) = temporary.take() else { return Ok(()) };
        let engine = self.pipeline.engine()?;
        let snapshot = session.begin().await?;
        let seen = CatalogSnapshot::of(&engine, &mut session).await?;
        if temporary.are_in(seen.read()) {
            self.state = TransactionState::Open(TransactionSession { session, snapshot, seen });
        } else {
            temporary.lose(); // the engine has started anew
        }
        Ok(())
    }

    /// Whether its connection has temporary tables, or is to be told of one that is gone.
    pub fn has_temporary(&self) -> bool {
        self.temporary.as_ref().is_some_and(TemporaryTables::is_known)
    }

    /// A statement that names a temporary table that was dropped is told so.
    pub(super) fn refuse_gone(&mut self, statement: &sql::Statement) -> Result<()> {
        self.temporary.as_mut().map_or(Ok(()), |temporary| temporary.refuse_gone(statement))
    }

    /// The session to ask about tables, where its view may differ from everybody's.
    pub(super) fn own_view(&mut self) -> Option<&mut Session> {
        match &mut self.state {
            TransactionState::Open(opened) if self.defined || !opened.seen.is_current() => Some(&mut opened.session),
            _ => None,
        }
    }

    /// Its session, once it has begun.
    pub(super) fn open_session(&mut self) -> Option<&mut Session> {
        match &mut self.state {
            TransactionState::Open(opened) => Some(&mut opened.session),
            TransactionState::Idle | TransactionState::Failed(_) => None,
        }
    }

    pub(super) fn session(&mut self) -> Result<&mut Session> {
        match &mut self.state {
            TransactionState::Open(opened) => Ok(&mut opened.session),
            TransactionState::Idle | TransactionState::Failed(_) => Err(Error::FailedTransaction),
        }
    }

    /// A statement failed: the engine's side of it is given up, but for what its connection keeps there.
    pub fn fail(&mut self) {
        let has_any = self.temporary.as_ref().is_some_and(|temporary| !temporary.is_empty());
        let session = self.taken();
        self.state = TransactionState::Failed(session.filter(|_| has_any));
        self.writing.clear();
    }
}

impl Pipeline {
    /// A transaction that a client holds open over several asks. Its session starts with the first.
    pub fn begin(self: &Arc<Self>, who: Who) -> Arc<Mutex<ClientTransaction>> {
        Arc::new(Mutex::new(ClientTransaction::new(who, Arc::clone(self))))
    }

    /// The same for a connection, which may go back to a savepoint and have temporary tables: what it does is kept,
    /// within bounds.
    pub fn begin_of_connection(self: &Arc<Self>, who: Who) -> Arc<Mutex<ClientTransaction>> {
        Arc::new(Mutex::new(ClientTransaction::new(who, Arc::clone(self)).of_connection()))
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
            TransactionState::Failed(_) => "failed",
        };
        f.debug_struct("ClientTransaction").field("state", &state).finish_non_exhaustive()
    }
}
