//! Whoever runs what is due, a lane each.

use std::panic::AssertUnwindSafe;
use std::time::Duration as Wait;

use futures::FutureExt;

use super::kind::JobKind;
use super::lane::Lane;
use super::queue::{Picked, finish, pick, retry};
use crate::database::notifications::{hear, listen};
use crate::{App, Error, Result};

/// How long a job may take; less than the lock, so that it never runs twice at once.
const PATIENCE: Wait = Wait::from_mins(4);

/// Works in a lane until shutdown.
pub async fn work(app: App, kinds: &'static [JobKind], lane: Lane) {
    let mut listener = None;
    while !app.shutdown().is_cancelled() {
        match run_lane(&app, kinds, lane).await {
            Ok(_) => {}
            Err(error) => tracing::warn!(error = %error, "the job queue cannot be read"),
        }
        if listener.is_none() {
            listener = listen(app.pool(), "jobs").await;
        }
        tokio::select! {
            () = app.shutdown().cancelled() => break,
            () = tokio::time::sleep(lane.poll()) => {}
            heard = hear(listener.as_mut()) => if heard.is_err() { listener = None },
        }
    }
}

/// Runs every job of a lane that is due now, one after another, and says how many there were.
pub async fn run_lane(app: &App, kinds: &'static [JobKind], lane: Lane) -> Result<usize> {
    let mut count = 0;
    while let Some(picked) = pick(app, kinds, lane).await? {
        count += 1;
        match run(app, &picked).await {
            Ok(()) => finish(app, &picked).await?,
            Err(error) => retry(app, &picked, &error).await?,
        }
        if app.shutdown().is_cancelled() {
            break;
        }
    }
    Ok(count)
}

/// A job that takes too long or panics has failed; the worker goes on.
async fn run(app: &App, picked: &Picked) -> Result<()> {
    let bounded = tokio::time::timeout(PATIENCE, (picked.kind.run)(app, &picked.payload));
    match AssertUnwindSafe(bounded).catch_unwind().await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(Error::Unavailable("the job took too long")),
        Err(_) => Err(Error::Panicked),
    }
}
