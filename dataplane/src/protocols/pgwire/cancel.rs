//! Cancel requests: a second connection names the first by the numbers it was given at login.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use contract::Entropy;
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

/// The connections that can be named.
#[derive(Debug, Default)]
pub struct Cancels(Mutex<HashMap<u32, Arc<CancelEntry>>>);

#[derive(Debug)]
struct CancelEntry {
    secret: [u8; 4],
    /// Of the statement that runs now.
    running: Mutex<CancellationToken>,
}

/// A connection's entry, removed when it ends.
#[derive(Debug)]
pub struct Cancellable {
    all: Arc<Cancels>,
    pub process: u32,
    slot: Arc<CancelEntry>,
}

impl Cancels {
    pub fn register(self: &Arc<Self>, entropy: &Entropy) -> Cancellable {
        let slot = Arc::new(CancelEntry { secret: entropy.bytes(), running: Mutex::default() });
        let mut connections = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let process = loop {
            // Positive, as a process id is.
            let process = u32::from_be_bytes(entropy.bytes()) >> 1;
            if process > 0 && !connections.contains_key(&process) {
                break process;
            }
        };
        connections.insert(process, Arc::clone(&slot));
        Cancellable { all: Arc::clone(self), process, slot }
    }

    /// Cancels what that connection runs; a wrong secret does nothing and tells nothing.
    pub fn cancel(&self, process: u32, secret: &[u8]) {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&process).cloned();
        if let Some(slot) = slot
            && bool::from(slot.secret.as_slice().ct_eq(secret))
        {
            slot.running.lock().unwrap_or_else(PoisonError::into_inner).cancel();
        }
    }
}

impl Cancellable {
    pub fn secret(&self) -> [u8; 4] {
        self.slot.secret
    }

    /// A fresh token for the next statement: an earlier request does not hit it.
    pub fn next(&self) -> CancellationToken {
        let token = CancellationToken::new();
        *self.slot.running.lock().unwrap_or_else(PoisonError::into_inner) = token.clone();
        token
    }
}

impl Drop for Cancellable {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_secret_cancels_and_only_what_runs() {
        let all = Arc::new(Cancels::default());
        let connection = all.register(&Entropy::seeded(1));
        let first = connection.next();
        all.cancel(connection.process, b"nope");
        all.cancel(connection.process + 1, &connection.secret());
        assert!(!first.is_cancelled());
        all.cancel(connection.process, &connection.secret());
        assert!(first.is_cancelled() && !connection.next().is_cancelled());
        drop(connection);
        assert!(all.0.lock().unwrap().is_empty());
    }
}
