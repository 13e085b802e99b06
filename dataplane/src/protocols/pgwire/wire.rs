//! One connection's bytes: frames in, a buffer out, over TCP or TLS.
//!
//! Nothing is reserved for what a client merely announces, and no frame may be longer than its
//! place in the conversation allows.

use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::failure::ErrorResponse;

/// Longest frame after login: a statement with its parameters.
pub const FRAME_BYTES_MAX: usize = 16 << 20;
/// What is read ahead while a statement runs.
const AHEAD_BYTES_MAX: usize = 1 << 20;
/// Rows leave when so much of them is there.
const SEND_BYTES: usize = 256 << 10;
/// A buffer that had more in it is given back when the client is done with the answer.
const KEPT_BYTES: usize = 64 << 10;
/// A client that takes nothing for so long is gone.
const STALLED: Duration = Duration::from_mins(2);
/// What the last words may take to arrive.
const FAREWELL: Duration = Duration::from_secs(2);
const READ_BYTES: usize = 8 << 10;

/// Why a connection ends.
#[derive(Debug)]
pub enum ConnectionEnd {
    /// The client said goodbye, or went away.
    Closed,
    Io(io::Error),
    /// The client is told why.
    Fatal(ErrorResponse),
}

impl From<io::Error> for ConnectionEnd {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

pub trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

pub struct Wire {
    io: Box<dyn Io>,
    inbox: BytesMut,
    /// What is to be sent; `flush` sends it.
    pub out: BytesMut,
    /// The most that was in it at once.
    most: usize,
}

impl Wire {
    pub fn new(io: impl Io + 'static) -> Self {
        Self {
            io: Box::new(io),
            inbox: BytesMut::with_capacity(READ_BYTES),
            out: BytesMut::with_capacity(READ_BYTES),
            most: 0,
        }
    }

    /// A message of the conversation: its kind and body.
    pub async fn frame(&mut self, bytes_max: usize) -> Result<(u8, Bytes), ConnectionEnd> {
        loop {
            if let Some(frame) = self.whole_frame(bytes_max)? {
                return Ok(frame);
            }
            self.give_back();
            self.must_fill().await?;
        }
    }

    /// The next message, if all of it is here.
    pub fn whole_frame(&mut self, bytes_max: usize) -> Result<Option<(u8, Bytes)>, ConnectionEnd> {
        let [kind, length @ ..] = self.inbox.as_ref() else { return Ok(None) };
        let Some(length) = length.first_chunk::<4>() else { return Ok(None) };
        let (kind, length) = (*kind, checked(u32::from_be_bytes(*length), 4, bytes_max)?);
        if self.inbox.len() <= length {
            return Ok(None);
        }
        let mut frame = self.inbox.split_to(length + 1);
        frame.advance(5);
        Ok(Some((kind, frame.freeze())))
    }

    /// A client that says nothing may do so for long, and there are many of them.
    fn give_back(&mut self) {
        if self.out.is_empty() && self.most > KEPT_BYTES {
            (self.out, self.most) = (BytesMut::with_capacity(READ_BYTES), 0);
        }
    }

    async fn must_fill(&mut self) -> Result<(), ConnectionEnd> {
        if self.fill().await? { Ok(()) } else { Err(ConnectionEnd::Closed) }
    }

    /// Reads what is there; false at the end of the stream. May be given up and asked again.
    pub async fn fill(&mut self) -> io::Result<bool> {
        self.inbox.reserve(READ_BYTES);
        Ok(self.io.read_buf(&mut self.inbox).await? > 0)
    }

    /// May more be read ahead of the statement that runs?
    pub fn has_room(&self) -> bool {
        self.inbox.len() < AHEAD_BYTES_MAX
    }

    /// The kind of the next message, if its beginning is here already.
    pub fn next_kind(&self) -> Option<u8> {
        self.inbox.first().copied()
    }

    /// Takes the next message, if all of it is here and it reads as the one that is wanted.
    pub fn take<T>(&mut self, wanted: impl FnOnce(u8, &[u8]) -> Option<T>) -> Option<T> {
        let [kind, length @ ..] = self.inbox.as_ref() else { return None };
        let length = usize::try_from(u32::from_be_bytes(*length.first_chunk::<4>()?)).ok()?;
        let taken = wanted(*kind, self.inbox.get(5..=length)?)?;
        self.inbox.advance(length + 1);
        Some(taken)
    }

    pub fn is_full(&self) -> bool {
        self.out.len() >= SEND_BYTES
    }

    /// Sends all of it. May be given up: what was sent is not sent again.
    pub async fn flush(&mut self) -> Result<(), ConnectionEnd> {
        self.most = self.most.max(self.out.len());
        let sending = async {
            while !self.out.is_empty() {
                if self.io.write_buf(&mut self.out).await? == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
            }
            self.io.flush().await
        };
        let sent = tokio::time::timeout(STALLED, sending).await;
        Ok(sent.map_err(|_| ConnectionEnd::Closed)??)
    }

    /// Ends the stream in order, so that the last words arrive: a connection that is closed while
    /// the client's bytes are unread is reset, and what was on its way to the client is lost.
    pub async fn close(mut self) {
        let goodbye = async {
            self.flush().await?;
            self.io.shutdown().await?;
            let mut unread = (&mut self.io).take(AHEAD_BYTES_MAX as u64);
            tokio::io::copy(&mut unread, &mut tokio::io::sink()).await?;
            Ok::<_, ConnectionEnd>(())
        };
        let _ = tokio::time::timeout(FAREWELL, goodbye).await;
    }
}

fn checked(length: u32, least: usize, most: usize) -> Result<usize, ConnectionEnd> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if (least..=most).contains(&length) {
        return Ok(length);
    }
    Err(ConnectionEnd::Fatal(ErrorResponse::protocol(format!("a message of {length} bytes is not taken here"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_are_cut_wherever_the_bytes_were() {
        let (mut client, server) = tokio::io::duplex(4);
        let mut wire = Wire::new(server);
        let write = async { client.write_all(b"Q\x00\x00\x00\x06a\0S\x00\x00\x00\x04").await.unwrap() };
        let read = async { (wire.frame(100).await.unwrap(), wire.frame(100).await.unwrap()) };
        let ((), (query, sync)) = tokio::join!(write, read);
        assert_eq!((query.0, query.1.as_ref(), sync.0, sync.1.len()), (b'Q', &b"a\0"[..], b'S', 0));
    }

    #[tokio::test]
    async fn a_message_is_taken_if_it_is_wanted_and_whole() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut wire = Wire::new(server);
        let is_query = |kind: u8, body: &[u8]| (kind == b'Q').then(|| body.to_vec());
        client.write_all(b"Q\x00\x00\x00\x06a").await.unwrap();
        wire.fill().await.unwrap();
        assert_eq!(wire.take(is_query), None);
        client.write_all(b"\0S\x00\x00\x00\x04").await.unwrap();
        wire.fill().await.unwrap();
        assert_eq!((wire.take(is_query), wire.take(is_query)), (Some(b"a\0".to_vec()), None));
        assert_eq!((wire.frame(100).await.unwrap(), wire.next_kind()), ((b'S', Bytes::new()), None));
    }

    #[tokio::test]
    async fn the_room_of_a_large_answer_is_given_back() {
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let mut wire = Wire::new(server);
        wire.out.resize(KEPT_BYTES + 1, 0);
        wire.flush().await.unwrap();
        assert!(wire.most > KEPT_BYTES);
        client.write_all(b"S\x00\x00\x00\x04").await.unwrap();
        wire.frame(100).await.unwrap();
        assert_eq!(wire.most, 0);
        assert!(wire.out.capacity() < KEPT_BYTES);
    }

    #[tokio::test]
    async fn a_length_out_of_bounds_ends_the_connection() {
        for bytes in [&b"Q\x00\x00\x00\x03"[..], b"Q\x7f\xff\xff\xff", b"Q\xff\xff\xff\xff"] {
            let (mut client, server) = tokio::io::duplex(64);
            client.write_all(bytes).await.unwrap();
            assert!(matches!(Wire::new(server).frame(100).await, Err(ConnectionEnd::Fatal(_))), "{bytes:?}");
        }
    }
}
