//! What tells a stream that its peer has been silent for too long.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// Rings once, so long after it was last set. A parameter, so that tests need not wait.
pub trait Alarm: Unpin {
    /// It rings `within` from now, and not when it was to ring before.
    fn set(&mut self, within: Duration);

    /// Whether it has rung; if not, whoever asks is woken when it does.
    fn poll_rung(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

/// The runtime's own timer.
#[derive(Debug)]
pub struct Timer(Pin<Box<Sleep>>);

impl Default for Timer {
    fn default() -> Self {
        Self(Box::pin(sleep(Duration::ZERO)))
    }
}

impl Alarm for Timer {
    fn set(&mut self, within: Duration) {
        self.0.as_mut().reset(Instant::now() + within);
    }

    fn poll_rung(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}
