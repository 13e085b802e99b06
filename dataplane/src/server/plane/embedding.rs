//! Vectors for memories that were stored while no model answered, or by another embedder.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::Pipeline;
use crate::agents::memory::{Memories, Progress};

const EVERY: Duration = Duration::from_secs(10);

/// Catches up, until nothing begins any more. With the built-in embedder nothing is ever left over again.
pub(super) async fn catch_up(pipeline: Arc<Pipeline>, memories: Memories) {
    let closed = pipeline.closed.clone();
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while closed.run_until_cancelled(ticks.tick()).await.is_some() {
        match closed.run_until_cancelled(memories.catch_up(&pipeline)).await {
            None => return,
            Some(Ok(Progress::Done)) if !memories.embedder().may_be_away() => return,
            Some(Ok(_)) => {}
            Some(Err(error)) => tracing::warn!(%error, "memories could not be given their vectors"),
        }
    }
}
