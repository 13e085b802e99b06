//! BEGIN … COMMIT, and the transaction that a client means without saying so: the statements of one
//! simple query, or of one pipeline up to its `Sync`, stand and fall together.
//!
//! The engine has no savepoints. Where nothing was changed since, there is nothing to do, which is what drivers want
//! around each statement; otherwise the pipeline does again what was done before (`Pipeline::roll_back_to`).
//!
//! From its first temporary table on, a connection has all its transactions on one handle, which keeps the tables.

use std::sync::Arc;

use contract::Code;
use contract::wire::Who;
use tokio::sync::Mutex;

use super::failure::ErrorResponse;
use super::reply::TransactionStatus;
use super::settings;
use crate::pipeline::transaction::{ClientTransaction, TransactionSavepoint};
use crate::{Error, Pipeline};

type Handle = Arc<Mutex<ClientTransaction>>;

/// Savepoints of one transaction.
const SAVEPOINTS_MAX: usize = 1_000;

/// The transaction of a session, if there is one.
#[derive(Debug, Default)]
pub struct SessionTransaction {
    open: Option<OpenTransaction>,
    /// It keeps the temporary tables, while no transaction is open.
    kept: Option<Handle>,
}

#[derive(Debug)]
struct OpenTransaction {
    handle: Handle,
    /// The client never said BEGIN.
    implicit: bool,
    failed: bool,
    savepoints: Vec<Savepoint>,
}

#[derive(Debug)]
struct Savepoint {
    name: String,
    mark: TransactionSavepoint,
    settings: settings::SettingsSnapshot,
}

impl OpenTransaction {
    fn new(handle: Handle, implicit: bool) -> Self {
        Self { handle, implicit, failed: false, savepoints: Vec::new() }
    }

    /// The place of the savepoint that the name means: the last one of it.
    fn savepoint(&self, name: &str) -> Result<usize, ErrorResponse> {
        self.savepoints.iter().rposition(|savepoint| savepoint.name == name).ok_or_else(|| no_savepoint(name))
    }
}

fn no_savepoint(name: &str) -> ErrorResponse {
    ErrorResponse::new(Code::NotFound, format!("savepoint {name:?} does not exist")).with_state("3B001")
}

impl SessionTransaction {
    pub fn begin(&mut self, pipeline: &Arc<Pipeline>, who: &Who) {
        match &mut self.open {
            // What was meant becomes what was said.
            Some(open) => open.implicit = false,
            None => self.open = Some(OpenTransaction::new(self.next(pipeline, who), false)),
        }
    }

    pub fn begin_implicit(&mut self, pipeline: &Arc<Pipeline>, who: &Who) {
        if self.open.is_none() {
            self.open = Some(OpenTransaction::new(self.next(pipeline, who), true));
        }
    }

    fn next(&mut self, pipeline: &Arc<Pipeline>, who: &Who) -> Handle {
        self.kept.take().unwrap_or_else(|| pipeline.begin_of_connection(who.clone()))
    }

    /// Whether the connection has temporary tables, so that each of its statements belongs in a transaction.
    pub fn has_temporary(&self) -> bool {
        self.kept.is_some()
    }

    /// Drops the temporary tables.
    pub fn discard_temporary(&mut self) {
        self.kept = None;
    }

    pub fn handle(&self) -> Option<Handle> {
        self.open.as_ref().map(|open| Arc::clone(&open.handle))
    }

    /// Is it one that the client opened?
    pub fn is_explicit(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.implicit)
    }

    pub fn is_implicit(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.implicit)
    }

    pub fn has_failed(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.failed)
    }

    /// A statement in it went wrong.
    pub async fn fail(&mut self) {
        if let Some(open) = &mut self.open {
            open.failed = true;
            if !open.savepoints.is_empty() {
                return; // it may go on from there
            }
            let mut inner = open.handle.lock().await;
            // The engine's side ends now, and with it what it holds.
            let _ = inner.rollback().await;
            inner.fail();
        }
    }

    /// The transaction that the client opened, for a command of savepoints.
    fn explicit(&mut self, command: &str) -> Result<&mut OpenTransaction, ErrorResponse> {
        let message = || format!("{command} is only possible inside a transaction");
        let none = || ErrorResponse::new(Code::InvalidParams, message()).with_state("25P01");
        self.open.as_mut().filter(|open| !open.implicit).ok_or_else(none)
    }

    pub async fn savepoint(&mut self, name: &str, settings: settings::SettingsSnapshot) -> Result<(), ErrorResponse> {
        let open = self.explicit("SAVEPOINT")?;
        if open.savepoints.len() >= SAVEPOINTS_MAX {
            let message = format!("a transaction has at most {SAVEPOINTS_MAX} savepoints");
            return Err(ErrorResponse::new(Code::InvalidParams, message).with_state("53400"));
        }
        let mark = open.handle.lock().await.mark().await?;
        open.savepoints.push(Savepoint { name: name.to_owned(), mark, settings });
        Ok(())
    }

    /// Forgets the savepoint and those after it.
    pub fn release(&mut self, name: &str) -> Result<(), ErrorResponse> {
        let open = self.explicit("RELEASE")?;
        let at = open.savepoint(name)?;
        open.savepoints.truncate(at);
        Ok(())
    }

    /// Where it stood at the savepoint, unless it stands there still.
    pub async fn changed_since(&mut self, name: &str) -> Result<Option<TransactionSavepoint>, ErrorResponse> {
        let open = self.explicit("ROLLBACK TO SAVEPOINT")?;
        let at = open.savepoint(name)?;
        let Some(savepoint) = open.savepoints.get(at) else { return Ok(None) };
        let is_there = open.handle.lock().await.is_at(&savepoint.mark);
        Ok((!is_there).then(|| savepoint.mark.clone()))
    }

    /// It stands at the savepoint again, which stays; a statement that failed since is forgotten. The settings of then.
    pub fn went_back(&mut self, name: &str) -> Result<settings::SettingsSnapshot, ErrorResponse> {
        let open = self.explicit("ROLLBACK TO SAVEPOINT")?;
        let at = open.savepoint(name)?;
        open.savepoints.truncate(at + 1);
        open.failed = false;
        open.savepoints.last().map(|savepoint| savepoint.settings.clone()).ok_or_else(|| no_savepoint(name))
    }

    /// Commits, or rolls back if a statement has failed; true if it was committed.
    pub async fn commit(&mut self) -> Result<bool, Error> {
        let Some(OpenTransaction { handle, failed, .. }) = self.open.take() else { return Ok(true) };
        let mut inner = handle.lock().await;
        let ended = if failed { inner.rollback().await } else { inner.commit().await };
        self.kept = inner.has_temporary().then(|| Arc::clone(&handle));
        ended.map(|()| !failed)
    }

    pub async fn rollback(&mut self) -> Result<(), Error> {
        let Some(OpenTransaction { handle, .. }) = self.open.take() else { return Ok(()) };
        let mut inner = handle.lock().await;
        let ended = inner.rollback().await;
        self.kept = inner.has_temporary().then(|| Arc::clone(&handle));
        ended
    }

    /// What `ReadyForQuery` says.
    pub fn standing(&self) -> TransactionStatus {
        match &self.open {
            Some(OpenTransaction { implicit: false, failed: true, .. }) => TransactionStatus::Failed,
            Some(OpenTransaction { implicit: false, failed: false, .. }) => TransactionStatus::InTransaction,
            _ => TransactionStatus::Idle,
        }
    }
}
