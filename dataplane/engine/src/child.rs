//! The child process: one database, or one for each session, driven by its parent and reachable by nobody else.
//!
//! Standard input is the control socket, standard output the socket over which the parent hands in
//! one socket per session: the child listens nowhere, so there is nothing to authenticate. It uses
//! plain threads and blocking calls, one thread a session.
//!
//! It dies with its parent, whatever it is doing: the control thread never runs a statement, and
//! the end of the control socket is the end of the process.

mod acceptor;
mod answer;
mod compare;
mod databases;
mod draws;
mod gathered;
mod harden;
mod joined;
mod kept_statements;
mod mask;
mod memory_limit;
mod own_statements;
mod parsed;
mod pattern;
mod questions;
mod requests;
mod serve;
mod table;

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use std::{io, thread};

use nix::sys::signal::{Signal, raise};
use serde::Deserialize;

use crate::comparison::{Agreeing, Comparing};
use crate::frame::{self, Outgoing, REQUEST_MAX_BYTES};
use crate::message::{Notice, Order, kind};
pub(crate) use answer::text;
use databases::Databases;
use kept_statements::Keeping;
use memory_limit::MemoryLimit;
use table::Sessions;

/// The whole life of the child; its program calls this, with how it compares and what agrees, and exits with what it
/// returns.
pub fn run(comparing: Option<Comparing>, agreeing: Option<Agreeing>) -> ExitCode {
    match serve_parent(comparing, agreeing) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve_parent(comparing: Option<Comparing>, agreeing: Option<Agreeing>) -> io::Result<()> {
    let mut orders = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let arrivals = io::stdout().as_fd().try_clone_to_owned()?;
    let notices = Notices(Arc::new(Mutex::new(orders.try_clone()?)));

    harden::process()?;
    let Some(Order::Start(start)) = next(&mut orders)? else {
        return Ok(());
    };
    let memory_limit = MemoryLimit::of(&start, notices.clone());
    let gate = memory_limit.gate();
    // A session of a database in memory ends with what is in it.
    let keeping = Keeping::of(if start.data.is_some() { start.kept_statements } else { 0 });
    let (databases, opened_micros) = match Databases::open(start, comparing) {
        Ok(open) => open,
        Err(error) => return notices.send(&Notice::Failed(error)),
    };
    notices.send(&Notice::Ready { opened_micros })?;
    let sessions = Arc::new(Sessions::new(keeping));
    let (busy, mut workers) = (sessions.busy(), databases.worker_watch());
    let also = move |now: Instant| {
        if let Some(workers) = &mut workers {
            workers.look(now);
        }
    };
    thread::Builder::new().name("memory limit".to_owned()).spawn(move || memory_limit.watch(&busy, also))?;
    let (for_acceptor, ends, databases) = (Arc::clone(&sessions), notices.clone(), Arc::new(databases));
    let for_sessions = Arc::clone(&databases);
    thread::Builder::new()
        .name("acceptor".to_owned())
        .spawn(move || acceptor::admit(&arrivals, (&for_sessions, agreeing), &for_acceptor, &ends, &gate))?;
    obey(&mut orders, &notices, &databases, &sessions)
}

/// Obeys orders until `Stop`, or until the parent is gone.
fn obey(orders: &mut UnixStream, notices: &Notices, databases: &Databases, sessions: &Sessions) -> io::Result<()> {
    loop {
        match next(orders)? {
            Some(Order::Cancel { session, statement }) => sessions.interrupt(session, statement),
            Some(Order::Stop) => {
                notices.send(&Notice::Stopped(databases.checkpoint()))?;
                // Session threads may still be inside the engine: no destructors, all is on disk.
                die();
            }
            // A second start makes no sense; end of the socket: the parent is gone.
            Some(Order::Start(_)) | None => die(),
        }
    }
}

/// Ends the process at once, with whatever its other threads are doing.
fn die() -> ! {
    let _ = raise(Signal::SIGKILL);
    std::process::abort()
}

fn next(orders: &mut UnixStream) -> io::Result<Option<Order>> {
    match frame::read(orders, REQUEST_MAX_BYTES)? {
        Some((kind::ORDER, payload)) => read(&payload).map(Some),
        Some((other, _)) => Err(io::Error::other(format!("a frame of kind {other} on the control socket"))),
        None => Ok(None),
    }
}

fn read<'a, T: Deserialize<'a>>(payload: &'a [u8]) -> io::Result<T> {
    serde_json::from_slice(payload).map_err(io::Error::other)
}

/// The child's voice on the control socket, shared by its threads.
#[derive(Clone)]
struct Notices(Arc<Mutex<UnixStream>>);

impl Notices {
    fn send(&self, notice: &Notice) -> io::Result<()> {
        let frame = Outgoing::with(kind::NOTICE, &serde_json::to_vec(notice)?).close(REQUEST_MAX_BYTES)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&frame)
    }
}
