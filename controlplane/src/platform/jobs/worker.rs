//! Whoever runs what is due, a lane each.

use std::panic::AssertUnwindSafe;
use std::time::Duration as Wait;

use futures::FutureExt;
use sqlx::postgres::PgListener;

use super::queue::{finish, pick, retry};
use crate::server::jobs::{Job, Lane};
use crate::{App, Error, Result};

/// How long a job may take; less than the lock, so that it never runs twice at once.
const PATIENCE: Wait = Wait::from_mins(4);

/// Works in a lane until shutdown.
pub async fn work(app: App, lane: Lane) {
    let mut listener = None;
    while !app.shutdown().is_cancelled() {
        match run_lane(&app, lane).await {
            Ok(_) => {}
            Err(error) => tracing::warn!(error = %error, "the job queue cannot be read"),
        }
        if listener.is_none() {
            listener = listen(&app, "jobs").await;
        }
        tokio::select! {
            () = app.shutdown().cancelled() => break,
            () = tokio::time::sleep(lane.poll()) => {}
            heard = hear(listener.as_mut()) => if heard.is_err() { listener = None },
        }
    }
}

/// Hears what is said on a channel; none where there is no connection for it.
pub(crate) async fn listen(app: &App, channel: &str) -> Option<PgListener> {
    let mut listener = PgListener::connect_with(app.pool()).await.ok()?;
    listener.listen(channel).await.ok()?;
    Some(listener)
}

/// Waits for the next word, for ever if nobody listens.
pub(crate) async fn hear(listener: Option<&mut PgListener>) -> Result<(), sqlx::Error> {
    match listener {
        Some(listener) => listener.recv().await.map(|_| ()),
        None => std::future::pending().await,
    }
}

/// Runs every job that is due now, lane after lane, and says how many there were.
#[cfg(test)]
pub async fn run_due(app: &App) -> Result<usize> {
    let mut count = 0;
    for lane in Lane::ALL {
        count += run_lane(app, lane).await?;
    }
    Ok(count)
}

/// Runs every job of a lane that is due now, one after another, and says how many there were.
pub(crate) async fn run_lane(app: &App, lane: Lane) -> Result<usize> {
    let mut count = 0;
    while let Some(picked) = pick(app, lane).await? {
        count += 1;
        match run(app, &picked.job).await {
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
async fn run(app: &App, job: &Job) -> Result<()> {
    let bounded = tokio::time::timeout(PATIENCE, job.run(app));
    match AssertUnwindSafe(bounded).catch_unwind().await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(Error::Unavailable("the job took too long")),
        Err(_) => Err(Error::Panicked),
    }
}
