//! Which session runs which statement, so that a cancel ends that one and never the next.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::kept_statements::Keeping;
use crate::ffi::Interrupter;

pub struct Sessions {
    known: Mutex<HashMap<u64, Arc<Running>>>,
    busy: Arc<Busy>,
    /// Of the statements that each keeps.
    pub keeping: Keeping,
}

/// How many statements run, and have begun.
#[derive(Default)]
pub struct Busy {
    running: AtomicUsize,
    begun: AtomicU64,
}

/// A session's current statement; 0 between two.
pub struct Running {
    statement: Mutex<Current>,
    interrupter: Arc<Interrupter>,
    busy: Arc<Busy>,
}

#[derive(Default)]
struct Current {
    statement: u64,
    interrupted: bool,
}

impl Sessions {
    pub fn new(keeping: Keeping) -> Self {
        Self { known: Mutex::default(), busy: Arc::default(), keeping }
    }

    pub fn enter(&self, session: u64, interrupter: Arc<Interrupter>) -> Arc<Running> {
        let busy = Arc::clone(&self.busy);
        let running = Arc::new(Running { statement: Mutex::default(), interrupter, busy });
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(session, Arc::clone(&running));
        running
    }

    pub fn leave(&self, session: u64) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
    }

    pub fn interrupt(&self, session: u64, statement: u64) {
        let running = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&session).cloned();
        if let Some(running) = running {
            running.interrupt(statement);
        }
    }

    pub fn busy(&self) -> Arc<Busy> {
        Arc::clone(&self.busy)
    }
}

impl Busy {
    pub fn is_any(&self) -> bool {
        self.running.load(Ordering::SeqCst) > 0
    }

    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }
}

impl Running {
    pub fn begin(&self, statement: u64) {
        *self.statement.lock().unwrap_or_else(PoisonError::into_inner) = Current { statement, interrupted: false };
        self.busy.running.fetch_add(1, Ordering::SeqCst);
        self.busy.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// Its statement is over: what it does until its end is nobody's to interrupt.
    pub fn over(&self) {
        *self.statement.lock().unwrap_or_else(PoisonError::into_inner) = Current::default();
    }

    pub fn end(&self) {
        self.over();
        self.busy.running.fetch_sub(1, Ordering::SeqCst);
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
