//! Removes what a cluster leaves on disk, whatever ended it.
//!
//! Processes, devices, rules and mounts vanish with the namespaces; a folder and empty cgroups do
//! not. A second process waits for its standard input to end, which it does when the first one is
//! gone, also by `kill -9`, and cleans up then.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    time::{Instant, sleep},
};

use crate::{Error, layout::Layout};

const CGROUPS: &str = "/sys/fs/cgroup";
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// Waits for the end of standard input, then for the last process to be gone, and removes all.
pub(crate) async fn wait_and_bury(folder: &Path) -> Result<(), Error> {
    let mut rest = Vec::new();
    tokio::io::stdin().read_to_end(&mut rest).await.map_err(Error::io("standard input"))?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match bury(folder) {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => sleep(POLL).await, // something of it still dies
        }
    }
}

fn bury(folder: &Path) -> Result<(), Error> {
    for cgroup in cgroups(&Layout::new(folder).cgroup()) {
        remove_cgroup(&cgroup).map_err(Error::at(&cgroup))?;
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::at(folder)(error)),
        _ => Ok(()),
    }
}

/// One for each hierarchy of version 1, or the one of version 2.
fn cgroups(name: &str) -> Vec<PathBuf> {
    let hierarchies = fs::read_dir(CGROUPS).into_iter().flatten().flatten().map(|entry| entry.path());
    let homes = hierarchies.chain([PathBuf::from(CGROUPS)]);
    homes.map(|home| home.join(name)).filter(|cgroup| cgroup.is_dir()).collect()
}

/// A cgroup's files cannot be removed and need not be: its folders are, from the inside out.
fn remove_cgroup(cgroup: &Path) -> io::Result<()> {
    for entry in fs::read_dir(cgroup)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_cgroup(&entry.path())?;
        }
    }
    fs::remove_dir(cgroup)
}
