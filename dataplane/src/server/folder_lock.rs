//! Whose the state folder is: one process at a time, also while one data plane takes over from
//! another.
//!
//! Everything on the volume (the log of queries, the last snapshot, the engine's file) is opened
//! after the lock was taken and let go before it is released. The kernel releases the lock of a
//! process that dies, however it dies. A successor that waits holds a second lock, by which the owner
//! knows that it is waited for.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::governance::disk::private_folder;

/// Opening the engine takes longer than this.
const POLL: Duration = Duration::from_millis(5);
/// After a file system that cannot tell.
const POLL_FAILED: Duration = Duration::from_secs(1);

/// A claim on a state folder.
#[derive(Debug)]
pub struct Claim {
    owner: File,
    successor: File,
    ours: AtomicBool,
}

impl Claim {
    /// Opens the two lock files, and nothing else.
    pub fn new(state: &Path) -> io::Result<Self> {
        private_folder(state)?;
        let open =
            |name| OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(state.join(name));
        Ok(Self { owner: open("owner.lock")?, successor: open("successor.lock")?, ours: AtomicBool::new(false) })
    }

    /// Takes the folder, if nobody has it.
    pub fn try_take(&self) -> io::Result<bool> {
        let ours = lock(&self.owner)?;
        self.ours.store(ours, Ordering::Release);
        Ok(ours)
    }

    /// Waits until the folder is ours.
    pub async fn take(&self) {
        let mut announced = false;
        loop {
            announced = announced || lock(&self.successor).unwrap_or(false);
            match self.try_take() {
                Ok(true) => break,
                Ok(false) => tokio::time::sleep(POLL).await,
                Err(error) => {
                    tracing::error!(%error, "whose the state folder is cannot be told");
                    tokio::time::sleep(POLL_FAILED).await;
                }
            }
        }
        if announced {
            release(&self.successor);
        }
    }

    /// Is the folder ours, and does somebody wait for it?
    pub fn wanted(&self) -> bool {
        if !self.ours.load(Ordering::Acquire) {
            return false;
        }
        match lock(&self.successor) {
            Ok(true) => {
                release(&self.successor);
                false
            }
            Ok(false) => true,
            Err(_) => false,
        }
    }

    /// Lets the folder go; everything in it is closed.
    pub fn release(&self) {
        if self.ours.swap(false, Ordering::AcqRel) {
            release(&self.owner);
        }
    }
}

fn lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn release(file: &File) {
    if let Err(error) = file.unlock() {
        tracing::error!(%error, "a lock could not be released");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_owns_and_the_next_takes_over_at_release() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = [0; 2].map(|_| Claim::new(folder.path()).unwrap());
        assert!(first.try_take().unwrap());
        assert!(!second.try_take().unwrap());
        assert!(!first.wanted());
        let releasing = async {
            while !first.wanted() {
                tokio::task::yield_now().await;
            }
            first.release();
        };
        tokio::join!(second.take(), releasing);
        assert!(!first.try_take().unwrap());
        assert!(!second.wanted());
    }

    #[test]
    fn an_owner_that_is_gone_owns_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let first = Claim::new(folder.path()).unwrap();
        assert!(first.try_take().unwrap());
        drop(first);
        assert!(Claim::new(folder.path()).unwrap().try_take().unwrap());
    }
}
