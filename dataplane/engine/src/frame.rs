//! How messages are cut on a socket: four bytes of length, one of kind, then the payload.
//!
//! The child reads and writes blocking, the parent through tokio; both refuse a frame over the
//! limit before they allocate for it.

use std::io::{self, IoSlice, Read, Write};

use serde::Serialize;

/// One statement with its parameters.
pub const REQUEST_MAX_BYTES: usize = 64 << 20;
/// One batch of rows: 2048 of them, however wide, or more where they are short.
pub const RESPONSE_MAX_BYTES: usize = 512 << 20;

/// What stands before a payload.
pub const HEADER_BYTES: usize = 5;

/// A frame being written: the header is filled in when it is closed.
pub struct Outgoing(Vec<u8>);

impl Outgoing {
    pub fn new(kind: u8) -> Self {
        Self(vec![0, 0, 0, 0, kind])
    }

    pub fn with(kind: u8, payload: &[u8]) -> Self {
        let mut frame = Self::new(kind);
        frame.0.extend_from_slice(payload);
        frame
    }

    /// The frame of a value in JSON.
    ///
    /// # Errors
    /// When the value is none of JSON.
    pub fn json(kind: u8, value: &impl Serialize) -> io::Result<Self> {
        let mut frame = Self::new(kind);
        serde_json::to_writer(frame.payload(), value)?;
        Ok(frame)
    }

    /// The frame of a payload that was written behind [`HEADER_BYTES`] others, in place of which its header comes.
    pub fn of(kind: u8, mut bytes: Vec<u8>) -> Self {
        if bytes.len() < HEADER_BYTES {
            bytes.resize(HEADER_BYTES, 0);
        }
        if let Some(place) = bytes.get_mut(HEADER_BYTES - 1) {
            *place = kind;
        }
        Self(bytes)
    }

    pub fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    /// The bytes to write.
    ///
    /// # Errors
    /// When the payload is over `max` bytes.
    pub fn close(self, max: usize) -> io::Result<Vec<u8>> {
        self.close_before(0, max)
    }

    /// The same of a payload of which so many bytes are elsewhere, and are written next.
    ///
    /// # Errors
    /// When the payload is over `max` bytes.
    pub fn close_before(mut self, more: usize, max: usize) -> io::Result<Vec<u8>> {
        let length = (self.0.len() - HEADER_BYTES).saturating_add(more);
        if length > max {
            return Err(too_long(length));
        }
        let length = u32::try_from(length).map_err(|_| too_long(length))?;
        for (to, from) in self.0.iter_mut().zip(length.to_le_bytes()) {
            *to = from;
        }
        Ok(self.0)
    }
}

/// Writes parts one behind the other, in as few calls as the socket's buffer allows.
pub fn write_parts(to: &mut impl Write, parts: &[&[u8]]) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> =
        parts.iter().filter(|part| !part.is_empty()).map(|part| IoSlice::new(part)).collect();
    let mut left = slices.as_mut_slice();
    while !left.is_empty() {
        match to.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The next frame, or nothing when the other side closed between two frames.
pub fn read(from: &mut impl Read, max: usize) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut header = [0; HEADER_BYTES];
    match from.read_exact(&mut header) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(e) => return Err(e),
    }
    let [a, b, c, d, kind] = header;
    let length = checked(u32::from_le_bytes([a, b, c, d]), max)?;
    let mut payload = Vec::new();
    payload.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    payload.resize(length, 0);
    from.read_exact(&mut payload)?;
    Ok(Some((kind, payload)))
}

pub fn checked(length: u32, max: usize) -> io::Result<usize> {
    usize::try_from(length).ok().filter(|l| *l <= max).ok_or_else(|| too_long(max))
}

fn too_long(length: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes is over the limit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let bytes = Outgoing::with(b'q', b"select 1").close(100).unwrap();
        let (kind, payload) = read(&mut bytes.as_slice(), 100).unwrap().unwrap();
        assert_eq!((kind, payload.as_slice()), (b'q', b"select 1".as_slice()));
    }

    #[test]
    fn nothing_over_the_limit_is_written_or_read() {
        assert!(Outgoing::with(b'q', &[0; 9]).close(8).is_err());
        let bytes = Outgoing::with(b'q', &[0; 9]).close(9).unwrap();
        assert!(read(&mut bytes.as_slice(), 8).is_err());
    }

    #[test]
    fn a_frame_in_parts_is_written_whole_however_little_is_taken_at_once() {
        /// Takes three bytes at a time.
        struct Slow(Vec<u8>);
        impl Write for Slow {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let taken = &bytes[..bytes.len().min(3)];
                self.0.extend_from_slice(taken);
                Ok(taken.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let head = Outgoing::with(b'b', b"ab").close_before(5, 7).unwrap();
        assert!(Outgoing::with(b'b', b"ab").close_before(5, 6).is_err());
        let mut slow = Slow(Vec::new());
        write_parts(&mut slow, &[&head, b"", b"cdefg"]).unwrap();
        let (kind, payload) = read(&mut slow.0.as_slice(), 7).unwrap().unwrap();
        assert_eq!((kind, payload.as_slice()), (b'b', b"abcdefg".as_slice()));
    }

    #[test]
    fn an_end_inside_a_frame_is_an_error_and_between_frames_is_not() {
        let bytes = Outgoing::with(b'q', b"abc").close(8).unwrap();
        assert!(read(&mut &bytes[..6], 8).is_err());
        assert!(read(&mut &bytes[..0], 8).unwrap().is_none());
    }
}
