//! The socket of a session, as its requests are read of it.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// A socket that is waited on until there is something to read.
///
/// Who waits in `read(2)` is woken too when the other side has taken an answer, and goes to sleep again.
pub struct Requests<'a>(pub &'a UnixStream);

impl Read for Requests<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        wait(self.0)?;
        let mut socket = self.0;
        socket.read(into)
    }
}

/// Until there are bytes, or the other side is gone.
fn wait(socket: &UnixStream) -> io::Result<()> {
    let mut waited = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
    loop {
        match poll(&mut waited, PollTimeout::NONE) {
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::thread;

    use super::*;

    #[test]
    fn bytes_that_come_are_read_and_then_the_end() {
        let (mut theirs, ours) = UnixStream::pair().unwrap();
        let writer = thread::spawn(move || theirs.write_all(b"request").unwrap());
        let mut read = Vec::new();
        Requests(&ours).read_to_end(&mut read).unwrap();
        assert_eq!(read, b"request");
        writer.join().unwrap();
    }

    #[test]
    fn a_reader_that_waits_is_told_that_the_socket_is_cut() {
        let (_theirs, ours) = UnixStream::pair().unwrap();
        ours.shutdown(std::net::Shutdown::Both).unwrap();
        assert_eq!(Requests(&ours).read(&mut [0]).unwrap(), 0);
    }
}
