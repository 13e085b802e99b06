//! Which session runs which statement, so that a cancel ends that one and never the next.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ffi::Interrupter;

#[derive(Default)]
pub struct Sessions(Mutex<HashMap<u64, Arc<Running>>>);

/// A session's current statement; 0 between two.
pub struct Running {
    statement: Mutex<Current>,
    interrupter: Arc<Interrupter>,
}

#[derive(Default)]
struct Current {
    statement: u64,
    interrupted: bool,
}

impl Sessions {
    pub fn enter(&self, session: u64, interrupter: Arc<Interrupter>) -> Arc<Running> {
        let running = Arc::new(Running { statement: Mutex::default(), interrupter });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(session, Arc::clone(&running));
        running
    }

    pub fn leave(&self, session: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
    }

    pub fn interrupt(&self, session: u64, statement: u64) {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&session).cloned();
        if let Some(running) = running {
            running.interrupt(statement);
        }
    }
}

impl Running {
    pub fn begin(&self, statement: u64) {
        *self.statement.lock().unwrap_or_else(PoisonError::into_inner) = Current { statement, interrupted: false };
    }

    pub fn end(&self) {
        *self.statement.lock().unwrap_or_else(PoisonError::into_inner) = Current::default();
    }

    /// The engine forgets an interrupt when it starts a statement: one that came while it was being
    /// prepared is seen here, one that comes at that very moment is repeated by the parent.
    pub fn interrupted(&self) -> bool {
        self.statement.lock().unwrap_or_else(PoisonError::into_inner).interrupted
    }

    fn interrupt(&self, statement: u64) {
        let mut current = self.statement.lock().unwrap_or_else(PoisonError::into_inner);
        if current.statement == statement {
            current.interrupted = true;
            self.interrupter.interrupt();
        }
    }
}
