//! Keeps a child running: watches over its statements, and starts another when it is over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::{sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::error::Error;
use crate::message::{Notice, Order};
use crate::process::{Control, Process};

/// Between two starts that fail or do not last.
const BACKOFF_MIN: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(5);
/// A child that lived so long was well.
const WELL: Duration = Duration::from_secs(30);
/// A checkpoint may take long; what it does not finish, the next start replays.
const STOP_MAX: Duration = Duration::from_secs(10);

/// What there is to talk to.
#[derive(Clone)]
pub enum Stage {
    Ready(Arc<Process>),
    Restarting(Option<Error>),
    Stopped,
}

pub struct Supervisor {
    pub config: Config,
    pub stage: watch::Sender<Stage>,
    pub stop: CancellationToken,
}

impl Supervisor {
    /// Runs until it is told to stop, or nobody is left to serve.
    pub async fn run(self, mut process: Arc<Process>, mut control: Control) {
        let mut backoff = BACKOFF_MIN;
        loop {
            let since = Instant::now();
            let told_to = self.watch_over(&process, &mut control).await.is_break();
            process.kill();
            let how = control.ended().await;
            process.ended();
            if told_to {
                self.stage.send_replace(Stage::Stopped);
                return;
            }
            tracing::warn!(
                engine.status = %how,
                engine.is_full = process.is_full(),
                "the engine process ended; starting another"
            );
            self.stage.send_replace(Stage::Restarting(None));
            backoff = if since.elapsed() > WELL { BACKOFF_MIN } else { backoff };
            let Some(next) = self.start_again(&mut backoff).await else {
                self.stage.send_replace(Stage::Stopped);
                return;
            };
            (process, control) = next;
            self.stage.send_replace(Stage::Ready(Arc::clone(&process)));
        }
    }

    async fn start_again(&self, backoff: &mut Duration) -> Option<(Arc<Process>, Control)> {
        loop {
            tokio::select! {
                () = sleep(*backoff) => {}
                () = self.nobody() => return None,
            }
            *backoff = (*backoff * 2).min(BACKOFF_MAX);
            match Process::launch(&self.config).await {
                Ok(started) => return Some(started),
                Err(error) => {
                    tracing::error!(engine.error = %error, "the engine does not start");
                    self.stage.send_replace(Stage::Restarting(Some(error)));
                }
            }
        }
    }

    /// Told to stop, or no engine and no session is left.
    async fn nobody(&self) {
        self.stop.run_until_cancelled(self.stage.closed()).await;
    }

    /// Until the process is over (`Continue`) or must be (`Break`).
    async fn watch_over(&self, process: &Process, control: &mut Control) -> std::ops::ControlFlow<()> {
        loop {
            let due = process.watchdog.due(Instant::now());
            if due.kill {
                tracing::warn!("a statement did not end; killing the engine process");
                return std::ops::ControlFlow::Continue(());
            }
            for order in due.orders {
                // A child that does not listen is over, or will be killed.
                let _ = timeout(Duration::from_millis(100), control.order(&order)).await;
            }
            let look = async {
                match due.next {
                    Some(at) => sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                notice = control.notice() => match notice {
                    Some(Notice::Ended { session }) => process.watchdog.closed(session),
                    Some(Notice::Full) => process.keeps_too_much(true),
                    Some(Notice::Fits) => process.keeps_too_much(false),
                    Some(_) => {}
                    None => return std::ops::ControlFlow::Continue(()),
                },
                () = process.watchdog.nudged() => {}
                () = look => {}
                () = self.nobody() => {
                    checkpoint(control).await;
                    return std::ops::ControlFlow::Break(());
                }
            }
        }
    }
}

/// Asks the child to write everything to its file; it ends itself then.
async fn checkpoint(control: &mut Control) {
    let farewell = async {
        control.order(&Order::Stop).await?;
        loop {
            match control.notice().await {
                Some(Notice::Stopped(result)) => return result,
                Some(_) => {}
                None => return Err(Error::unavailable("the engine ended before its checkpoint")),
            }
        }
    };
    match timeout(STOP_MAX, farewell).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(engine.error = %error, "stopped without a checkpoint"),
        Err(_) => tracing::warn!("stopped without waiting for the checkpoint"),
    }
}
