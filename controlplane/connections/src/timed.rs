//! A stream that ends where its peer is silent for too long.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::{Clock, Limits};

/// How an HTTP/2 connection begins (RFC 9113, 3.4).
const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A stream under a clock.
#[derive(Debug)]
pub struct Timed<S> {
    stream: S,
    clock: Clock,
    limits: Limits,
    waiting: Waiting,
    /// The clock's turn that `until` belongs to.
    turn: u64,
    until: Pin<Box<Sleep>>,
    /// How many of the first bytes are those of HTTP/2; `None`: they are not.
    opening: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// For the first byte of a request.
    Idle,
    /// For the end of its head.
    Head,
}

/// The effect of a time that is over.
enum Expiry {
    /// The peer has nothing more to say, as if it had closed.
    Quiet,
    /// It has begun and does not go on.
    Late,
}

impl<S> Timed<S> {
    pub fn new(stream: S, clock: Clock, limits: Limits) -> Self {
        let until = Box::pin(sleep(limits.idle));
        Self { stream, clock, limits, waiting: Waiting::Idle, turn: 0, until, opening: Some(0) }
    }

    fn wait(&mut self, waiting: Waiting) {
        let within = match waiting {
            Waiting::Idle => self.limits.idle,
            Waiting::Head => self.limits.head,
        };
        self.waiting = waiting;
        self.until.as_mut().reset(Instant::now() + within);
    }

    /// Whether the peer is waited for at all: not while it waits for us, and not over HTTP/2.
    fn is_timed(&mut self, cx: &Context<'_>) -> bool {
        // Before the clock is read, so that a request that ends meanwhile wakes.
        self.clock.wake_when_done(cx.waker());
        let (turn, busy) = self.clock.read();
        if self.turn != turn && !busy {
            self.turn = turn;
            self.wait(Waiting::Idle);
        }
        !busy && self.opening != Some(HTTP2.len())
    }

    fn over(&mut self, cx: &mut Context<'_>) -> Option<Expiry> {
        self.until.as_mut().poll(cx).is_ready().then_some(match self.waiting {
            Waiting::Idle => Expiry::Quiet,
            Waiting::Head => Expiry::Late,
        })
    }

    /// Looks at the first bytes of the connection as far as they are HTTP/2's.
    fn came(&mut self, bytes: &[u8]) {
        if let Some(known) = self.opening.filter(|known| *known < HTTP2.len()) {
            let rest = HTTP2.get(known..).unwrap_or_default();
            let looked_at = bytes.len().min(rest.len());
            self.opening = (bytes.get(..looked_at) == rest.get(..looked_at)).then_some(known.saturating_add(looked_at));
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let timed = self.is_timed(cx);
        // A peer that sends a byte now and then has always something to read: the clock is asked first.
        if timed && self.waiting == Waiting::Head && self.over(cx).is_some() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        if Pin::new(&mut self.stream).poll_read(cx, buffer)?.is_ready() {
            let came = buffer.filled().get(before..).unwrap_or_default();
            self.came(came);
            if timed && !came.is_empty() && self.waiting == Waiting::Idle {
                self.wait(Waiting::Head);
            }
            return Poll::Ready(Ok(()));
        }
        match if timed { self.over(cx) } else { None } {
            None => Poll::Pending,
            Some(Expiry::Quiet) => Poll::Ready(Ok(())),
            Some(Expiry::Late) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests;
