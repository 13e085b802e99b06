//! The part outside: makes the folder and the namespaces, waits, and has all of it removed.

use std::{
    ffi::OsString,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{ExitCode, ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    process::{Child, Command},
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use super::{Setup, inside, say};
use crate::{Error, Level, namespaces, network};

const POLL: Duration = Duration::from_millis(50);

/// A folder, and the process that removes it when this one is gone.
struct Home {
    folder: PathBuf,
    reaper: Child,
}

impl Home {
    fn new() -> Result<Self, Error> {
        let folder = tempfile::Builder::new().prefix("sluice-cluster.").tempdir().map_err(Error::io("folder"))?.keep();
        let program = std::env::current_exe().map_err(Error::io("this program"))?;
        let mut reaper = Command::new(program);
        reaper.arg("reap").arg(&folder).stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let reaper = reaper.spawn().map_err(Error::io("reaper"))?;
        Ok(Self { folder, reaper })
    }

    /// Waits until nothing is left.
    async fn leave(mut self) -> Result<(), Error> {
        drop(self.reaper.stdin.take());
        self.reaper.wait().await.map_err(Error::io("reaper")).map(drop)
    }

    fn keep_logs(&self, place: &Path) -> Result<(), Error> {
        fs::create_dir_all(place).map_err(Error::at(place))?;
        let logs = self.folder.join("log");
        for entry in fs::read_dir(&logs).map_err(Error::at(&logs))? {
            let log = entry.map_err(Error::at(&logs))?.path();
            fs::copy(&log, place.join(log.file_name().unwrap_or_default())).map_err(Error::at(&log))?;
        }
        Ok(())
    }

    /// The same binary, inside of new namespaces.
    fn enter(&self, setup: &Setup, command: &[OsString]) -> Result<Child, Error> {
        let program = std::env::current_exe().map_err(Error::io("this program"))?;
        let mut inside = namespaces::enter(program.as_os_str());
        inside.arg("inside").arg("--folder").arg(&self.folder);
        for image in &setup.images {
            inside.arg("--image").arg(image);
        }
        inside.arg("--kubernetes").arg(&setup.kubernetes);
        if let Some(postgres) = &setup.postgres {
            inside.arg("--postgres").arg(postgres);
        }
        inside.arg("--").args(command).kill_on_drop(true);
        inside.spawn().map_err(Error::io("unshare"))
    }
}

pub(super) async fn run(setup: Setup, logs: Option<PathBuf>, command: Vec<OsString>) -> Result<ExitCode, Error> {
    setup.checked()?;
    let home = Home::new()?;
    let done = attempt(&setup, &home, command).await;
    if let (Some(place), false) = (&logs, matches!(done, Ok(code) if code == ExitCode::SUCCESS)) {
        home.keep_logs(place).unwrap_or_else(|error| say(&error.to_string()));
    }
    home.leave().await?;
    done
}

async fn attempt(setup: &Setup, home: &Home, command: Vec<OsString>) -> Result<ExitCode, Error> {
    if setup.level() == Level::ApiServer {
        let inner = inside::run(setup.clone(), home.folder.clone(), command);
        return tokio::select! {
            done = inner => done,
            stopped = stopped() => stopped.map(|()| ExitCode::FAILURE),
        };
    }
    let mut cluster = home.enter(setup, &command)?;
    tokio::select! {
        ended = cluster.wait() => ended.map_err(Error::io("unshare")).map(code_of),
        stopped = stopped() => {
            let _ = cluster.kill().await; // gone already: the same to us
            stopped.map(|()| ExitCode::FAILURE)
        }
    }
}

pub(super) async fn up(setup: Setup) -> Result<ExitCode, Error> {
    setup.checked()?;
    if setup.level() == Level::Node {
        network::free().await?;
    }
    let home = Home::new()?;
    let done = keep_up(&setup, &home).await;
    home.leave().await?;
    done
}

async fn keep_up(setup: &Setup, home: &Home) -> Result<ExitCode, Error> {
    let show = async {
        wait_for(&home.folder.join(inside::READY)).await;
        fs::read_to_string(home.folder.join(inside::READY)).map_err(Error::io("cluster"))
    };
    if setup.level() == Level::ApiServer {
        let inner = inside::run(setup.clone(), home.folder.clone(), Vec::new());
        let shown = async { print(&show.await?) };
        return tokio::select! {
            done = inner => done,
            stopped = async { shown.await?; stopped().await } => stopped.map(|()| ExitCode::SUCCESS),
        };
    }
    let mut cluster = home.enter(setup, &[])?;
    let unshare = cluster.id().unwrap_or_default();
    let reach = async {
        let exports = show.await?;
        network::join(namespaces::first(unshare).await?).await?;
        print(&exports)
    };
    tokio::select! {
        ended = cluster.wait() => ended.map_err(Error::io("unshare")).map(code_of),
        stopped = async { reach.await?; stopped().await } => stopped.map(|()| ExitCode::SUCCESS),
        stopped = stopped() => stopped.map(|()| ExitCode::SUCCESS),
    }
}

async fn wait_for(file: &Path) {
    while !file.exists() {
        sleep(POLL).await;
    }
}

fn print(exports: &str) -> Result<(), Error> {
    let mut out = std::io::stdout();
    write!(out, "{exports}").and_then(|()| out.flush()).map_err(Error::io("standard output"))?;
    say("up; Ctrl-C ends it");
    Ok(())
}

/// Returns when this process is asked to stop.
async fn stopped() -> Result<(), Error> {
    let heard = |kind| signal(kind).map_err(Error::io("signal"));
    let (mut interrupt, mut terminate, mut hangup) =
        (heard(SignalKind::interrupt())?, heard(SignalKind::terminate())?, heard(SignalKind::hangup())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}

fn code_of(status: ExitStatus) -> ExitCode {
    status.code().map_or(ExitCode::FAILURE, namespaces::exit_code)
}
