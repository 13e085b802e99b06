//! A connection to a PostgreSQL whose messages are bounded: what is longer is never held.
//!
//! A row comes as one message, which the client library keeps whole until its last byte is there: up to a gigabyte of it.
//! So the length that a message says at its begin is looked at before its bytes are taken.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use engine::RECORD_BYTES_MAX;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A row that is as long as one may be, and what else a message has.
const MESSAGE_BYTES_MAX: usize = RECORD_BYTES_MAX + (64 << 10);
/// The sign of a message, and its length.
const HEAD_BYTES: usize = 5;
/// Bytes of the length, which counts them.
const LENGTH_BYTES: usize = 4;

/// Whether a connection was given up because a message of it was too long.
pub(super) type TooLong = Arc<AtomicBool>;

/// A stream of messages, none of which is longer than a row may be.
#[derive(Debug)]
pub(super) struct BoundedStream<S> {
    inner: S,
    lengths: MessageLengths,
    too_long: TooLong,
}

impl<S> BoundedStream<S> {
    /// Of a stream whose next byte begins a message.
    pub fn new(inner: S, too_long: &TooLong) -> Self {
        Self { inner, lengths: MessageLengths::default(), too_long: Arc::clone(too_long) }
    }
}

/// Where in its messages a stream is.
#[derive(Debug, Default)]
struct MessageLengths {
    head: [u8; HEAD_BYTES],
    /// Bytes of the head that have come.
    come: usize,
    /// Bytes of the message that come still.
    left: usize,
}

impl MessageLengths {
    /// Whether none of the messages that these bytes begin is too long.
    fn admit(&mut self, mut bytes: &[u8]) -> bool {
        while let Some((first, rest)) = bytes.split_first() {
            if self.left > 0 {
                let passed = self.left.min(bytes.len());
                self.left -= passed;
                bytes = bytes.get(passed..).unwrap_or_default();
                continue;
            }
            if let Some(place) = self.head.get_mut(self.come) {
                *place = *first;
            }
            self.come += 1;
            bytes = rest;
            if self.come < HEAD_BYTES {
                continue;
            }
            let [_, length @ ..] = self.head;
            let length = usize::try_from(u32::from_be_bytes(length)).ok();
            match length.and_then(|length| length.checked_sub(LENGTH_BYTES)) {
                Some(left) if left <= MESSAGE_BYTES_MAX => (self.come, self.left) = (0, left),
                _ => return false,
            }
        }
        true
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundedStream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = into.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, into))?;
        if this.lengths.admit(into.filled().get(before..).unwrap_or_default()) {
            return Poll::Ready(Ok(()));
        }
        into.set_filled(before); // an error comes without bytes
        this.too_long.store(true, Ordering::Release);
        Poll::Ready(Err(ErrorKind::InvalidData.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BoundedStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    fn message(sign: u8, body: usize) -> Vec<u8> {
        let length = u32::try_from(body + LENGTH_BYTES).unwrap();
        [&[sign][..], &length.to_be_bytes(), &vec![0; body]].concat()
    }

    #[test]
    fn messages_are_told_apart_wherever_their_bytes_are_parted() {
        let all = [message(b'R', 8), message(b'Z', 0), message(b'd', 70_000), message(b'd', 3)].concat();
        for part in [1, 2, 3, 7, 4_096, all.len()] {
            let mut lengths = MessageLengths::default();
            assert!(all.chunks(part).all(|bytes| lengths.admit(bytes)), "{part}");
            assert_eq!((lengths.come, lengths.left), (0, 0), "{part}");
        }
    }

    #[tokio::test]
    async fn a_message_that_is_too_long_is_given_up_at_its_begin() {
        for length in [0, 3, 1 << 30, u32::MAX] {
            let told = [message(b'R', 8), vec![b'd'], length.to_be_bytes().to_vec()].concat();
            let too_long = TooLong::default();
            let mut stream = BoundedStream::new(told.as_slice(), &too_long);
            assert!(stream.read_to_end(&mut Vec::new()).await.is_err(), "{length}");
            assert!(too_long.load(Ordering::Acquire), "{length}");
        }
    }
}
