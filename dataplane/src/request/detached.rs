//! Work that does not end because nobody waits for it any more.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::Error;

/// Whether the wait for some work is given up.
#[derive(Debug, Clone, Default)]
pub struct GivenUp(Arc<AtomicBool>);

impl GivenUp {
    /// The work may ask when it is polled, and is polled when this has become so.
    pub fn is_so(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Waits for the work; it goes on to its end if that wait is given up.
///
/// Until then it is a part of the task that waits. A task of its own would be woken on another thread, and wake the one
/// that waits when it is done, for each statement.
pub fn to_its_end<T: Send + 'static>(
    tasks: &TaskTracker,
    given_up: GivenUp,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> impl Future<Output = Result<T, Error>> + Send {
    Awaited { work: Some(work.boxed()), given_up, tasks: tasks.clone(), _counted: tasks.token() }
}

/// Work whose wait may be given up.
struct Awaited<T: Send + 'static> {
    /// None once it is done, or has panicked.
    work: Option<BoxFuture<'static, Result<T, Error>>>,
    given_up: GivenUp,
    tasks: TaskTracker,
    /// A stop waits for it, as for a task.
    _counted: TaskTrackerToken,
}

impl<T: Send + 'static> Future for Awaited<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(mut work) = self.work.take() else { return Poll::Ready(Err(Error::ShuttingDown)) };
        let polled = work.poll_unpin(context);
        if polled.is_pending() {
            self.work = Some(work);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Awaited<T> {
    /// Where the runtime is gone, so is the work, as every task is.
    fn drop(&mut self) {
        self.given_up.0.store(true, Ordering::Release);
        if let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) {
            self.tasks.spawn_on(work, &runtime);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn what_nobody_waits_for_any_more_goes_on_to_its_end() {
        let tasks = TaskTracker::new();
        let (go_on, told) = oneshot::channel::<()>();
        let (end, ended) = oneshot::channel();
        let given_up = GivenUp::default();
        let is_given_up = given_up.clone();
        let work = async move {
            let _told = told.await;
            let _heard = end.send((7, is_given_up.is_so()));
            Ok(())
        };
        let mut waited = Box::pin(to_its_end(&tasks, given_up.clone(), work));
        assert!(futures::poll!(&mut waited).is_pending() && !given_up.is_so());
        drop(waited);
        assert_eq!(tasks.len(), 1, "a stop waits for it");
        go_on.send(()).unwrap();
        assert_eq!(ended.await, Ok((7, true)));
        tasks.close();
        tasks.wait().await;
    }

    #[tokio::test]
    async fn a_stop_waits_for_what_somebody_waits_for() {
        let tasks = TaskTracker::new();
        let waited = to_its_end(&tasks, GivenUp::default(), async { Ok(7) });
        assert_eq!(tasks.len(), 1);
        assert_eq!(waited.await.ok(), Some(7));
        assert!(tasks.is_empty());
    }
}
