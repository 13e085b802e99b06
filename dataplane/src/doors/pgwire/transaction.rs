//! BEGIN … COMMIT, and the transaction that a client means without saying so: the statements of one
//! simple query, or of one pipeline up to its `Sync`, stand and fall together.

use std::sync::Arc;

use contract::wire::Who;
use tokio::sync::Mutex;

use super::reply::Standing;
use crate::pipeline::transaction::ClientTransaction;
use crate::{Error, Pipeline};

type Handle = Arc<Mutex<ClientTransaction>>;

/// The transaction of a session, if there is one.
#[derive(Debug, Default)]
pub struct Transaction {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    handle: Handle,
    /// The client never said BEGIN.
    implicit: bool,
    failed: bool,
}

impl Transaction {
    pub fn begin(&mut self, pipeline: &Arc<Pipeline>, who: &Who) {
        match &mut self.open {
            // What was meant becomes what was said.
            Some(open) => open.implicit = false,
            None => self.open = Some(Open { handle: pipeline.begin(who.clone()), implicit: false, failed: false }),
        }
    }

    pub fn begin_implicit(&mut self, pipeline: &Arc<Pipeline>, who: &Who) {
        if self.open.is_none() {
            self.open = Some(Open { handle: pipeline.begin(who.clone()), implicit: true, failed: false });
        }
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
            let mut inner = open.handle.lock().await;
            // The engine's side ends now, and with it what it holds.
            let _ = inner.rollback().await;
            inner.fail();
        }
    }

    /// Commits, or rolls back if a statement has failed; true if it was committed.
    pub async fn commit(&mut self) -> Result<bool, Error> {
        match self.open.take() {
            None => Ok(true),
            Some(open) if open.failed => Ok(false),
            Some(open) => open.handle.lock().await.commit().await.map(|()| true),
        }
    }

    pub async fn rollback(&mut self) -> Result<(), Error> {
        match self.open.take() {
            Some(open) if !open.failed => open.handle.lock().await.rollback().await,
            _ => Ok(()),
        }
    }

    /// What `ReadyForQuery` says.
    pub fn standing(&self) -> Standing {
        match &self.open {
            Some(Open { implicit: false, failed: true, .. }) => Standing::Failed,
            Some(Open { implicit: false, failed: false, .. }) => Standing::InTransaction,
            _ => Standing::Idle,
        }
    }
}
