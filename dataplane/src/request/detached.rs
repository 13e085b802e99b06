//! Work that does not end because nobody waits for it any more.

use std::future::Future;
use std::panic::resume_unwind;

use tokio_util::task::TaskTracker;

use crate::Error;

/// Waits for the work; it goes on to its end if that wait is given up.
pub async fn to_its_end<T: Send + 'static>(
    tasks: &TaskTracker,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    match tasks.spawn(work).await {
        Ok(done) => done,
        Err(broken) => match broken.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(Error::ShuttingDown),
        },
    }
}
