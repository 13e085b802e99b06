//! Savepoints of a client's transaction: where it stood, and the way back there.

use std::sync::Arc;

use super::{ClientTransaction, TransactionSession, TransactionState};
use crate::pipeline::authorization::transaction_recheck::TransactionRecheck;
use crate::pipeline::catalog_snapshot::CatalogSnapshot;
use crate::pipeline::journal::{Journal, JournalPosition};
use crate::pipeline::stages::semaphore;
use crate::pipeline::temporary_tables::{TemporarySavepoint, TemporaryTables};
use crate::pipeline::{Pipeline, Query, Result, startup_gate};
use crate::{Ask, Error};

/// Where a transaction stood at a savepoint.
#[derive(Debug, Clone)]
pub struct TransactionSavepoint {
    changes: u64,
    admitted: Arc<TransactionRecheck>,
    temporary: TemporarySavepoint,
    place: Option<JournalPosition>,
}

impl ClientTransaction {
    /// Where it stands now: for a savepoint.
    pub async fn mark(&mut self) -> Result<TransactionSavepoint> {
        if let (TransactionState::Open(TransactionSession { session, snapshot, .. }), Some(journal)) =
            (&mut self.state, &mut self.journal)
        {
            journal.look(session, snapshot).await?;
        }
        let place = self.journal.as_ref().map(Journal::place);
        let temporary = self.temporary.as_ref().map(TemporaryTables::mark).unwrap_or_default();
        Ok(TransactionSavepoint { changes: self.changes, admitted: Arc::clone(&self.admitted), temporary, place })
    }

    /// Whether nothing was changed since, so that there is nothing to take back.
    pub fn is_at(&self, mark: &TransactionSavepoint) -> bool {
        self.changes == mark.changes && !self.has_failed()
    }

    /// Takes back all that came after a mark: what came before it is done again, in a new transaction of the engine.
    async fn go_back(&mut self, query: &Query, mark: &TransactionSavepoint) -> Result<()> {
        if self.who != query.ask.who {
            return Err(Error::FailedTransaction);
        }
        // Nothing of it is left, unless this comes to its end.
        let session = self.give_up().await;
        self.state = TransactionState::Failed(session);
        self.admitted = Arc::clone(&mark.admitted);
        if let Some(temporary) = &mut self.temporary {
            temporary.to(&mark.temporary);
        }
        self.judge().await?;
        let (Some(journal), Some(place)) = (&mut self.journal, mark.place) else {
            return Err(Error::Unsupported { what: "ROLLBACK TO SAVEPOINT here".to_owned() });
        };
        journal.go_back(place)?;
        (self.defined, self.own, self.changes) = (journal.defines(), None, mark.changes);
        if journal.is_empty() {
            journal.forget();
            self.settle().await;
            return Ok(());
        }
        for branch in journal.branches() {
            let writing = tokio::time::timeout(query.left(), branch.writing()).await;
            self.writing.push(writing.map_err(|_| Error::Timeout(query.timeout))??);
        }
        let engine = self.pipeline.engine()?;
        let mut session = match std::mem::replace(&mut self.state, TransactionState::Failed(None)) {
            TransactionState::Failed(Some(session)) => session,
            _ => engine.session().await?,
        };
        let again = async {
            let snapshot = session.begin().await?;
            let seen = CatalogSnapshot::of(&engine, &mut session).await?;
            journal.again(query, &mut session, &snapshot).await?;
            Ok((snapshot, seen))
        };
        let again = again.await;
        let has_any = self.temporary.as_ref().is_some_and(|temporary| !temporary.is_empty());
        match again {
            Ok((snapshot, seen)) => {
                self.state = TransactionState::Open(TransactionSession { session, snapshot, seen });
                Ok(())
            }
            Err(error) => {
                self.state = TransactionState::Failed(Some(session).filter(|_| has_any));
                Err(error)
            }
        }
    }
}

impl Pipeline {
    /// Takes the transaction of an ask back to where it stood. It may work as long as a statement.
    pub async fn roll_back_to(&self, ask: Ask, mark: &TransactionSavepoint) -> Result<()> {
        let query = startup_gate::enter(self, ask).await?;
        let _slot = semaphore::enter(self, &query).await?;
        let mut transaction = query.transaction().await?.ok_or(Error::FailedTransaction)?;
        Box::pin(transaction.go_back(&query, mark)).await
    }
}
