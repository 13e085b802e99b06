//! Handles between two calls: statements that wait for their tickets, prepared statements, transactions.
//!
//! A handle is 32 random bytes and good for its caller alone. Everything here has an end of its own: a client that
//! went away leaves nothing behind.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use contract::Entropy;
use contract::wire::Who;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::pipeline::transaction::ClientTransaction;

/// "Tickets are good for 5 minutes."
const TICKET_FOR: Duration = Duration::from_mins(5);
const PREPARED_FOR: Duration = Duration::from_hours(1);
/// Longer than any statement may run.
const TRANSACTION_FOR: Duration = Duration::from_mins(10);
const TICKETS_MAX: usize = 256;
const PREPARED_MAX: usize = 256;
const TRANSACTIONS_MAX: usize = 16;
/// Statements and values that one caller may leave here.
const BYTES_MAX: usize = 32 << 20;

/// A transaction that a client holds open.
pub type FlightTransaction = Arc<tokio::sync::Mutex<ClientTransaction>>;

/// A statement with the values of its parameters.
#[derive(Debug, Clone)]
pub struct FlightStatement {
    pub sql: String,
    pub params: Vec<engine::Value>,
    pub transaction: Option<FlightTransaction>,
}

/// A statement whose ticket was given out. It is run once.
#[derive(Debug)]
pub struct Ticketed {
    pub statement: FlightStatement,
    pub cancel: CancellationToken,
    pub redeemed: AtomicBool,
}

/// A statement to run again and again, with the values that were bound last.
#[derive(Debug, Clone)]
pub struct FlightPreparedStatement {
    pub sql: String,
    pub transaction: Option<Bytes>,
    /// What it answers with, where that does not depend on its values.
    pub schema: Option<SchemaRef>,
    pub takes: usize,
    /// Rows of them.
    pub bound: Vec<Vec<engine::Value>>,
}

#[derive(Debug, Clone)]
pub struct FlightHandles {
    pub tickets: HandleMap<Arc<Ticketed>>,
    pub prepared: HandleMap<FlightPreparedStatement>,
    pub transactions: HandleMap<FlightTransaction>,
    /// Signs the bearers of handshakes; they end with the process.
    pub signing: [u8; 32],
}

impl FlightHandles {
    pub fn new(entropy: &Entropy) -> Self {
        Self {
            tickets: HandleMap::new("ticket", TICKET_FOR, TICKETS_MAX, entropy),
            prepared: HandleMap::new("prepared statement", PREPARED_FOR, PREPARED_MAX, entropy),
            transactions: HandleMap::new("transaction", TRANSACTION_FOR, TRANSACTIONS_MAX, entropy),
            signing: entropy.bytes(),
        }
    }
}

/// Things by their handles, each until it has lain unused for some time.
#[derive(Debug, Clone)]
pub struct HandleMap<T> {
    what: &'static str,
    lasts: Duration,
    each_max: usize,
    entropy: Entropy,
    kept: Arc<Mutex<HashMap<Bytes, HandleEntry<T>>>>,
}

#[derive(Debug)]
struct HandleEntry<T> {
    who: Who,
    value: T,
    bytes: usize,
    until: Instant,
}

impl<T: Clone> HandleMap<T> {
    fn new(what: &'static str, lasts: Duration, each_max: usize, entropy: &Entropy) -> Self {
        Self { what, lasts, each_max, entropy: entropy.clone(), kept: Arc::default() }
    }

    /// Keeps it for its caller; `bytes` is about what it takes.
    pub fn put(&self, who: &Who, value: T, bytes: usize) -> Result<Bytes, Error> {
        let now = Instant::now();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, one| one.until > now);
        let (mut count, mut held) = (0, bytes);
        for one in kept.values().filter(|one| one.who == *who) {
            count += 1;
            held += one.bytes;
        }
        if count >= self.each_max || held > BYTES_MAX {
            return Err(Error::TooManyOpen { what: self.what });
        }
        let handle = Bytes::copy_from_slice(&self.entropy.bytes::<32>());
        kept.insert(handle.clone(), HandleEntry { who: who.clone(), value, bytes, until: now + self.lasts });
        Ok(handle)
    }

    /// What is kept for this caller, for as long again.
    pub fn get(&self, who: &Who, handle: &Bytes) -> Result<T, Error> {
        self.change(who, handle, |value| value.clone())
    }

    pub fn change<R>(&self, who: &Who, handle: &Bytes, change: impl FnOnce(&mut T) -> R) -> Result<R, Error> {
        let now = Instant::now();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get_mut(handle).filter(|one| one.who == *who && one.until > now);
        let one = found.ok_or(Error::HandleNotFound { what: self.what })?;
        one.until = now + self.lasts;
        Ok(change(&mut one.value))
    }

    pub fn take(&self, who: &Who, handle: &Bytes) -> Result<T, Error> {
        let value = self.get(who, handle)?;
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).remove(handle);
        Ok(value)
    }

    /// Waits until it has been unused for too long, or is gone, and lets it go.
    pub async fn outlive(&self, handle: &Bytes) {
        while let Some(until) = self.until(handle) {
            if until <= Instant::now() {
                self.kept.lock().unwrap_or_else(PoisonError::into_inner).remove(handle);
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }

    fn until(&self, handle: &Bytes) -> Option<Instant> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(handle).map(|one| one.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(name: &str) -> Who {
        Who::Key { key_id: name.into() }
    }

    #[test]
    fn a_handle_is_its_callers_alone() {
        let handles = HandleMap::new("thing", TICKET_FOR, 2, &Entropy::seeded(1));
        let handle = handles.put(&who("ada"), 7, 1).unwrap();
        assert_eq!(handles.get(&who("ada"), &handle).unwrap(), 7);
        assert!(handles.get(&who("bob"), &handle).is_err());
        assert!(handles.take(&who("bob"), &handle).is_err());
        assert_eq!(handles.take(&who("ada"), &handle).unwrap(), 7);
        assert!(handles.get(&who("ada"), &handle).is_err());
    }

    #[tokio::test]
    async fn what_lies_unused_for_its_time_is_gone() {
        let handles = HandleMap::new("thing", Duration::ZERO, 2, &Entropy::seeded(1));
        let handle = handles.put(&who("ada"), 7, 1).unwrap();
        assert!(handles.get(&who("ada"), &handle).is_err());
        handles.outlive(&handle).await;
        assert!(handles.kept.lock().unwrap().is_empty());
    }

    #[test]
    fn nobody_can_leave_more_than_a_bound() {
        let handles = HandleMap::new("thing", TICKET_FOR, 2, &Entropy::seeded(1));
        assert!(handles.put(&who("ada"), 0, BYTES_MAX + 1).is_err());
        let first = handles.put(&who("ada"), 1, 1).unwrap();
        handles.put(&who("ada"), 2, 1).unwrap();
        assert!(handles.put(&who("ada"), 3, 1).is_err());
        assert!(handles.put(&who("bob"), 3, 1).is_ok());
        handles.take(&who("ada"), &first).unwrap();
        assert!(handles.put(&who("ada"), 3, 1).is_ok());
    }
}
