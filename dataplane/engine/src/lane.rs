//! The parent's end of a socket: frames out, frames in.
//!
//! It waits for what can be read, and not for room to write. A socket that is watched for room says so each time that
//! the other side has read something, so each statement would wake a thread for nothing.

mod buffer_pool;

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use buffer_pool::BufferPool;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

use crate::frame::{HEADER_BYTES, Outgoing, REQUEST_MAX_BYTES, RESPONSE_MAX_BYTES, checked};

/// As much as is read of frames that are short.
const READ_BYTES: usize = 16 << 10;
/// A frame that is read into the memory that it stays in; a shorter one is copied there.
const LONG_BYTES: usize = 32 << 10;

/// The parent's end of a socket. Both calls may be dropped at any await: what was read stays in the
/// buffer; a half-written request leaves the lane unusable, which its owner must know.
pub struct Lane {
    socket: Arc<UnixStream>,
    /// The same socket. Of a pipe it is by its type alone, which asks for nothing but a descriptor to read.
    incoming: pipe::Receiver,
    buffer: BytesMut,
    long: Option<LongFrame>,
    pool: BufferPool,
}

/// A long frame of which a part has come.
struct LongFrame {
    kind: u8,
    length: usize,
    payload: BytesMut,
}

impl Lane {
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let incoming = pipe::Receiver::from_owned_fd_unchecked(socket.try_clone()?.into())?;
        Ok(Self {
            socket: Arc::new(socket),
            incoming,
            buffer: BytesMut::new(),
            long: None,
            pool: BufferPool::default(),
        })
    }

    /// Gives back the memory that it keeps for more frames.
    pub fn release(&mut self) {
        self.pool.clear();
    }

    pub fn socket(&self) -> &Arc<UnixStream> {
        &self.socket
    }

    pub async fn send(&mut self, frame: Outgoing) -> io::Result<()> {
        let frame = frame.close(REQUEST_MAX_BYTES)?;
        let left = written(&self.socket, &frame)?;
        if left.is_empty() {
            return Ok(());
        }
        let mut room = pipe::Sender::from_owned_fd_unchecked(self.socket.try_clone()?.into())?;
        room.write_all(left).await
    }

    pub async fn receive(&mut self) -> io::Result<Option<(u8, Bytes)>> {
        loop {
            if let Some(long) = &mut self.long {
                let left = long.length - long.payload.len();
                if left > 0 && self.incoming.read_buf(&mut (&mut long.payload).limit(left)).await? == 0 {
                    return Ok(None);
                }
                if long.payload.len() == long.length {
                    return Ok(self.long.take().map(|long| {
                        let payload = long.payload.freeze();
                        self.pool.keep(&payload);
                        (long.kind, payload)
                    }));
                }
                continue;
            }
            let wanted = match self.buffer.get(..HEADER_BYTES) {
                Some(&[a, b, c, d, kind]) => {
                    let length = checked(u32::from_le_bytes([a, b, c, d]), RESPONSE_MAX_BYTES)?;
                    if let Some(payload) = self.buffer.get(HEADER_BYTES..HEADER_BYTES + length) {
                        // begins where columns may, and keeps nothing in memory but itself
                        let payload = Bytes::copy_from_slice(payload);
                        self.buffer.advance(HEADER_BYTES + length);
                        return Ok(Some((kind, payload)));
                    }
                    if length >= LONG_BYTES {
                        self.buffer.advance(HEADER_BYTES);
                        let mut payload = self.pool.take(length);
                        payload.extend_from_slice(&self.buffer);
                        self.buffer.clear();
                        self.long = Some(LongFrame { kind, length, payload });
                        continue;
                    }
                    HEADER_BYTES + length - self.buffer.len()
                }
                _ => 0,
            };
            self.buffer.reserve(wanted.max(READ_BYTES));
            if self.incoming.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }
}

/// Writes as much as there is room for; what is left.
fn written<'b>(mut to: &UnixStream, mut bytes: &'b [u8]) -> io::Result<&'b [u8]> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(taken) => bytes = bytes.get(taken..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::net;

    use super::*;

    fn pair() -> (Lane, net::UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        (Lane::new(ours).unwrap(), net::UnixStream::from_std(theirs).unwrap())
    }

    #[tokio::test]
    async fn a_lane_waits_for_the_whole_frame() {
        let (mut ours, mut theirs) = pair();
        let bytes = Outgoing::with(b'b', &vec![7; 100_000]).close(RESPONSE_MAX_BYTES).unwrap();
        let write = async {
            theirs.write_all(&bytes).await.unwrap();
            theirs
        };
        let (received, theirs) = tokio::join!(ours.receive(), write);
        let (kind, payload) = received.unwrap().unwrap();
        assert_eq!((kind, payload.len()), (b'b', 100_000));
        drop(theirs);
        assert!(ours.receive().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_long_frame_is_begun_once_and_takes_nothing_of_the_next() {
        let (mut ours, mut theirs) = pair();
        let long = Outgoing::of(b'b', vec![9; HEADER_BYTES + LONG_BYTES]).close(RESPONSE_MAX_BYTES).unwrap();
        let (begun, rest) = long.split_at(20_000);
        theirs.write_all(begun).await.unwrap();
        for _ in 0..3 {
            assert!(ours.receive().now_or_never().is_none(), "it waits, and is given up");
            tokio::task::yield_now().await;
        }
        let end = Outgoing::with(b'e', b"end").close(RESPONSE_MAX_BYTES).unwrap();
        theirs.write_all(&[rest, &end].concat()).await.unwrap();
        let (kind, payload) = ours.receive().await.unwrap().unwrap();
        assert_eq!((kind, payload.as_ref()), (b'b', vec![9; LONG_BYTES].as_slice()));
        let (kind, payload) = ours.receive().await.unwrap().unwrap();
        assert_eq!((kind, payload.as_ref()), (b'e', b"end".as_slice()));
    }

    #[tokio::test]
    async fn short_frames_that_come_together_are_told_one_by_one() {
        let (mut ours, mut theirs) = pair();
        let frames = [&b"one"[..], b"", b"three"].map(|text| Outgoing::with(b'b', text).close(9).unwrap());
        theirs.write_all(&frames.concat()).await.unwrap();
        for expected in [&b"one"[..], b"", b"three"] {
            assert_eq!(ours.receive().await.unwrap().unwrap(), (b'b', Bytes::from_static(expected)));
        }
    }

    #[tokio::test]
    async fn a_request_that_is_longer_than_its_socket_takes_is_sent_whole() {
        let (mut ours, mut theirs) = pair();
        let sent = vec![5; 4 << 20];
        let mut came = vec![0; HEADER_BYTES + sent.len()];
        let read = async { theirs.read_exact(&mut came).await.map(|_| ()) };
        let (sending, reading) = tokio::join!(ours.send(Outgoing::with(b'q', &sent)), read);
        sending.unwrap();
        reading.unwrap();
        assert_eq!(came.split_at(HEADER_BYTES).1, sent);
    }

    #[tokio::test]
    async fn nothing_is_sent_to_who_is_gone() {
        let (mut ours, theirs) = pair();
        drop(theirs);
        let error = ours.send(Outgoing::new(b'q')).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        assert!(ours.receive().await.unwrap().is_none());
    }
}
