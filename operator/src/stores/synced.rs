//! The watches whose first list is not complete yet.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The watches whose first list is awaited.
#[derive(Debug)]
pub struct Synced {
    waiting: Mutex<BTreeSet<String>>,
    left: tokio::sync::watch::Sender<usize>,
}

impl Default for Synced {
    fn default() -> Self {
        Self { waiting: Mutex::default(), left: tokio::sync::watch::Sender::new(0) }
    }
}

impl Synced {
    fn change(&self, change: impl FnOnce(&mut BTreeSet<String>)) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut waiting);
        self.left.send_replace(waiting.len());
    }

    pub(super) fn expect(&self, name: &str) {
        self.change(|waiting| {
            waiting.insert(name.to_owned());
        });
    }

    pub(super) fn done(&self, name: &str) {
        self.change(|waiting| {
            waiting.remove(name);
        });
    }

    /// Empty: complete.
    pub fn missing(&self) -> Vec<String> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    pub async fn wait(&self) {
        let mut left = self.left.subscribe();
        // the sender is ours: it cannot be gone
        let _ = left.wait_for(|left| *left == 0).await;
    }
}
