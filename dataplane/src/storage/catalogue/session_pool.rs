//! Databases that wait for the next question of a caller who sees the same.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use engine::Session;

use super::CatalogueContent;

/// Databases kept; the one that waited longest goes first.
pub const KEPT_MAX: usize = 24;

#[derive(Default)]
pub struct SessionPool(Mutex<VecDeque<(CatalogueContent, Session)>>);

impl SessionPool {
    /// One that holds exactly this: what a caller may see is compared whole, so nobody is given another's.
    pub fn take(&self, seen: &CatalogueContent) -> Option<Session> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().rposition(|(held, _)| held == seen)?;
        kept.remove(at).map(|(_, session)| session)
    }

    pub fn put(&self, seen: &CatalogueContent, session: Session) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((seen.clone(), session));
        if kept.len() > KEPT_MAX {
            kept.pop_front();
        }
    }

    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
