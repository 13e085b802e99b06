//! The private PostgreSQL of one machine: what `sluice up` and the tests use when no
//! `DATABASE_URL` is given.
//!
//! It listens on a Unix socket in a folder that only its owner can enter, and on no port: there is
//! no password to keep, no port to lose a race for, and nothing that another user of the machine
//! could reach. Started by root it runs as [`NOBODY`], because PostgreSQL refuses to run as root.
//! Another one ([`Places::another`]) listens on a port of loopback too, where it asks for a password.
//!
//! It is not a process manager: what became of the server is the caller's to watch ([`Postgres::ended`]).

mod places;
mod readiness;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

pub use places::{NOBODY, Places};

/// Names the socket, `.s.PGSQL.5432`; nothing listens on it as a port.
const PORT: u16 = 5432;
const USER: &str = "sluice";
const INITDB_MAX: Duration = Duration::from_mins(2);
const READY_MAX: Duration = Duration::from_mins(1);
const STOP_MAX: Duration = Duration::from_mins(1);
const RUN_MAX: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(10);
const LOG_TAIL_BYTES: usize = 2_000;

/// Whether commits survive the machine's loss of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Nothing that was acknowledged.
    Kept,
    /// Everything, for tests: a crash of the machine may leave the folder unusable. A crash of
    /// the server alone loses nothing that had reached the operating system.
    ForTests,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no PostgreSQL in {}: fetch it with ./dev prepare, or set DATABASE_URL", .0.display())]
    Missing(PathBuf),
    #[error("another process uses the database in {}: stop that one first", .0.display())]
    InUse(PathBuf),
    #[error("{} is too long for a Unix socket: choose a shorter state folder", .0.display())]
    PathTooLong(PathBuf),
    #[error("could not {doing} {}", path.display())]
    Files { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("could not create the database files: {0}")]
    Create(String),
    #[error("PostgreSQL ended while it started: {0}")]
    Ended(String),
    #[error("PostgreSQL did not answer within {} s: {log}", READY_MAX.as_secs())]
    Silent { log: String },
    #[error("statements for the database failed: {0}")]
    Run(String),
    #[error("PostgreSQL (process {0}) did not stop")]
    Stuck(i32),
}

impl Error {
    fn files(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Files { doing, path, source }
    }
}

/// A running server. Dropped without [`stop`](Self::stop), it is told to stop and not waited for.
#[derive(Debug)]
pub struct Postgres {
    child: Child,
    places: Places,
    /// Held while the server lives, so that two platforms cannot share one folder.
    _lock: FolderLock,
}

impl Postgres {
    /// Creates the files if there are none, starts the server, and returns when it answers.
    pub async fn start(places: Places, durability: Durability) -> Result<Self, Error> {
        if !places.program("postgres").is_file() {
            return Err(Error::Missing(places.bin.clone()));
        }
        places.prepare()?;
        let lock = lock(&places.lock_file())?;
        end_orphan(&places).await?;
        create(&places, durability).await?;
        let mut server = Self { child: spawn(&places, durability)?, places, _lock: lock };
        server.answers().await?;
        Ok(server)
    }

    /// Where `database` is reached; `postgres` always exists.
    pub fn url(&self, database: &str) -> String {
        self.places.url(database)
    }

    /// Runs statements as the server's owner. They are no argument, which other users of the machine see.
    pub async fn run(&self, statements: &str) -> Result<(), Error> {
        let mut psql = command(&self.places, "psql");
        // terse: an error shows nothing of a statement, which may have a password
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=terse", "-d", &self.url("postgres")]);
        psql.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let failed = |error: io::Error| Error::Run(error.to_string());
        let work = async {
            let mut child = psql.spawn().map_err(failed)?;
            if let Some(mut input) = child.stdin.take() {
                input.write_all(statements.as_bytes()).await.map_err(failed)?;
            }
            child.wait_with_output().await.map_err(failed)
        };
        let late = |_| Error::Run(format!("not done in {} s", RUN_MAX.as_secs()));
        let done = timeout(RUN_MAX, work).await.map_err(late)??;
        if done.status.success() {
            return Ok(());
        }
        Err(Error::Run(String::from_utf8_lossy(&done.stderr).trim().to_owned()))
    }

    /// Returns when the server has ended by itself: nobody asked it to.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends the sessions, checkpoints, and returns when the process is gone.
    pub async fn stop(mut self) -> Result<(), Error> {
        let Some(pid) = self.pid() else {
            return Ok(()); // it ended before
        };
        for signal in [Signal::SIGINT, Signal::SIGQUIT] {
            let _ = kill(pid, signal); // gone already: the wait sees it
            if timeout(STOP_MAX, self.child.wait()).await.is_ok() {
                return Ok(());
            }
        }
        Err(Error::Stuck(pid.as_raw()))
    }

    async fn answers(&mut self) -> Result<(), Error> {
        let socket = self.places.socket(self.places.port());
        let deadline = Instant::now() + READY_MAX;
        while !readiness::answers(&socket, USER).await {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return Err(Error::Ended(self.places.log_tail(LOG_TAIL_BYTES)));
            }
            if Instant::now() > deadline {
                let log = self.places.log_tail(LOG_TAIL_BYTES);
                return Err(Error::Silent { log });
            }
            sleep(POLL).await;
        }
        Ok(())
    }

    /// `None` when the process has been waited for: its number may be another's by now.
    fn pid(&self) -> Option<Pid> {
        let id = self.child.id()?;
        i32::try_from(id).ok().map(Pid::from_raw)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            let _ = kill(pid, Signal::SIGINT); // nobody left to tell
        }
    }
}

/// The lock of a data folder, held until it is dropped.
#[derive(Debug)]
struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing is not enough: a child that is being started elsewhere in this process has the file until it executes.
        let _ = self.0.unlock();
    }
}

fn lock(path: &Path) -> Result<FolderLock, Error> {
    let file = File::create(path).map_err(Error::files("create", path))?;
    match file.try_lock() {
        Ok(()) => Ok(FolderLock(file)),
        Err(fs::TryLockError::WouldBlock) => Err(Error::InUse(path.to_owned())),
        Err(fs::TryLockError::Error(source)) => Err(Error::files("lock", path)(source)),
    }
}

/// Deals with the `postmaster.pid` of a start that was killed. We hold the lock, so a server that
/// still works in this folder has lost its owner: it is stopped. When nobody works there any more,
/// the file can only mislead: the next process of that number would be taken for the server.
async fn end_orphan(places: &Places) -> Result<(), Error> {
    let file = places.data.join("postmaster.pid");
    let Ok(text) = fs::read_to_string(&file) else {
        return Ok(());
    };
    let first = text.lines().next().unwrap_or_default();
    let server = first.trim().parse::<i32>().unwrap_or_default();
    let deadline = Instant::now() + STOP_MAX;
    if at_work(&places.data).contains(&server) {
        let _ = kill(Pid::from_raw(server), Signal::SIGINT); // gone meanwhile: seen below
    }
    while let Some(pid) = at_work(&places.data).first() {
        if Instant::now() > deadline {
            return Err(Error::Stuck(*pid));
        }
        sleep(POLL).await;
    }
    match fs::remove_file(&file) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::files("remove", &file)(source)),
        _ => Ok(()), // a server that stopped in order removed it
    }
}

/// The processes of a server with this data folder: it is their working directory. In a container
/// that may be unreadable; the command line of the first of them, which names the folder, is not.
fn at_work(data: &Path) -> Vec<i32> {
    let here = |process: &Path| {
        let named = fs::read(process.join("cmdline")).unwrap_or_default();
        let data = data.as_os_str().as_encoded_bytes();
        fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.as_os_str().as_encoded_bytes() == data)
            || named.split(|byte| *byte == 0).any(|word| word == data)
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        here(&entry.path()).then_some(pid)
    });
    numbers.collect()
}

/// `initdb` into a folder beside, then a rename: a folder that is there is whole.
async fn create(places: &Places, durability: Durability) -> Result<(), Error> {
    if places.data.is_dir() {
        return Ok(());
    }
    let unfinished = places.data.with_extension("new");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(Error::files("remove", &unfinished))?;
    }
    let mut initdb = command(places, "initdb");
    initdb
        .args(["--username", USER, "--auth-local", "trust", "--auth-host", "scram-sha-256"])
        .args(["--encoding", "UTF8"])
        .args(["--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"])
        .args(["--locale", "C", "--no-instructions", "--pgdata"])
        .arg(&unfinished)
        .kill_on_drop(true);
    if durability == Durability::ForTests {
        initdb.arg("--no-sync");
    }
    match timeout(INITDB_MAX, initdb.output()).await {
        Ok(Ok(done)) if done.status.success() => {}
        Ok(Ok(done)) => return Err(Error::Create(String::from_utf8_lossy(&done.stderr).into())),
        Ok(Err(error)) => return Err(Error::Create(error.to_string())),
        Err(_) => {
            return Err(Error::Create(format!("not done in {} s", INITDB_MAX.as_secs())));
        }
    }
    fs::rename(&unfinished, &places.data).map_err(Error::files("rename", &unfinished))
}

fn spawn(places: &Places, durability: Durability) -> Result<Child, Error> {
    let settings: &[&str] = match durability {
        Durability::Kept => &[],
        Durability::ForTests => &["fsync=off", "synchronous_commit=off", "full_page_writes=off"],
    };
    let log = places.new_log()?;
    let mut postgres = command(places, "postgres");
    postgres.arg("-D").arg(&places.data).arg("-k").arg(&places.run);
    postgres.args(["-p", &places.port().to_string()]);
    let listened = if places.loopback.is_some() { "listen_addresses=127.0.0.1" } else { "listen_addresses=" };
    for setting in [listened, "max_connections=200", "timezone=UTC", "log_timezone=UTC"] {
        postgres.args(["-c", setting]);
    }
    for setting in settings {
        postgres.args(["-c", setting]);
    }
    // Ctrl-C is for us: the server stays until the last query has been written down.
    postgres.process_group(0).stdout(Stdio::null()).stderr(log);
    postgres.spawn().map_err(|error| Error::Ended(error.to_string()))
}

/// A program of the installation, as the user who owns the files, with nothing of our environment.
fn command(places: &Places, program: &str) -> Command {
    let mut command = Command::new(places.program(program));
    command.env_clear().env("LC_ALL", "C").env("TZ", "UTC");
    command.current_dir("/").stdin(Stdio::null());
    if places::root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// One byte of a path inside a URL's host.
fn percent(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    }
}
