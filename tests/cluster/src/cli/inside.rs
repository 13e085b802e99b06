//! The part inside: starts the cluster and runs the command, or keeps the cluster for people.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::ExitCode,
};

use super::{Setup, say};
use crate::{Cluster, Error, Level, Options, namespaces, program::mortal};

/// Written when a cluster that is kept can be used: what to export.
pub(super) const READY: &str = "ready";

pub(super) async fn run(setup: Setup, folder: PathBuf, command: Vec<OsString>) -> Result<ExitCode, Error> {
    let level = setup.level();
    if level == Level::Node {
        namespaces::shield(&folder).await?;
    }
    let pieces = setup.pieces();
    let options = Options { level, pieces, folder: folder.clone(), images: setup.images, progress: say };
    let mut cluster = Cluster::start(options).await?;
    let done = match command.split_first() {
        Some((program, arguments)) => with(&mut cluster, program, arguments).await,
        None => keep(&mut cluster, &folder).await,
    };
    cluster.stop().await;
    done
}

async fn with(cluster: &mut Cluster, program: &OsStr, arguments: &[OsString]) -> Result<ExitCode, Error> {
    let mut command = mortal(program);
    command.args(arguments).envs(cluster.environment()).kill_on_drop(true);
    let mut command = command.spawn().map_err(Error::io(program.display().to_string()))?;
    tokio::select! {
        ended = command.wait() => {
            let status = ended.map_err(Error::io(program.display().to_string()))?;
            let code = status.code().or(status.signal().map(|signal| 128 + signal));
            Ok(code.map_or(ExitCode::FAILURE, namespaces::exit_code))
        }
        error = cluster.watch() => Err(error),
    }
}

async fn keep(cluster: &mut Cluster, folder: &std::path::Path) -> Result<ExitCode, Error> {
    let export = |(name, value): (&str, OsString)| format!("export {name}={}\n", quoted(&value));
    let exports: String = cluster.environment().into_iter().map(export).collect();
    let ready = folder.join(READY);
    let unfinished = folder.join("ready.part");
    fs::write(&unfinished, exports).map_err(Error::at(&unfinished))?;
    fs::rename(&unfinished, &ready).map_err(Error::at(&ready))?;
    Err(cluster.watch().await)
}

/// As one word of a shell.
fn quoted(value: &OsStr) -> String {
    format!("'{}'", value.to_string_lossy().replace('\'', r"'\''"))
}
