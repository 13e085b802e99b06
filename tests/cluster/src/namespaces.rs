//! Namespaces around a cluster: made by `unshare`, held by their first process.
//!
//! The process that asked for them is the parent of `unshare`, which has the kernel kill the first
//! process of the namespaces when it dies itself. That ends all of them, and with the last one go
//! the bridges, rules, mounts and containers.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::{Command as StdCommand, ExitCode},
};

use nix::{
    sys::wait::{WaitStatus, wait},
    unistd::Pid,
};
use tokio::process::Command;

use crate::{
    Error,
    program::{mortal, run},
};

/// The machine's folders that its programs write to: what they write there goes to memory instead.
const SHADOWED: [&str; 2] = ["/var/lib", "/var/log"];
/// The same for sockets and locks, which need nothing of what is there.
const RUN: &str = "/run";

/// `program` as it is run inside: in new namespaces, below a first process that is ours.
pub(crate) fn enter(program: &OsStr) -> Command {
    let mut command = mortal("unshare");
    command
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"])
        .arg(program)
        .arg("init")
        .arg("--")
        .arg(program);
    command
}

/// Makes the mounts private to the cluster.
pub(crate) async fn shield(folder: &Path) -> Result<(), Error> {
    if let Some(hidden) = SHADOWED.iter().chain(&[RUN]).find(|hidden| folder.starts_with(hidden)) {
        return Err(Error::Refused(format!("a cluster cannot live in {hidden}: set TMPDIR to another folder")));
    }
    run("mount", &["--make-rshared", "/"]).await?;
    let shadow = folder.join("shadow");
    tokio::fs::create_dir_all(&shadow).await.map_err(Error::at(&shadow))?;
    let mounted = shadow.display().to_string();
    run("mount", &["-t", "tmpfs", "-o", "size=64m", "shadow", &mounted]).await?;
    for (number, shadowed) in SHADOWED.iter().enumerate() {
        let [upper, work] = ["upper", "work"].map(|kind| shadow.join(format!("{number}-{kind}")));
        for side in [&upper, &work] {
            tokio::fs::create_dir_all(side).await.map_err(Error::at(side))?;
        }
        let sides = format!("lowerdir={shadowed},upperdir={},workdir={}", upper.display(), work.display());
        run("mount", &["-t", "overlay", "-o", &sides, "shadow", shadowed]).await?;
    }
    run("mount", &["-t", "tmpfs", "-o", "size=64m,mode=755", "run", RUN]).await.map(drop)
}

/// The first process: starts the second, and reaps whatever is left to it until that one ends.
/// When this returns, the kernel kills the rest.
pub(crate) fn init(words: &[OsString]) -> Result<ExitCode, Error> {
    let (program, arguments) = words.split_first().ok_or_else(|| Error::Refused("nothing to run".to_owned()))?;
    let second = StdCommand::new(program).args(arguments).spawn().map_err(Error::io(program.display().to_string()))?;
    let second = Pid::from_raw(i32::try_from(second.id()).unwrap_or_default());
    loop {
        match wait().map_err(|error| Error::io("wait")(error.into()))? {
            WaitStatus::Exited(pid, code) if pid == second => return Ok(exit_code(code)),
            WaitStatus::Signaled(pid, signal, _) if pid == second => return Ok(exit_code(128 + signal as i32)),
            _ => {}
        }
    }
}

/// As a shell says it.
pub(crate) fn exit_code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// The first process in the namespaces that the process `unshare` has made.
pub(crate) async fn first(unshare: u32) -> Result<u32, Error> {
    let children = format!("/proc/{unshare}/task/{unshare}/children");
    let children = tokio::fs::read_to_string(&children).await.map_err(Error::io(children))?;
    let first = children.split_whitespace().next().and_then(|pid| pid.parse().ok());
    first.ok_or_else(|| Error::Refused("the cluster has ended".to_owned()))
}
