//! One child, as its parent sees it: started, spoken to, killed, reaped.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, thread};

use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg, setsockopt, sockopt};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::error::Error;
use crate::frame::Outgoing;
use crate::lane::Lane;
use crate::message::{Notice, Order, Start, kind};
use crate::processors;
use crate::watchdog::{GONE, Watchdog};

/// Of rows that the child has written, and nobody has read.
const SENT_AHEAD_BYTES: usize = 512 << 10;
/// Opening replays what the last process had not checkpointed.
const OPEN_MAX: Duration = Duration::from_mins(2);
/// How long the end of one whose sessions have broken may take to be noticed.
pub const DYING: Duration = Duration::from_secs(1);

/// What a child inherits: where the loader finds the engine's library. No keys, no addresses.
const INHERITED: [&str; 1] = ["LD_LIBRARY_PATH"];

/// How the child's allocator works. Each arena reserves address space, which is bounded. The next statement takes
/// the memory of the one before: of memory from the kernel each page is made anew. An idle child hands it back. To plan
/// a statement takes hundreds of small pieces at once: each thread keeps those of a size, at most 4 MiB of all sizes.
const ALLOCATOR: [(&str, &str); 4] = [
    ("MALLOC_ARENA_MAX", "4"),
    ("MALLOC_MMAP_THRESHOLD_", "4194304"),
    ("MALLOC_TRIM_THRESHOLD_", "4194304"),
    ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=127:glibc.malloc.mxfast=0"),
];

pub struct Process {
    life: Arc<Life>,
    arrivals: UnixStream,
    opened_micros: i64,
    sessions: AtomicU64,
    snapshots: AtomicU64,
    /// It keeps too much in memory: whoever asks for more is refused.
    full: watch::Sender<bool>,
    /// It has ended, and all it said is read.
    over: CancellationToken,
    pub watchdog: Watchdog,
}

/// The control socket, and the news that the process is over.
pub struct Control {
    lane: Lane,
    /// How it ended; none while it lives.
    ended: watch::Receiver<Option<String>>,
}

/// A session's socket, and its number.
pub struct Line {
    pub number: u64,
    pub lane: Lane,
}

impl Process {
    /// Starts a child and waits until it serves.
    pub async fn launch(config: &Config) -> Result<(Arc<Self>, Control), Error> {
        let folders = prepare_folders(config).map_err(|e| Error::unavailable(format!("folders of the engine: {e}")))?;
        let broken = |e: io::Error| Error::unavailable(format!("sockets of the engine: {e}"));
        let (control, their_control) = UnixStream::pair().map_err(broken)?;
        let (arrivals, their_arrivals) = UnixStream::pair().map_err(broken)?;
        let lane = Lane::new(control).map_err(broken)?;

        let (life, ended) = keep(command(config, their_control.into(), their_arrivals.into())).await?;
        let mut control = Control { lane, ended };
        control.order(&Order::Start(Box::new(start(config, folders)))).await?;
        let opened_micros = match timeout(OPEN_MAX, control.notice()).await {
            Ok(Some(Notice::Ready { opened_micros })) => opened_micros,
            Ok(Some(Notice::Failed(error))) => return Err(error),
            Ok(_) => return Err(Error::unavailable("the engine ended while it was starting")),
            Err(_) => {
                life.kill();
                return Err(Error::unavailable("the engine did not start in time"));
            }
        };
        let process = Self {
            life,
            arrivals,
            opened_micros,
            sessions: AtomicU64::new(1),
            snapshots: AtomicU64::new(1),
            full: watch::Sender::new(false),
            over: CancellationToken::new(),
            watchdog: Watchdog::default(),
        };
        Ok((Arc::new(process), control))
    }

    /// Hands a new session to the child; it is usable at once, requests wait in its socket.
    pub fn open(&self) -> io::Result<Line> {
        let (ours, theirs) = UnixStream::pair()?;
        // As far as the system allows it: rows of the next frame are made while the last is sent on.
        let _ = setsockopt(&theirs, sockopt::SndBuf, &SENT_AHEAD_BYTES);
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        let payload = number.to_le_bytes();
        let descriptors = [theirs.as_raw_fd()];
        let rights = [ControlMessage::ScmRights(&descriptors)];
        sendmsg::<()>(self.arrivals.as_raw_fd(), &[IoSlice::new(&payload)], &rights, flags, None)?;
        Ok(Line { number, lane: Lane::new(ours)? })
    }

    /// A name for what a transaction sees; never used twice for one database.
    pub fn snapshot(&self) -> String {
        let count = self.snapshots.fetch_add(1, Ordering::Relaxed);
        format!("n{:x}-{count:x}", self.opened_micros)
    }

    pub fn kill(&self) {
        self.life.kill();
    }

    /// What it says of its memory.
    pub fn keeps_too_much(&self, full: bool) {
        self.full.send_replace(full);
    }

    pub fn ended(&self) {
        self.over.cancel();
    }

    /// Did it end because it kept too much in memory? Waits for the end of one that is dying.
    pub async fn starved(&self) -> bool {
        timeout(DYING, self.over.cancelled()).await.is_ok() && self.is_full()
    }

    pub fn is_full(&self) -> bool {
        *self.full.borrow()
    }

    /// Waits while it is most likely about to end, or refuses memory, because of somebody's statement: until that is
    /// past, or it has ended.
    pub async fn steady(&self) {
        if self.watchdog.is_steady() && !self.is_full() {
            return; // as before nearly every statement
        }
        let well = async {
            self.watchdog.steady().await;
            // An error means that nobody counts any more.
            let _ = self.full.subscribe().wait_for(|full| !full).await;
        };
        let steady = async {
            tokio::select! {
                () = well => {}
                () = self.over.cancelled() => {}
            }
        };
        // One that has not ended by then goes on, and what is begun in it takes its chance.
        let _ = timeout(GONE, steady).await;
    }

    pub fn is_alive(&self) -> bool {
        self.life.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl Control {
    pub async fn order(&mut self, order: &Order) -> Result<(), Error> {
        let payload = serde_json::to_vec(order).map_err(Error::internal)?;
        let sent = self.lane.send(Outgoing::with(kind::ORDER, &payload)).await;
        sent.map_err(|e| Error::unavailable(format!("the engine does not listen: {e}")))
    }

    /// The next notice; none when the child is gone or not understood.
    pub async fn notice(&mut self) -> Option<Notice> {
        match self.lane.receive().await {
            Ok(Some((kind::NOTICE, payload))) => serde_json::from_slice(&payload).ok(),
            _ => None,
        }
    }

    /// Waits until the process is over and reaped; says how it ended: by which signal, or with which status.
    pub async fn ended(&mut self) -> String {
        // An error means that the keeper is gone, which is the same.
        let ended = self.ended.wait_for(Option::is_some).await;
        ended.ok().and_then(|how| how.clone()).unwrap_or_default()
    }
}

/// The process id while it is ours: a reaped id may be someone else's.
struct Life(Mutex<Option<Pid>>);

impl Life {
    fn kill(&self) {
        if let Some(pid) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = kill(pid, Signal::SIGKILL);
        }
    }
}

/// Starts the child on a thread that stays until the child is over: the child asks to be killed
/// when the *thread* that made it ends, and somebody has to wait for it anyway.
async fn keep(mut command: Command) -> Result<(Arc<Life>, watch::Receiver<Option<String>>), Error> {
    let (tell, told) = oneshot::channel();
    let (end, ended) = watch::channel(None);
    let keeper = move || {
        processors::unbind(); // the child has the processors of the thread that makes it
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return drop(tell.send(Err(error))),
        };
        drop(command);
        let pid = Pid::from_raw(child.id().cast_signed());
        let life = Arc::new(Life(Mutex::new(Some(pid))));
        let _ = tell.send(Ok(Arc::clone(&life)));
        let _ = end.send(Some(reap(child, pid, &life)));
    };
    let failed = |e: io::Error| Error::unavailable(format!("the engine cannot be started: {e}"));
    thread::Builder::new().name("engine keeper".to_owned()).spawn(keeper).map_err(failed)?;
    match told.await {
        Ok(Ok(life)) => Ok((life, ended)),
        Ok(Err(error)) => Err(failed(error)),
        Err(_) => Err(Error::unavailable("the engine cannot be started")),
    }
}

/// Waits without reaping, takes the id away from whoever would kill it, then reaps; says how it ended.
fn reap(mut child: Child, pid: Pid, life: &Life) -> String {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(pid), flags) == Err(nix::errno::Errno::EINTR) {}
    *life.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    let how = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
    tracing::info!(engine.pid = pid.as_raw(), engine.status = %how, "the engine process ended");
    how
}

fn command(config: &Config, control: OwnedFd, arrivals: OwnedFd) -> Command {
    let mut command = Command::new(&config.program);
    command.args(&config.arguments).env_clear();
    // Ctrl-C goes to the whole group of the terminal: the child ends when its parent has drained.
    command.process_group(0);
    command.envs(std::env::vars_os().filter(|(name, _)| INHERITED.iter().any(|kept| name == kept)));
    command.envs(ALLOCATOR);
    command.stdin(Stdio::from(control)).stdout(Stdio::from(arrivals)).stderr(Stdio::inherit());
    command
}

fn start(config: &Config, Folders { spill, spool }: Folders) -> Start {
    Start {
        data: config.data.clone(),
        spill,
        spool,
        memory_limit_bytes: config.memory_limit_bytes,
        temp_limit_bytes: config.temp_limit_bytes,
        threads: config.threads,
        address_space_bytes: config.address_space_bytes,
        kept_statements: config.kept_statements,
        mask_key: config.mask_key,
    }
}

/// Folders of one child below [`Config::run`], empty when it starts.
struct Folders {
    spill: PathBuf,
    /// None for a database in memory, which reads no files.
    spool: Option<PathBuf>,
}

/// Where the files are that the child may read. The same path for each child of an engine.
pub fn spool(config: &Config) -> io::Result<Option<PathBuf>> {
    // The child compares paths as they are written.
    config.data.as_ref().map(|_| std::path::absolute(config.run.join("spool"))).transpose()
}

/// The environment's folder, and empty ones to spill to and to read from.
fn prepare_folders(config: &Config) -> io::Result<Folders> {
    config.data.as_deref().map_or(Ok(()), private)?;
    private(&config.run)?;
    let spill = config.run.join("spill");
    emptied(&spill)?;
    let spool = spool(config)?;
    spool.as_deref().map_or(Ok(()), emptied)?;
    Ok(Folders { spill, spool })
}

fn emptied(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    private(folder)
}

fn private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_that_ended_says_by_which_signal() {
        for (script, how) in [("kill -KILL $$", "signal: 9 (SIGKILL)"), ("exit 3", "exit status: 3")] {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let (_, ended) = keep(command).await.unwrap();
            let (ours, _theirs) = UnixStream::pair().unwrap();
            let mut control = Control { lane: Lane::new(ours).unwrap(), ended };
            assert_eq!(control.ended().await, how);
        }
    }
}
