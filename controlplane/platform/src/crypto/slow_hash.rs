//! Argon2id, off the async threads and never more at once than there are cores to spare.
//!
//! One check costs about 40 ms of a core. Those that would wait too long are answered 503 instead
//! of piling up: a flood of passwords is no outage.

use std::sync::Arc;

use contract::Entropy;
use contract::key::{self, HashCost};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::task::TaskTracker;

use crate::{Error, Result};

/// Checks that may wait for one that runs.
const WAITING_PER_PERMIT: usize = 32;

#[derive(Debug, Clone)]
pub struct SlowHash {
    running: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
    cost: HashCost,
    tasks: TaskTracker,
}

impl SlowHash {
    pub fn new(cores: usize, cost: HashCost, tasks: TaskTracker) -> Self {
        let permits = cores.saturating_sub(1).max(1);
        Self {
            running: Arc::new(Semaphore::new(permits)),
            admitted: Arc::new(Semaphore::new(permits.saturating_mul(WAITING_PER_PERMIT))),
            cost,
            tasks,
        }
    }

    /// What a hash that is made here costs.
    pub fn cost(&self) -> HashCost {
        self.cost
    }

    pub async fn hash(&self, secret: String, entropy: Entropy) -> Result<String> {
        let cost = self.cost;
        self.run(move || key::hash(&secret, cost, &entropy)).await?.map_err(Error::internal)
    }

    /// Does the secret fit the PHC string?
    pub async fn verify(&self, secret: String, phc: String) -> Result<bool> {
        self.run(move || key::verify(&secret, &phc)).await
    }

    /// Any other work of this cost, such as minting a key.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let _place = self.admitted.try_acquire().map_err(|_| Error::Unavailable("too many credentials at once"))?;
        let _permit: SemaphorePermit<'_> = self.running.acquire().await.map_err(Error::internal)?;
        self.tasks.spawn_blocking(work).await.map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn more_than_can_wait_are_turned_away() {
        let slow = SlowHash::new(1, HashCost::OWASP, TaskTracker::new());
        let held = slow.running.acquire().await.unwrap();
        let waiting: Vec<_> = (0..WAITING_PER_PERMIT).map(|_| slow.admitted.try_acquire().unwrap()).collect();
        assert_eq!(slow.run(|| ()).await.unwrap_err().code(), contract::Code::ServiceUnavailable);
        drop((held, waiting));
        assert!(slow.run(|| true).await.unwrap());
    }
}
