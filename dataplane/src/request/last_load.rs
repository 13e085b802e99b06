//! The last COPY INTO of a session, which VALIDATE asks for as `_last`.

use std::sync::{Arc, Mutex, PoisonError};

use crate::storage::load_history::KeptLoad;

/// A load that a session has begun, whatever became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BegunLoad {
    /// Without its files.
    pub kept: KeptLoad,
    /// The first record that fails ends it: no record is then told of it.
    pub aborts: bool,
}

/// Where a session keeps its last load; none where each request is a session.
#[derive(Debug, Clone, Default)]
pub struct LastLoad(Option<Arc<Mutex<Option<BegunLoad>>>>);

impl LastLoad {
    /// Of a session that outlasts its statements.
    pub fn of_session() -> Self {
        Self(Some(Arc::default()))
    }

    /// Whether there is a session that keeps it.
    pub fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    pub fn get(&self) -> Option<BegunLoad> {
        self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set(&self, load: BegunLoad) {
        if let Some(last) = &self.0 {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(load);
        }
    }
}

impl PartialEq for LastLoad {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(same)) => Arc::ptr_eq(one, same),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Eq for LastLoad {}
