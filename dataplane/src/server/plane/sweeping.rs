//! Sweeps that end what has expired.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use crate::Pipeline;
use crate::agents::branches::Branches;
use crate::storage::system_tables::ReadTarget;

const EVERY: Duration = Duration::from_mins(1);
const WITHIN: Duration = Duration::from_secs(30);

/// Ends branches and forgets keys and plans whose time is over, and files of stages that are gone, until nothing begins
/// any more.
pub(super) async fn rounds(pipeline: Arc<Pipeline>, branches: Branches) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while pipeline.closed.run_until_cancelled(ticks.tick()).await.is_some() {
        pipeline.sweep_plans();
        let Some(engine) = pipeline.engine.borrow().clone() else { continue };
        let place = ReadTarget { engine: &engine, deadline: Instant::now() + WITHIN };
        if let Err(error) = branches.sweep(place, pipeline.clock.now()).await {
            tracing::warn!(%error, "branches whose time is over could not be ended");
        }
        if let Err(error) = pipeline.forget_keys(place).await {
            tracing::warn!(%error, "keys whose time is over could not be forgotten");
        }
        if let Err(error) = pipeline.sweep_stage_files().await {
            tracing::warn!(%error, "the files of stages that are gone could not be removed");
        }
    }
}
