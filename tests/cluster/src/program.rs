//! One program of the cluster: started with a log of its own, watched, killed when dropped.

use std::{
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};

use crate::{Error, layout::Layout};

const POLL: Duration = Duration::from_millis(20);
const TAIL_BYTES: usize = 2_000;

#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    log: PathBuf,
    child: Child,
}

impl Program {
    /// Starts `command`, with `log/<name>.log` for all it says.
    pub(crate) fn start(layout: &Layout, name: &'static str, mut command: Command) -> Result<Self, Error> {
        let log = layout.folder("log")?.join(format!("{name}.log"));
        let said = File::create(&log).map_err(Error::at(&log))?;
        let again = said.try_clone().map_err(Error::at(&log))?;
        command.stdin(Stdio::null()).stdout(said).stderr(again).kill_on_drop(true).current_dir(&layout.root);
        let child = command.spawn().map_err(Error::io(name))?;
        Ok(Self { name, log, child })
    }

    /// Returns when it has ended; that is always a failure, for nobody asks it to end.
    pub(crate) async fn ended(&mut self) -> Error {
        match self.child.wait().await {
            Ok(status) => Error::Ended(format!("{} ended ({status}): {}", self.name, tail(&self.log))),
            Err(source) => Error::Io { what: self.name.to_owned(), source },
        }
    }

    /// Asks until `ready` says yes; refuses when the program ends before, or at the deadline.
    pub(crate) async fn answers<F>(&mut self, seconds: u64, mut ready: impl FnMut() -> F) -> Result<(), Error>
    where
        F: Future<Output = bool>,
    {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        loop {
            if ready().await {
                return Ok(());
            }
            if self.child.try_wait().map_err(Error::io(self.name))?.is_some() {
                return Err(self.ended().await);
            }
            if Instant::now() > deadline {
                return Err(Error::Late {
                    what: self.name.to_owned(),
                    seconds,
                    detail: format!(": {}", tail(&self.log)),
                });
            }
            sleep(POLL).await;
        }
    }

    pub(crate) async fn stop(mut self) {
        let _ = self.child.kill().await; // gone already: the same to us
    }
}

/// A command that the kernel kills when its parent dies: there is no namespace around it that would.
pub(crate) fn mortal(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// Runs a short command to its end.
pub(crate) async fn run<S: AsRef<OsStr>>(program: &str, arguments: &[S]) -> Result<String, Error> {
    finish(program, Command::new(program).args(arguments)).await
}

pub(crate) async fn finish(program: &str, command: &mut Command) -> Result<String, Error> {
    let done = command.stdin(Stdio::null()).kill_on_drop(true).output().await.map_err(Error::io(program))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    Err(Error::Program { program: program.to_owned(), status: done.status, output: said })
}

/// Asks until `ready` says yes, where there is no one program to watch.
pub(crate) async fn wait<F>(what: &str, seconds: u64, mut ready: impl FnMut() -> F) -> Result<(), Error>
where
    F: Future<Output = bool>,
{
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while !ready().await {
        if Instant::now() > deadline {
            return Err(Error::Late { what: what.to_owned(), seconds, detail: String::new() });
        }
        sleep(POLL).await;
    }
    Ok(())
}

fn tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let from = text.len().saturating_sub(TAIL_BYTES);
    String::from_utf8_lossy(text.get(from..).unwrap_or_default()).trim().to_owned()
}
