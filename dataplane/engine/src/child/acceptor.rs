//! Takes the sockets that the parent hands in, and gives each a thread and a connection.

use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::{io, thread};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};

use super::databases::Databases;
use super::memory_limit::Gate;
use super::table::Sessions;
use super::{Notices, serve};
use crate::comparison::Agreeing;
use crate::ffi;
use crate::message::Notice;

/// Planning recurses with the statement's depth, and so does whoever reads the engine's tree of it. The depth is
/// bounded (`max_expression_depth`); this is what that bound needs. Only what is used of it is memory.
const STACK_BYTES: usize = 32 << 20;

/// Runs until the parent closes its end.
pub fn admit(
    arrivals: &OwnedFd,
    (databases, agreeing): (&Arc<Databases>, Option<Agreeing>),
    sessions: &Arc<Sessions>,
    notices: &Notices,
    gate: &Gate,
) {
    while let Ok(Some((session, socket))) = arrival(arrivals) {
        let guard = Leaving { session, sessions: Arc::clone(sessions), notices: notices.clone() };
        let databases = Arc::clone(databases);
        let open = gate.open();
        let (begun, begins) = mpsc::channel::<()>();
        // A thread that cannot be made drops the guard, which tells the parent.
        let _ = thread::Builder::new().name(format!("session {session}")).stack_size(STACK_BYTES).spawn(move || {
            drop(begun);
            // The socket is closed before the end of its session is told: no request can come in between, of whose end
            // nobody would tell.
            let guard = guard;
            let socket = socket;
            serve::session(&socket, (&databases, agreeing), &guard.sessions, guard.session);
        });
        // Nothing is sent: it ends when the thread has begun, or was not made.
        let _ = begins.recv();
        drop(open);
    }
}

/// The next session's number and socket: eight bytes and one descriptor.
fn arrival(from: &OwnedFd) -> io::Result<Option<(u64, UnixStream)>> {
    let mut number = [0; 8];
    let mut space = cmsg_space!(i32);
    let descriptors = loop {
        let mut parts = [IoSliceMut::new(&mut number)];
        match recvmsg::<()>(from.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC) {
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
            Ok(message) if message.bytes == 0 => return Ok(None),
            Ok(message) => {
                break message
                    .cmsgs()?
                    .filter_map(|part| match part {
                        ControlMessageOwned::ScmRights(descriptors) => Some(descriptors),
                        _ => None,
                    })
                    .flatten()
                    .collect::<Vec<_>>();
            }
        }
    };
    let mut sockets = descriptors.into_iter().map(ffi::received);
    let socket = sockets.next().ok_or_else(|| io::Error::other("a session without a socket"))?;
    Ok(Some((u64::from_le_bytes(number), UnixStream::from(socket))))
}

/// Says that a session is over, however its thread ended.
struct Leaving {
    session: u64,
    sessions: Arc<Sessions>,
    notices: Notices,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.sessions.leave(self.session);
        // The parent may be gone; then so is the process.
        let _ = self.notices.send(&Notice::Ended { session: self.session });
    }
}
