//! How a data plane ends, in steps, so that nobody is cut off who was not told.
//!
//! 1. **leaving**: `/ready` says no; everything is still served, because whoever routes to us learns
//!    of it late. This lasts the grace, or less: where a successor waits for the folder, until
//!    connections have stopped coming.
//! 2. **draining**: a session ends between two statements; nothing new begins; what runs, runs on.
//! 3. **closed**: what still runs when the time is over is cancelled.
//! 4. **gone**: the data is let go; last words have had their time.

use std::future::Future;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// What cancelled statements have to come to an end.
const CUT_WITHIN: Duration = Duration::from_secs(5);
/// What last words have to arrive.
const FAREWELL_WITHIN: Duration = Duration::from_secs(2);
/// No connection for this part of the grace: nobody is sent here any more.
const QUIET_PART: u32 = 3;

/// The steps, shared by everything that serves.
#[derive(Debug, Clone)]
pub struct Ending {
    pub leaving: CancellationToken,
    pub draining: CancellationToken,
    pub closed: CancellationToken,
    gone: CancellationToken,
    serving: TaskTracker,
    connections: TaskTracker,
    newcomers: watch::Sender<u64>,
}

impl Ending {
    /// Begins when `leaving` is cancelled.
    pub fn new(leaving: CancellationToken) -> Self {
        let (serving, connections) = (TaskTracker::new(), TaskTracker::new());
        serving.close();
        connections.close();
        Self {
            leaving,
            draining: CancellationToken::new(),
            closed: CancellationToken::new(),
            gone: CancellationToken::new(),
            serving,
            connections,
            newcomers: watch::Sender::new(0),
        }
    }

    /// Held by a session or a request: the drain waits until it is dropped.
    pub fn serving(&self) -> TaskTrackerToken {
        self.serving.token()
    }

    /// For work that goes on without whoever waited for it: the drain waits for that too.
    pub fn tasks(&self) -> TaskTracker {
        self.serving.clone()
    }

    /// A connection's task: ends with the process, however slow its peer is.
    pub fn spawn(&self, connection: impl Future<Output = ()> + Send + 'static) {
        let gone = self.gone.clone();
        self.connections.spawn(async move {
            gone.run_until_cancelled(connection).await;
        });
    }

    /// Somebody was sent here.
    pub fn newcomer(&self) {
        self.newcomers.send_modify(|count| *count += 1);
    }

    /// Waits through the steps up to `closed`; `wanted` says whether a successor waits.
    pub async fn drain(&self, grace: Duration, drain: Duration, wanted: impl Fn() -> bool) {
        self.leaving.cancelled().await;
        self.grace(grace, wanted).await;
        self.draining.cancel();
        if timeout(drain, self.serving.wait()).await.is_err() {
            tracing::warn!("statements still ran when the time to stop was over");
        }
        self.closed.cancel();
        // Also for what had begun between the last look and the closing.
        if timeout(CUT_WITHIN, self.serving.wait()).await.is_err() {
            tracing::warn!("a cancelled statement did not end");
        }
    }

    /// The data is let go: waits for last words, then ends what is left.
    pub async fn farewell(&self) {
        let _ = timeout(FAREWELL_WITHIN, self.connections.wait()).await;
        self.gone.cancel();
        self.connections.wait().await;
    }

    async fn grace(&self, grace: Duration, wanted: impl Fn() -> bool) {
        let mut newcomers = self.newcomers.subscribe();
        let end = Instant::now() + grace;
        loop {
            tokio::select! {
                biased; // who has come counts, however late this is looked at
                // The sender is ours: it does not go away.
                _ = newcomers.changed() => continue,
                () = sleep_until(end.min(Instant::now() + grace / QUIET_PART)) => {}
            }
            if Instant::now() >= end || wanted() {
                return;
            }
        }
    }
}

impl Default for Ending {
    /// One that nothing begins.
    fn default() -> Self {
        Self::new(CancellationToken::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_grace_is_short_where_a_successor_waits_and_nobody_comes() {
        let (wanted, left_alone) = (Ending::default(), Ending::default());
        // In this order, and by other times: on a busy machine both may be over when they are looked at.
        let first = tokio::select! {
            biased;
            () = wanted.grace(Duration::from_millis(1_500), || true) => "wanted",
            () = left_alone.grace(Duration::from_secs(1), || false) => "left alone",
        };
        assert_eq!(first, "wanted");
    }

    #[tokio::test]
    async fn the_grace_goes_on_while_somebody_comes() {
        let (visited, quiet) = (Ending::default(), Ending::default());
        let visits = async {
            let mut every = tokio::time::interval(Duration::from_millis(20));
            loop {
                every.tick().await;
                visited.newcomer();
            }
        };
        let first = tokio::select! {
            biased;
            () = visits => "never",
            () = quiet.grace(Duration::from_millis(1_500), || true) => "quiet",
            () = visited.grace(Duration::from_secs(1), || true) => "visited",
        };
        assert_eq!(first, "quiet");
    }

    #[tokio::test]
    async fn what_serves_is_waited_for_and_then_cut() {
        let ending = Ending::default();
        let (serving, closed) = (ending.serving(), ending.closed.clone());
        ending.spawn(async move {
            closed.cancelled().await;
            drop(serving);
        });
        ending.leaving.cancel();
        ending.drain(Duration::ZERO, Duration::from_millis(1), || false).await;
        assert!(ending.serving.is_empty());
        ending.farewell().await;
    }

    #[tokio::test]
    async fn a_connection_that_never_ends_is_dropped() {
        let ending = Ending::default();
        let (held, mut dropped) = tokio::sync::oneshot::channel::<()>();
        ending.spawn(async move {
            let _held = held;
            std::future::pending::<()>().await;
        });
        ending.farewell().await;
        assert_eq!(dropped.try_recv(), Err(tokio::sync::oneshot::error::TryRecvError::Closed));
    }
}
